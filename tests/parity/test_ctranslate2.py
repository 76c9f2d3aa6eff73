"""Our reader and writer of CTranslate2's models against the package itself.

The real model of the corpus folder is read by our code and says what the package says; our bundles are written, and the
package says what we say. Without the extra `parity` these skip.
"""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from babel import Locale

from interop.conversions import decoded, encoded, nothing_forbidden, translate
from interop.small_bundles import TARGETS, TEXTS, small_bundle
from openwork.bundles.bundle import Bundle
from openwork.decoding.rescore import score_tokens
from openwork.decoding.settings import DecodingSettings
from openwork.inference.transcriber import SoundTranscriber
from openwork.inference.translator import BatchTranslator
from openwork.interop.ctranslate2.reading import CTranslate2Model, read_ctranslate2
from openwork.interop.ctranslate2.vocabulary import read_vocabulary
from openwork.interop.ctranslate2.writing import write_ctranslate2
from openwork.interop.forms import FORMS
from openwork.interop.vocabulary import token_names

ctranslate2 = pytest.importorskip("ctranslate2", reason="the extra parity is not installed: make parity")

specs = pytest.importorskip("ctranslate2.specs")

pytestmark = pytest.mark.slow  # what is held against needs seconds to load

MODEL = "ct2-aren-transliteration"
INPUTS, TOLERANCE = 1000, 1e-3
LONGEST = 60  # no answer comes near it


def translator(folder: Path):
    return ctranslate2.Translator(str(folder), device="cpu", inter_threads=1, intra_threads=1)


# ------------------------------------------------------------------------------------------------ the real model


def names_in_arabic_script() -> list[str]:
    """Territories and languages in Arabic, Persian and Urdu, from CLDR."""
    locales = [Locale(language) for language in ("ar", "fa", "ur")]
    return sorted({name for one in locales for names in (one.territories, one.languages) for name in names.values()})


def inputs(model: CTranslate2Model) -> list[list[str]]:
    """Real names, letters at random, and tokens that the model does not know; alike in length beside each other."""
    draw = random.Random(7)
    letters = [name for name in model.source.names if len(name) == 1]
    names = [list(name) for name in draw.sample(names_in_arabic_script(), 800) if len(name) <= 14]
    noise = [draw.choices(letters, k=draw.randint(1, 12)) for _ in range(INPUTS - len(names) - 1)]
    return sorted([*names, *noise, ["x", "آ", "☃"]], key=len)


@pytest.fixture(scope="module")
def folder(openwork_data) -> Path:
    return openwork_data(MODEL)


@pytest.mark.slow
@pytest.mark.parametrize("beam", [1, 4])
def test_the_real_model_says_the_same_by_both(folder: Path, beam: int):
    ours = read_ctranslate2(folder)
    sources = inputs(ours)
    assert len(sources) == INPUTS
    settings = DecodingSettings(
        beam=beam, length_penalty=1.0, length_rule="power", extra_length=LONGEST, maximum_length=LONGEST
    )
    theirs = translator(folder).translate_batch(
        sources, beam_size=beam, length_penalty=1.0, min_decoding_length=0, max_decoding_length=LONGEST,
        return_scores=True, max_batch_size=128,
    )  # fmt: skip
    found = [
        best for start in range(0, INPUTS, 100) for best, *_ in translate(ours, sources[start : start + 100], settings)
    ]
    assert [decoded(ours.target, one.tokens) for one in found] == [one.hypotheses[0] for one in theirs]
    assert max(abs(one.score - other.scores[0]) for one, other in zip(found, theirs, strict=True)) < TOLERANCE
    assert sum(not one.tokens for one in found) < INPUTS / 10  # empty answers would prove little


@pytest.mark.parametrize("timestamps", [False, True])
def test_the_real_whisper_writes_the_same_by_both(whisper_folder, openwork_data, timestamps: bool):
    """Greedily, token for token, and its log-probability, of which CTranslate2 gives the mean."""
    bundle = FORMS["ct2"].read(whisper_folder(), None)
    clip = str(openwork_data("speech") / "jfk.flac")
    (sound,) = bundle.tokenizers.encoder.encode_batch([clip])
    names = read_vocabulary(whisper_folder())
    start = ["<|startoftranscript|>", *([] if timestamps else ["<|notimestamps|>"])]
    model = ctranslate2.models.Whisper(str(whisper_folder()), compute_type="float32", intra_threads=1)
    (theirs,) = model.generate(
        ctranslate2.StorageView.from_array(np.ascontiguousarray(sound.T[None])),
        [[names.index(name) for name in start]], beam_size=1, return_scores=True,
    )  # fmt: skip
    decoding = bundle.settings.decoding.model_copy(update={"beam": 1})
    ((ours,),) = SoundTranscriber(bundle, decoding, timestamps=timestamps).transcribe([clip])
    external: Any = bundle.tokenizers.target.theirs  # type: ignore[attr-defined]
    pieces = [names[external[piece]] for piece in ours.pieces]
    assert pieces == [*start[1:], *theirs.sequences[0]]
    mean = torch.tensor(ours.log_probability / len(theirs.sequences[0]))
    torch.testing.assert_close(mean, torch.tensor(theirs.scores[0]), rtol=0, atol=1e-4)


