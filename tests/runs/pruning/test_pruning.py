"""Pruned models: equal to the whole one with what they lost set to zero, and what is lost matters least."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

from journeys.command import Finished, told
from openwork.bundles.bundle import Bundle, load_bundle, write_bundle
from openwork.models.build import build_model
from openwork.models.interfaces import SequenceModel
from openwork.models.settings import TransformerSettings
from openwork.models.weights import model_weights, restore_weights
from openwork.runs.pruning.importance import unit_importance
from openwork.runs.pruning.layers import renumbered, with_layers
from openwork.runs.pruning.magnitude import with_largest
from openwork.runs.pruning.prune import PrunedSizes, prune_bundle
from openwork.runs.pruning.units import with_feedforward, with_heads
from openwork.runs.pruning.vocabulary import with_vocabulary
from openwork.runs.synthetic.corpus import corpus_of
from openwork.training.batches.batch import TensorBatch
from openwork.training.loss import batch_loss

Call = Callable[..., Finished]
SHAPE = {"width": 16, "heads": 4, "feedforward_width": 12, "encoder_layers": 2, "decoder_layers": 3, "dropout": 0.0}
KINDS = [
    {"norm": "pre"}, {"norm": "post", "attention_bias": True}, {"feedforward": "swiglu"},
    {"head_width": 6, "value_width": 2}, {"positions": "rotary", "normalisation": "rms"},
]  # fmt: skip


def made(**settings: object) -> tuple[TransformerSettings, SequenceModel]:
    shape = TransformerSettings.model_validate(SHAPE | settings)
    torch.manual_seed(4)
    model = build_model(shape, 20, 20).eval()
    for weight in model.parameters():
        weight.data.add_(0.05 * torch.randn_like(weight))
    return shape, model


def batch() -> TensorBatch:
    generator = torch.Generator().manual_seed(1)
    source = torch.randint(4, 20, (3, 5), generator=generator)
    target = torch.randint(4, 20, (3, 4), generator=generator)
    real = torch.arange(12)
    return TensorBatch(source, torch.tensor([5, 5, 5]), target, real, target.flatten(), 3, 15)


def of(settings: TransformerSettings, weights: dict[str, Tensor]) -> SequenceModel:
    model = build_model(settings, 20, 20).eval()
    restore_weights(model, weights, "test")
    return model


def loss(model: SequenceModel) -> float:
    return float(batch_loss(model, batch(), 0.0, "float32").likelihood) / 12


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_without_rows_and_heads_it_is_the_whole_model_with_zeros(kind: dict[str, object]) -> None:
    settings, model = made(**kind)
    importance = unit_importance(model, [batch()])
    assert len(importance) == 2 * 2 + 3 * 3  # of each layer: self-attention, cross-attention, network
    small, weights = with_heads(settings, model_weights(model), importance, 3)
    small, weights = with_feedforward(small, weights, importance, 7)
    zeroed = {name: weight.clone() for name, weight in model_weights(model).items()}
    for name, units in importance.items():
        if name.endswith("contract"):
            gone = units.topk(5, largest=False).indices
        else:
            each = len(units) // 4
            head = int(units.view(4, each).sum(-1).argmin())
            gone = torch.arange(head * each, (head + 1) * each)
        zeroed[f"{name}.weight"][:, gone] = 0
    torch.testing.assert_close(batch().hidden(of(small, weights)), batch().hidden(of(settings, zeroed)))
    assert (small.heads, small.feedforward_width) == (3, 7)


def test_importance_is_the_derivative_by_the_unit() -> None:
    """Scaling what a unit gives by 1 - e changes the loss by e times its importance, to first order."""
    settings, model = made(norm="pre")
    importance = unit_importance(model, [batch()])
    whole, step = loss(model), 1e-3
    for name in ("encoder.layers.0.feedforward.contract", "decoder.layers.1.cross_attention.output"):
        for unit in (0, 5):
            weights = {key: weight.clone() for key, weight in model_weights(model).items()}
            weights[f"{name}.weight"][:, unit] *= 1 - step
            change = (loss(of(settings, weights)) - whole) / step
            assert abs(change) == pytest.approx(float(importance[name][unit]), rel=0.05, abs=2e-4)


def test_the_layer_goes_without_which_the_loss_is_lowest() -> None:
    settings, model = made(norm="pre")
    weights = {name: weight.clone() for name, weight in model_weights(model).items()}
    for name in weights:  # the second layer of the decoder gives nothing
        if re.fullmatch(r"decoder\.layers\.1\..*(output\.weight|contract\..*)", name):
            weights[name].zero_()
    whole = loss(of(settings, weights))
    small, fewer, kept = with_layers(settings, weights, "decoder", 2, lambda s, w: loss(of(s, dict(w))))
    assert small.decoder_layers == 2
    assert loss(of(small, fewer)) <= whole + 1e-6
    if kept == [1, 3]:
        assert loss(of(small, fewer)) == pytest.approx(whole, abs=1e-6)
    assert loss(of(small, renumbered(weights, "decoder", [0, 2]))) == pytest.approx(whole, abs=1e-6)


@pytest.mark.parametrize("shared", [True, False])
def test_fewer_pieces_translate_the_corpus_as_before(
    tiny_bundle: Bundle, pair_files: tuple[Path, Path], shared: bool
) -> None:
    from openwork.text.pair import TokenizerPair, train_pair
    from openwork.text.settings import TextSettings

    corpus = corpus_of(None, *pair_files)
    lines = [f"{word} {word}s" for word in ("hello", "world", "zebra", "crossing")] * 3
    texts = [*(pair.source for pair in corpus.pairs()), *lines]
    tokenizers: TokenizerPair = train_pair(texts, texts, TextSettings(vocabulary_size=400, shared=shared))
    settings = TransformerSettings.model_validate(SHAPE | {"tying": "three-way" if shared else "target"})
    torch.manual_seed(4)
    model = build_model(settings, *tokenizers.sizes).eval()
    now, weights = with_vocabulary(settings, model_weights(model), tokenizers, corpus.pairs)
    assert now.shared == shared and now.sizes[0] < tokenizers.sizes[0] and now.sizes[1] < tokenizers.sizes[1]
    small = build_model(settings, *now.sizes).eval()
    restore_weights(small, weights, "test")
    for pair in list(corpus.pairs())[:5]:
        before, after = ([one.source.encode(pair.source), one.target.encode(pair.target)] for one in (tokenizers, now))
        for side, old, new in zip(("source", "target"), before, after, strict=True):
            names = [[getattr(one, side).piece(i) for i in ids] for one, ids in ((tokenizers, old), (now, new))]
            assert names[0] == names[1]
        hidden = [
            one(torch.tensor([[*ids[0], 3]]), torch.tensor([len(ids[0]) + 1]), torch.tensor([[2, *ids[1]]]))
            for one, ids in ((model, before), (small, after))
        ]
        torch.testing.assert_close(*hidden)


def test_a_pruned_bundle_is_one_that_translates(
    bundle_folder: Path, pair_files: tuple[Path, Path], tmp_path: Path
) -> None:
    said: list[str] = []
    wanted = PrunedSizes(heads=1, feedforward=8, vocabulary=True)
    prune_bundle(bundle_folder, wanted, corpus_of(None, *pair_files), tmp_path / "small", said.append)
    small = load_bundle(tmp_path / "small")
    assert (small.settings.model.heads, small.settings.model.head_width) == (1, 8)
    assert [example.source for example in small.golden] == ["a b c", "d e"]
    assert said[-1].startswith("loss of ") and "## Pruned" in small.card
    assert sum("->" in line for line in said) == 5


def test_the_command_says_what_cannot_be(
    call: Call, bundle_folder: Path, pair_files: tuple[Path, Path], tiny_bundle: Bundle, tmp_path: Path
) -> None:
    pairs = ["--source", pair_files[0], "--target", pair_files[1], "--out", tmp_path / "small"]
    told(call("prune", bundle_folder, *pairs), 2, "nothing was named that should go")
    told(call("prune", bundle_folder, "--heads", "1", "--out", tmp_path / "small"), 2, "parts are judged by pairs")
    told(call("prune", bundle_folder, *pairs, "--heads", "3"), 2, "--heads 3: the model has 2")
    told(call("prune", bundle_folder, *pairs, "--decoder-layers", "2"), 2, "--decoder-layers 2: the model has 1")
    assert not (tmp_path / "small").exists()
    done = call("prune", bundle_folder, *pairs, "--feedforward", "8")
    assert done.code == 0, done.err
    assert call("translate", tmp_path / "small", stdin=b"a b\n").code == 0
    told(call("prune", bundle_folder, *pairs, "--feedforward", "8"), 2, "there already", "--overwrite")


def test_what_has_no_such_parts_is_refused() -> None:
    from openwork.base.errors import UsageError

    for change, prune in (
        ({"positions": "alibi"}, with_heads), ({"key_value_heads": 2}, with_heads),
        ({"attention": "additive"}, with_heads),
        ({"feedforward_rank": 2}, with_feedforward),
    ):  # fmt: skip
        settings, model = made(**change)
        with pytest.raises(UsageError, match="does not go with"):
            prune(settings, model_weights(model), {}, 1)


def test_pieces_of_other_toolkits_stay(tiny_bundle: Bundle) -> None:
    from openwork.base.errors import UsageError
    from openwork.text.external.adapted import AdaptedTokenizer
    from openwork.text.external.library import HuggingFaceTokenizer
    from openwork.text.pair import TokenizerPair
    from text.test_labels import bert_library

    theirs = AdaptedTokenizer(HuggingFaceTokenizer(bert_library(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a"], True)))
    settings, weights = tiny_bundle.settings.model, model_weights(tiny_bundle.model)
    with pytest.raises(UsageError, match="--vocabulary is for tokenizers that openwork has learnt"):
        with_vocabulary(settings, weights, TokenizerPair(theirs, theirs), list)


def test_only_transformers_are_pruned(tmp_path: Path, pair_files: tuple[Path, Path]) -> None:
    from calling import language_model
    from openwork.base.errors import UsageError

    write_bundle(tmp_path / "other", language_model())
    with pytest.raises(UsageError, match="only Transformers with an encoder and a decoder"):
        prune_bundle(tmp_path / "other", PrunedSizes(heads=1), corpus_of(None, *pair_files), tmp_path / "out", print)


def test_the_largest_numbers_of_each_matrix_stay_by_hand() -> None:
    weights = {"w": torch.tensor([[0.1, -3.0], [2.0, 0.5]]), "b": torch.tensor([0.1, 0.2])}
    found = with_largest(weights, 0.5)
    assert found["w"].tolist() == [[0, -3], [2, 0]] and torch.equal(found["b"], weights["b"])
    equal = with_largest({"w": torch.ones(4, 6)}, 0.25)["w"]
    assert int(equal.count_nonzero()) == 6  # of equal numbers just as many as are wanted


def test_a_bundle_without_small_weights(call: Call, bundle_folder: Path, tmp_path: Path) -> None:
    done = call("prune", bundle_folder, "--corpus", "copy", "--weights", "0.5", "--out", tmp_path / "small")
    assert done.code == 0, done.err
    assert "fine_tuning.keep_zeros=true" in done.err
    before, now = (model_weights(load_bundle(place).model) for place in (bundle_folder, tmp_path / "small"))
    for name, weight in before.items():
        kept = now[name] != 0
        assert torch.equal(weight[kept], now[name][kept])
        if weight.dim() >= 2:
            assert int(kept.sum()) == round(0.5 * weight.numel())
    sizes = [(place / "weights.safetensors").stat().st_size for place in (bundle_folder, tmp_path / "small")]
    assert sizes[1] < 0.8 * sizes[0]
