"""Every kind of model and every task of it as a bundle: written, read again, verified, costed. New ones are found."""

from pathlib import Path
from typing import Any, get_args

import pytest
import torch

from openwork.base.tasks import task_of
from openwork.bundles.bundle import Bundle, load_bundle, write_bundle
from openwork.bundles.settings import BundleSettings, tokenizers_for_task
from openwork.checks.check import Status
from openwork.checks.verify import verify
from openwork.cost.cost import cost_of
from openwork.data.corpora.synthetic import copy
from openwork.inference.golden import make_golden
from openwork.models.build import build_model
from openwork.models.families import FAMILIES, ModelSettings, model_settings, reads
from openwork.models.interfaces import SequenceModel, count_weights
from openwork.models.label_model import LabelModel
from openwork.models.weights import model_weights
from openwork.nn.normalisation import has_batch_norms
from openwork.signals.mel import SoundFrames
from openwork.signals.patches import PicturePatches
from openwork.signals.settings import PictureSettings, SoundSettings
from openwork.text.forms import word_starts
from openwork.text.pair import TokenizerPair, train_pair
from openwork.text.pieces.words import Labels
from openwork.text.settings import TextSettings

pytestmark = pytest.mark.slow

TINY: dict[str, Any] = {"width": 16, "heads": 2, "feedforward_width": 24, "dropout": 0.1}
LABELLING = ("classify", "tag", "answer")
PICTURE = PictureSettings(height=6, width=10, channels=1, patch=2)
SOUND = SoundSettings(mels=8, seconds=1, padded=False)
PAIRS = list(copy("train", 120, seed=2))


def every_model() -> dict[str, ModelSettings]:
    """Each kind in a small size, once for each of its tasks."""
    found: dict[str, ModelSettings] = {}
    for family in FAMILIES:
        kind = str(family.model_fields["kind"].default)
        known = {key: value for key, value in TINY.items() if key in family.model_fields}
        known |= {key: 2 for key in family.model_fields if key.endswith("layers")}
        field = family.model_fields.get("task")
        for task in get_args(field.annotation) if field is not None else ("",):
            values = known | ({"task": task} if task else {})
            found[f"{kind} {task}".strip()] = model_settings({"kind": kind, **values})
    return found


MODELS = every_model()
MODELS |= {
    f"{name}, batch normalised": settings.model_copy(update={"normalisation": "batch"})
    for name, settings in MODELS.items()
    if "normalisation" in type(settings).model_fields
}
KINDS = list(MODELS)
# What the paper's model can have besides and is not tried elsewhere as a bundle.
OPTIONS = {"attention": "additive", "norm": "branch", "feedforward": "convolution"}
MODELS["transformer with options"] = model_settings({**MODELS["transformer"].model_dump(), **OPTIONS})
BLOCKS = {"attention_pattern": "blocks", "attention_block": 2, "global_tokens": 1, "random_blocks": 1}
MODELS["decoder in blocks"] = model_settings({**MODELS["decoder"].model_dump(), **BLOCKS})
MODELS["transformer with a window"] = model_settings(
    {**MODELS["transformer"].model_dump(), "attention_pattern": "window", "attention_window": 2}
)
for family in ("transformer", "decoder", "encoder classify"):
    MODELS[f"{family}, linear"] = model_settings({**MODELS[family].model_dump(), "attention": "linear"})
LOW_RANK = {"attention_pattern": "low-rank", "mixtures": 4, "positions": "learned", "maximum_length": 256}
MODELS["encoder of low rank"] = model_settings({**MODELS["encoder classify"].model_dump(), **LOW_RANK})
SHARED = {"layer_sharing": True, "feedforward_rank": 4}
MODELS |= {
    f"{family}, shared": model_settings({**MODELS[family].model_dump(), **SHARED})
    for family in ("transformer", "decoder", "encoder tag")
}
MODELS["encoder in chunks"] = model_settings({**MODELS["encoder fill"].model_dump(), "attention_chunk": 4})