@pytest.mark.parametrize("stopping", ["enough", "no-better"])
def test_without_a_length_penalty_theirs_goes_on_until_nothing_is_better(folder: Path, stopping: str):
    """Found by comparing: they stop at a beam of finished hypotheses only where lengths are paid for."""
    ours = read_ctranslate2(folder)
    source = list("سزخأَف\u200eل")
    settings = DecodingSettings(beam=4, length_penalty=0.0, maximum_length=LONGEST, stopping=stopping)  # type: ignore[arg-type]
    ((found, *_),) = translate(ours, [source], settings)
    (theirs,) = translator(folder).translate_batch(
        [source], beam_size=4, length_penalty=0.0, min_decoding_length=0, return_scores=True
    )
    assert (abs(found.score - theirs.scores[0]) < TOLERANCE) == (stopping == "no-better")


# ------------------------------------------------------------------------------------------------ what is written

VARIANTS = {
    "as the paper": {"norm": "post"},
    "pre-norm": {},
    "biases": {"attention_bias": True, "output_bias": True},
    "free tables": {"tying": "none"},
    "tied target": {"tying": "target"},
    "embeddings as they are": {"embedding_scale": False, "embedding_norm": True},
    "learned": {"positions": "learned", "maximum_length": 40},
    "no positions": {"positions": "none"},
    "rotary": {"positions": "rotary"},
    "relative": {"positions": "relative", "relative_distance": 3},
    "root mean square": {"normalisation": "rms"},
    "epsilon": {"norm_epsilon": 0.5},
    "narrow heads": {"head_width": 4, "value_width": 4},
    "shared keys": {"heads": 4, "key_value_heads": 2},
    "multi-query": {"heads": 4, "key_value_heads": 1},
    "uneven": {"encoder_layers": 1, "decoder_layers": 3},
    **{kind: {"feedforward": kind} for kind in ("gelu", "swish", "glu", "reglu", "geglu", "swiglu")},
}


@pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS)
def test_the_package_gives_the_probabilities_of_what_we_write(tmp_path: Path, changes: dict[str, object]):
    bundle = small_bundle(**changes)
    write_ctranslate2(tmp_path / "model", bundle)
    names, tokenizer = token_names(bundle.tokenizers.source), bundle.tokenizers.source
    sources, targets = ([tokenizer.encode(text) for text in texts] for texts in (TEXTS, TARGETS))
    theirs = translator(tmp_path / "model").score_batch(
        *([[names[i] for i in row] for row in rows] for rows in (sources, targets))
    )
    ours = score_tokens(bundle.model, *padded(sources, tokenizer.end_id), targets)
    for row, scores in zip(ours, theirs, strict=True):
        torch.testing.assert_close(row[: len(scores.log_probs)], torch.tensor(scores.log_probs), atol=1e-4, rtol=1e-4)


def padded(rows: list[list[int]], end: int) -> tuple[torch.Tensor, torch.Tensor]:
    lengths = torch.tensor([len(row) + 1 for row in rows])
    longest = int(lengths.max())
    return torch.tensor([[*row, end, *[0] * (longest - len(row) - 1)] for row in rows]), lengths


@pytest.mark.parametrize("beam", [1, 4])
def test_the_package_translates_as_we_do(tmp_path: Path, beam: int):
    bundle = small_bundle()
    write_ctranslate2(tmp_path / "model", bundle)
    names, tokenizer = token_names(bundle.tokenizers.source), bundle.tokenizers.source
    theirs = translator(tmp_path / "model").translate_batch(
        [[names[number] for number in tokenizer.encode(text)] for text in TEXTS], beam_size=beam, length_penalty=1.0,
        min_decoding_length=0, max_decoding_length=12, return_scores=True,
    )  # fmt: skip
    found = said_by(bundle, beam)
    assert [[names[number] for number in one.pieces] for one in found] == [one.hypotheses[0] for one in theirs]
    assert max(abs(one.score - other.scores[0]) for one, other in zip(found, theirs, strict=True)) < TOLERANCE
    assert len({one.text for one in found}) > len(found) / 2  # it does not say the same of everything


def said_by(bundle: Bundle, beam: int):
    settings = DecodingSettings(
        beam=beam, length_penalty=1.0, length_rule="power", unfinished="ranked", extra_length=100, maximum_length=12
    )
    return [best for best, *_ in BatchTranslator.of(bundle, settings).translate(TEXTS)]


# ------------------------------------------------------------------------------------------------ what they write


TOKENS = ["<unk>", "<s>", "</s>", *"abcdefgh"]


