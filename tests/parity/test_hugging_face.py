"""MarianMT, Pegasus, BART and MBART, read as ours and written from ours: the same logits and the same beams."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

pytest.importorskip("transformers", reason="the extra parity is not installed: make parity")

from interop.conversions import to_external, to_own, write_hugging_face
from openwork.decoding.search import decode
from openwork.decoding.settings import DecodingSettings
from openwork.interop.hugging_face.bart import read_hugging_face
from openwork.interop.hugging_face.folder import ImportedModel, decoding_settings, read_generation
from openwork.interop.vocabulary import Vocabulary
from openwork.models.build import build_model
from openwork.models.settings import TransformerSettings
from parity.hugging_face import CLASSES, PIECES, make, saved, sources

pytestmark = pytest.mark.slow  # what is held against needs seconds to load

TOLERANCE = 1e-5
KINDS = {
    "marian": ("marian", {}),
    "marian, scaled, swish": ("marian", {"scale_embedding": True, "activation_function": "swish"}),
    "marian, odd width": ("marian", {"d_model": 15, "encoder_attention_heads": 3, "decoder_attention_heads": 3}),
    "marian, two vocabularies": (
        "marian", {"decoder_vocab_size": 29, "share_encoder_decoder_embeddings": False, "decoder_start_token_id": 28}
    ),
    "marian, nothing tied": (
        "marian",
        {"decoder_vocab_size": 29, "share_encoder_decoder_embeddings": False, "tie_word_embeddings": False},
    ),
    "pegasus": ("pegasus", {"activation_function": "relu"}),
    "bart": ("bart", {"decoder_start_token_id": 5}),
    "mbart": ("mbart", {"scale_embedding": True}),
}  # fmt: skip


@pytest.fixture(params=KINDS)
def theirs(request: pytest.FixtureRequest) -> Any:
    kind, changes = KINDS[request.param]
    return make(kind, **changes)


@pytest.fixture
def ours(theirs: Any, tmp_path: Path) -> ImportedModel:
    return read_hugging_face(saved(theirs, tmp_path / "theirs"))


def converted(vocabulary: Vocabulary, ids: torch.Tensor) -> torch.Tensor:
    return torch.tensor([to_own(vocabulary, row) for row in ids.tolist()])


@torch.no_grad()
def their_logits(model: Any, source: torch.Tensor, lengths: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    real = (torch.arange(source.shape[1]) < lengths[:, None]).long()
    return model(input_ids=source, attention_mask=real, decoder_input_ids=target).logits


@torch.no_grad()
def our_logits(read: ImportedModel, source: torch.Tensor, lengths: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """In their order of the pieces."""
    tokens = converted(read.target, target)
    tokens[:, 0] = 2  # theirs is a symbol that serves twice
    logits = read.model.step(tokens, read.model.start(converted(read.source, source), lengths))[0]
    order = [read.target.own[number] for number in range(max(read.target.own) + 1)]
    return logits[..., order]


def examples(config: Any, seed: int = 3) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    source, lengths = sources(config.vocab_size, config.eos_token_id, config.pad_token_id, generator)
    size = getattr(config, "decoder_vocab_size", None) or config.vocab_size
    target = torch.randint(0, size, (4, 6), generator=generator)
    target[:, 0] = config.decoder_start_token_id
    return source, lengths, target


def test_what_is_read_gives_their_logits(theirs: Any, ours: ImportedModel) -> None:
    source, lengths, target = examples(theirs.config)
    expected = their_logits(theirs, source, lengths, target)
    assert expected.std() > 0.5
    torch.testing.assert_close(our_logits(ours, source, lengths, target), expected, rtol=0, atol=TOLERANCE)


def test_what_is_read_and_written_again_is_loaded_by_them(theirs: Any, ours: ImportedModel, tmp_path: Path) -> None:
    write_hugging_face(tmp_path / "again", ours.settings, ours.model, ours.decoding)
    again = type(theirs).from_pretrained(tmp_path / "again").eval()
    source, lengths, target = examples(theirs.config)
    own_source, own_target = converted(ours.source, source), converted(ours.target, target)
    own_target[:, 0] = 2
    expected = their_logits(theirs, source, lengths, target)
    order = [ours.target.own[number] for number in range(max(ours.target.own) + 1)]
    found = their_logits(again, own_source, lengths, own_target)[..., order]
    torch.testing.assert_close(found, expected, rtol=0, atol=TOLERANCE)


SMALL: dict[str, Any] = {
    "width": 12, "heads": 3, "feedforward_width": 20, "encoder_layers": 2, "decoder_layers": 1, "norm_epsilon": 1e-5
}  # fmt: skip
OWN: dict[str, dict[str, Any]] = {
    "the paper's": {},
    "pre-norm": {"norm": "pre", "attention_bias": True, "feedforward": "gelu"},
    "learned": {"positions": "learned", "maximum_length": 30, "embedding_norm": True, "output_bias": True},
    "learned, pre-norm": {"positions": "learned", "maximum_length": 30, "embedding_norm": True, "norm": "pre"},
    "two tables": {"tying": "target", "embedding_scale": False},
    "three tables": {"tying": "none", "feedforward": "swish"},
}


@pytest.mark.parametrize("name", OWN)
def test_our_models_give_their_logits_there(name: str, tmp_path: Path) -> None:
    settings = TransformerSettings.model_validate(SMALL | OWN[name])
    shared = settings.tying == "three-way"
    torch.manual_seed(5)
    model = build_model(settings, PIECES, PIECES if shared else 31).eval()
    for tensor in model.parameters():
        tensor.data += torch.randn(tensor.shape) * 0.2
    write_hugging_face(tmp_path / "there", settings, model)
    kind = {("post", False): "marian", ("pre", False): "pegasus", ("post", True): "bart", ("pre", True): "mbart"}
    theirs = CLASSES[kind[settings.norm, settings.embedding_norm]][1].from_pretrained(tmp_path / "there").eval()
    source, lengths = sources(PIECES, 3, 0, torch.Generator().manual_seed(2))
    target = torch.randint(0, PIECES, (4, 6), generator=torch.Generator().manual_seed(4))
    with torch.no_grad():
        expected = model.step(target, model.start(source, lengths))[0]
    torch.testing.assert_close(their_logits(theirs, source, lengths, target), expected, rtol=0, atol=TOLERANCE)
    back = read_hugging_face(tmp_path / "there")
    assert back.source == Vocabulary(tuple(range(PIECES)))
    with torch.no_grad():
        again = back.model.step(target, back.model.start(source, lengths))[0]
    torch.testing.assert_close(again, expected, rtol=0, atol=TOLERANCE)


# Their search, and the settings of ours that find the same.
SEARCHES: dict[str, dict[str, Any]] = {
    "greedy": {"num_beams": 1},
    "beam": {"num_beams": 4, "length_penalty": 1.0},
    "beam, enough": {"num_beams": 4, "length_penalty": 1.0, "early_stopping": True},
    "beam, never stopping early": {"num_beams": 3, "length_penalty": 0.7, "early_stopping": "never"},
    "probability alone": {"num_beams": 5, "length_penalty": 0.0},
    "for long ones": {"num_beams": 4, "length_penalty": 2.0},
    "all of the beam": {"num_beams": 4, "length_penalty": 0.6, "num_return_sequences": 4},
    "all of the beam, for long ones": {"num_beams": 3, "length_penalty": 1.5, "num_return_sequences": 3},
    "all of the beam, enough": {
        "num_beams": 4, "length_penalty": 1.4, "num_return_sequences": 4, "early_stopping": True
    },
}  # fmt: skip
LIMIT = 12  # counts the start symbol; some hypotheses end before it, others are cut there


def ending(model: Any) -> Any:
    """The end comes now and then: its logit is raised, and those of the others are brought nearer to each other."""
    model.final_logits_bias *= 0.2
    model.final_logits_bias[0, model.config.eos_token_id] = 0.5
    for tensor in model.model.decoder.layers.parameters():
        if tensor.ndim == 2:
            tensor.data *= 3  # so that a token tells little of the next one
    return model


def generated(model: Any, source: torch.Tensor, lengths: torch.Tensor, options: dict[str, Any]) -> list[list[Any]]:
    """Their hypotheses of each sentence: tokens without symbols and, from a beam, the score."""
    config, count = model.config, options.get("num_return_sequences", 1)
    out = model.generate(
        input_ids=source, attention_mask=(torch.arange(source.shape[1]) < lengths[:, None]).long(),
        max_length=LIMIT, suppress_tokens=suppressed(config), renormalize_logits=True, do_sample=False,
        return_dict_in_generate=True, output_scores=True, **options,
    )  # fmt: skip
    scores = [None] * len(out.sequences) if options["num_beams"] == 1 else out.sequences_scores.tolist()
    found = []
    for row, score in zip(out.sequences.tolist(), scores, strict=True):
        ended = config.eos_token_id in row[1:]
        tokens = row[1 : row.index(config.eos_token_id, 1)] if ended else row[1:]
        found.append((tokens, ended, score))
    return [found[first : first + count] for first in range(0, len(found), count)]


def suppressed(config: Any) -> list[int]:
    """Symbols that we never produce: padding, unknown, and the start unless it is the end as well."""
    return sorted({config.pad_token_id, config.unk_token_id, config.decoder_start_token_id} - {config.eos_token_id})


@pytest.fixture(scope="module", params=["marian", "bart"])
def pairs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Any, ImportedModel]]:
    """A few models, theirs and as ours."""
    made = []
    for seed in range(4):
        start = 5 if request.param == "bart" else 22
        theirs = ending(make(request.param, seed=seed, decoder_start_token_id=start, tie_word_embeddings=False))
        made.append((theirs, read_hugging_face(saved(theirs, tmp_path_factory.mktemp("theirs")))))
    return made


Found = tuple[list[int], bool, float]


def settled(found: list[Found]) -> list[Found]:
    """What rounding does not decide: equal scores in the order of their tokens, without those equal to the last one."""
    groups: list[list[Found]] = []
    for one in found:
        if groups and abs(groups[-1][-1][2] - one[2]) < 1e-5:
            groups[-1].append(one)
        else:
            groups.append([one])
    return [one for group in (groups[:-1] if len(groups) > 1 else groups) for one in sorted(group)]


@pytest.mark.parametrize("name", SEARCHES)
def test_beams_are_equal_under_their_length_rule(
    name: str, pairs: list[tuple[Any, ImportedModel]], tmp_path: Path
) -> None:
    options, lengths_seen, endings = SEARCHES[name], set(), set()
    best = options.get("num_return_sequences", 1)
    (tmp_path / "generation_config.json").write_text(json.dumps({"max_length": LIMIT} | options), encoding="utf-8")
    settings = decoding_settings(read_generation(tmp_path)).model_copy(update={"best": best})
    for seed, (theirs, ours) in enumerate(pairs):
        source, lengths, _ = examples(theirs.config, seed)
        expected = generated(theirs, source, lengths, options)
        found = decode(ours.model, converted(ours.source, source), lengths, settings)
        for hypotheses, theirs_found in zip(found, expected, strict=True):
            mine = [(to_external(ours.target, one.tokens), one.finished, one.score) for one in hypotheses]
            if options["num_beams"] > 1:
                scores = [score for *_, score in theirs_found]
                assert [score for *_, score in mine] == pytest.approx(scores, rel=1e-5, abs=1e-5)
                mine, theirs_found = settled(mine), settled(theirs_found)
            assert [one[:2] for one in mine] == [one[:2] for one in theirs_found]
            endings |= {one.finished for one in hypotheses}
            lengths_seen |= {len(one.tokens) for one in hypotheses}
    if best > 3:
        assert endings == {True, False} and len(lengths_seen) > 3


@pytest.mark.parametrize("change", [{"length_rule": "paper"}, {"stopping": "enough"}, {"unfinished": "last"}], ids=str)
def test_each_part_of_their_rule_is_needed(change: dict[str, Any], pairs: list[tuple[Any, ImportedModel]]) -> None:
    chosen = {"beam": 4, "best": 4, "length_penalty": 1.0, "maximum_length": LIMIT - 1, "unfinished": "ranked"}
    whole = DecodingSettings.model_validate(chosen | {"length_rule": "power", "stopping": "no-better"})
    found = []
    for settings in (whole, whole.model_copy(update=change)):
        found.append([])
        for seed, (theirs, ours) in enumerate(pairs):
            source, lengths, _ = examples(theirs.config, seed)
            found[-1] += decode(ours.model, converted(ours.source, source), lengths, settings)
    assert [[one.tokens for one in row] for row in found[0]] != [[one.tokens for one in row] for row in found[1]]