def tokenizers_for(settings: ModelSettings) -> TokenizerPair:
    """One vocabulary for both sides, or labels on the target's; pictures have patches, and sounds rows."""
    if reads(settings) == "pictures":
        return TokenizerPair(PicturePatches(PICTURE), Labels.of(map(str, range(30))))
    sources, targets = [pair.source for pair in PAIRS], [pair.target for pair in PAIRS]
    if task_of(settings) in LABELLING:
        text = TextSettings(vocabulary_size=300, shared=False, target_kind="labels")
        return tokenizers_for_task(train_pair(sources, [str(number) for number in range(30)], text), task_of(settings))
    pair = train_pair(sources, targets, TextSettings(vocabulary_size=300))
    return TokenizerPair(SoundFrames(SOUND), pair.target) if reads(settings) == "sounds" else pair


@torch.no_grad()
def see_batches(model: SequenceModel, tokenizers: TokenizerPair) -> None:
    """Running statistics as of a training: at first such norms change nothing, and numbers grow from layer to layer."""
    model.train()
    pieces, is_text = tokenizers.sizes[0], tokenizers.encoder.numbers is None
    for _ in range(30):
        source = torch.randint(4, pieces, (16, 9)) if is_text else torch.randn(16, 9, pieces)
        model(source, torch.full((16,), 9), torch.randint(4, tokenizers.sizes[1], (16, 7)))
    model.eval()


def made(settings: ModelSettings) -> Bundle:
    """With weights that say something."""
    tokenizers = tokenizers_for(settings)
    with torch.random.fork_rng():
        torch.manual_seed(4)
        model = build_model(settings, *tokenizers.sizes).eval()
        for weight in model.parameters():
            weight.detach().add_(0.05 * torch.randn_like(weight))
        if has_batch_norms(model):
            see_batches(model, tokenizers)
    if isinstance(model, LabelModel) and task_of(settings) == "tag":
        model.set_word_starts(torch.tensor(word_starts(tokenizers.source)))
    prepared = {"pictures": {"picture": PICTURE}, "sounds": {"sound": SOUND}}.get(reads(settings), {})
    return Bundle(BundleSettings(model=settings, **prepared), tokenizers, model, card="# tiny\n")


# Running statistics are weights like others to a bundle: of one family with each kind of model they are enough. And a
# verification of options is much like that of the kind, whose options tests/models/test_contract.py compares.
LONG = [
    name
    for name in MODELS
    if name not in KINDS
    or (name.endswith(", batch normalised") and not name.startswith(("transformer", "encoder classify", "vit")))
]


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.long] * (name in LONG)) for name in MODELS])
def test_a_bundle_holds_all_of_it_and_is_verified(name: str, tmp_path: Path) -> None:
    bundle = made(MODELS[name])
    if task_of(MODELS[name]) == "generate" and reads(MODELS[name]) == "text":
        bundle = make_golden(bundle, [pair.source for pair in PAIRS[:3]])
    write_bundle(tmp_path / "bundle", bundle)
    before, after = model_weights(bundle.model), model_weights(load_bundle(tmp_path / "bundle").model)
    assert before.keys() == after.keys() and all(torch.equal(before[key], after[key]) for key in before)
    outcomes = verify(tmp_path / "bundle")
    assert [(one.name, one.reason) for one in outcomes if one.status is Status.FAILED] == []
    assert sum(one.status is Status.PASSED for one in outcomes) >= 4


@pytest.mark.parametrize("name", MODELS)
def test_its_cost_is_known(name: str) -> None:
    with torch.device("meta"):
        model = build_model(MODELS[name], 40, 40)
    cost = cost_of(MODELS[name], 40, source_length=9, target_length=7)
    assert cost.weights == count_weights(model) and cost.output == tuple(model.output_weight.shape)
    assert cost.forward_flops > 0 and cost.memory(1000).activations > cost.memory(10, size=2).activations > 0