def plain() -> Any:
    """Post-norm, shared tables that are not scaled, and their own sinusoids."""
    spec = specs.TransformerSpec.from_config((1, 2), 2, pre_norm=False, activation=specs.Activation.GELU)
    fill(spec, len(TOKENS), width=8, inner=12)
    spec.encoder.scale_embeddings = spec.decoder.scale_embeddings = False
    return spec


def as_from_marian() -> Any:
    """A table of positions, and a decoder whose first input is no token."""
    spec = specs.TransformerSpec.from_config((2, 1), 2, pre_norm=False, activation=specs.Activation.SWISH)
    fill(spec, len(TOKENS), width=8, inner=12)
    for side, size in ((spec.encoder, 30), (spec.decoder, 20)):
        side.position_encodings.encodings = np.random.default_rng(size).normal(size=(size, 8)).astype(np.float32)
    spec.decoder.start_from_zero_embedding = True
    spec.decoder.projection.bias = np.arange(len(TOKENS), dtype=np.float32) / 10
    return spec


def as_from_bart() -> Any:
    """A norm after the embeddings, and a scale of theirs that is no root of the width."""
    spec = specs.TransformerSpec.from_config(
        1, 2, pre_norm=True, activation=specs.Activation.GELU, layernorm_embedding=True
    )
    fill(spec, len(TOKENS), width=8, inner=12)
    spec.encoder.scale_embeddings = spec.decoder.scale_embeddings = np.float32(1.5)
    return spec


def with_gates_and_shared_keys() -> Any:
    spec = specs.TransformerSpec.from_config(
        1, 2, activation=specs.Activation.SWISH, ffn_glu=True, rms_norm=True, multi_query_attention=True
    )
    fill(spec, len(TOKENS), width=8, inner=12)
    return spec


WRITTEN = [
    *((plain, quantization) for quantization in (None, "int8", "int16", "float16", "bfloat16")),
    *((make, None) for make in (as_from_marian, as_from_bart, with_gates_and_shared_keys)),
]


@pytest.mark.parametrize("start", ["<s>", "</s>"])
@pytest.mark.parametrize(("make", "quantization"), WRITTEN)
def test_what_the_package_writes_is_read(tmp_path: Path, make: Any, quantization: str | None, start: str):
    """Whatever the habits of the model and of its makers: the same probability of every token."""
    spec = make()
    spec.register_source_vocabulary(TOKENS)
    spec.register_target_vocabulary(TOKENS)
    spec.config.add_source_eos, spec.config.decoder_start_token = True, start
    spec.validate()
    spec.optimize(quantization)
    spec.save(str(tmp_path))
    ours = read_ctranslate2(tmp_path)
    sources, targets = [list("abc"), list("hgfedcba"), ["z", "a"]], [list("ba"), list("cafe"), list("h")]
    theirs = ctranslate2.Translator(str(tmp_path), device="cpu", compute_type="float32").score_batch(sources, targets)
    given = padded([encoded(ours.source, row) for row in sources], 3)
    with nothing_forbidden():
        found = score_tokens(ours.model, *given, [encoded(ours.target, row) for row in targets])
    for row, scores in zip(found, theirs, strict=True):
        torch.testing.assert_close(row[: len(scores.log_probs)], torch.tensor(scores.log_probs), atol=1e-4, rtol=1e-4)


def fill(spec: Any, vocabulary: int, width: int, inner: int) -> None:
    """Random numbers for all that a converter would set."""
    draw = np.random.default_rng(5)

    def some(*shape: int) -> np.ndarray:
        return draw.normal(scale=0.4, size=shape).astype(np.float32)

    def norm(part: Any) -> None:
        part.gamma = 1 + some(width)
        if hasattr(part, "beta"):
            part.beta = some(width)

    table = some(vocabulary, width)
    for side in (spec.encoder, spec.decoder):
        embeddings = side.embeddings[0] if isinstance(side.embeddings, list) else side.embeddings
        embeddings.weight = table
        for part in (getattr(side, name, None) for name in ("layernorm_embedding", "layer_norm")):
            if part is not None:
                norm(part)
        for layer in side.layer:
            attentions = [layer.self_attention, *([layer.attention] if hasattr(layer, "attention") else [])]
            for attention in attentions:
                shared = width // 2 if hasattr(attention, "num_heads_kv") else width  # one head of two
                rows = (width + 2 * shared, width) if len(attention.linear) == 2 else (width, 2 * shared, width)
                for linear, count in zip(attention.linear, rows, strict=True):
                    linear.weight, linear.bias = some(count, width), some(count)
            gated = hasattr(layer.ffn, "linear_0_noact")
            if gated:
                layer.ffn.linear_0_noact.weight = some(inner, width)
            layer.ffn.linear_0.weight, layer.ffn.linear_1.weight = some(inner, width), some(width, inner)
            if not gated:
                layer.ffn.linear_0.bias, layer.ffn.linear_1.bias = some(inner), some(width)
            for part in (*attentions, layer.ffn):
                norm(part.layer_norm)
    spec.decoder.projection.weight = table
