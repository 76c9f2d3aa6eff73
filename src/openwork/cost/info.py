"""`openwork info`: sizes, cost, settings and scores of a bundle or preset, and whether golden examples still hold."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from openwork.base.errors import UsageError
from openwork.base.messages import msg, nearest
from openwork.base.phrases import AsIs, Joined
from openwork.bundles.bundle import Bundle, Golden, load_bundle
from openwork.bundles.folder import find_bundle
from openwork.cost.budget import VOCABULARY as PIECES
from openwork.cost.budget import Budget, compare_sizes, size_lines
from openwork.cost.cost import FORMULA, Cost, cost_of, weights_of
from openwork.inference.golden import replay_golden
from openwork.inspection.modules import list_modules, module_lines
from openwork.models.build import build_model
from openwork.models.families import PATCHES, ModelSettings, model_settings, reads
from openwork.models.interfaces import count_weights
from openwork.models.presets import PAPER, PRESETS, TRAININGS, VOCABULARY
from openwork.models.weights import empty_weights
from openwork.signals.settings import SoundSettings
from openwork.text.tokenizer import SYMBOL_NAMES

TEXT = (VOCABULARY, VOCABULARY)
SOUNDS = (SoundSettings().mels, 51_865)  # the vocabulary of the multilingual Whisper
CLASSES = 1000 + len(SYMBOL_NAMES)  # of pictures: as ImageNet has them
BATCH_TOKENS = 4096  # target tokens for which memory is shown; the default of batches.tokens


@dataclass(frozen=True)
class Description:
    lines: list[str]
    values: dict[str, Any]


def describe(name: str | None) -> Description:
    """Describes a bundle's folder, a preset or, without a name, all presets."""
    if name is None:
        return _all_presets()
    if name in PRESETS and not Path(name).exists():
        return _preset(name)
    if not Path(name).exists():
        raise UsageError(
            f"{name}: neither a folder nor a preset",
            why=f"presets: {', '.join(PRESETS)}",
            hint=nearest(name, PRESETS) or "give a preset, or a bundle's folder",
            code="U056",
        )
    return _bundle(Path(name))


def describe_sizes(names: Sequence[str], budget: str, vocabulary: int | None) -> Description:
    """Describes several presets or kinds of model, each as large as the budget allows."""
    asked, pieces = Budget.parse(budget), vocabulary or PIECES
    found = compare_sizes(names, asked, pieces)
    values = {"budget": asdict(asked), "vocabulary": pieces, "models": [sized.to_json() for sized in found]}
    return Description(size_lines(found, asked, pieces), values)


def _all_presets() -> Description:
    counts = {name: _weights(model_settings(values)) for name, values in PRESETS.items()}
    shown = {name: count for name, count in counts.items() if name not in PAPER or name in TRAININGS}
    lines = [
        msg(f"presets, with their weights at a vocabulary of {VOCABULARY:,}:"),
        *(msg(f"  {name:<16} {count / 1e6:8.2f} million") for name, count in shown.items()),
        msg("and the rows of the paper's table 3, which openwork paper table 3 lists"),
    ]
    return Description(lines, {"vocabulary": VOCABULARY, "weights": counts})


def _preset(name: str) -> Description:
    settings = model_settings(PRESETS[name])
    sizes = preset_sizes(settings)
    values, cost = settings.model_dump(exclude_none=True), cost_of(settings, *sizes)
    with empty_weights():  # so that even the largest is instant
        model = build_model(settings, *sizes)
    modules, count = list_modules(model), count_weights(model)
    lines = [
        _title(name, count, settings),
        *(AsIs(f"  {key:<20} {value}") for key, value in values.items()),
        "",
        msg("modules, with the shapes of their weights:"),
        *map(AsIs, module_lines(modules)),
        *("", *_cost_lines(cost), *_paper_lines(name, cost)),
    ]
    found = {"preset": name, "vocabulary": VOCABULARY, "weights": count, "model": values}
    return Description(lines, found | {"modules": [asdict(module) for module in modules], "cost": _cost_values(cost)})


def _title(name: str, count: int, settings: ModelSettings) -> str:
    if reads(settings) == "pictures":
        patch = PATCHES[settings.kind]
        if settings.kind == "captioner":
            return msg(
                f"{name}: {count:,} weights for patches of {patch} x {patch} pixels in three colours and a vocabulary "
                f"of {VOCABULARY:,}"
            )
        return msg(
            f"{name}: {count:,} weights for patches of {patch} x {patch} pixels in three colours and 1,000 classes"
        )
    if reads(settings) == "sounds":
        return msg(f"{name}: {count:,} weights for sounds of {SOUNDS[0]} bands and a vocabulary of {SOUNDS[1]:,}")
    return msg(f"{name}: {count:,} weights at a shared vocabulary of {VOCABULARY:,}")


def preset_sizes(settings: ModelSettings) -> tuple[int, int]:
    """The sizes of source and target for which a preset is described."""
    if reads(settings) == "pictures":
        return 3 * PATCHES[settings.kind] ** 2, VOCABULARY if settings.kind == "captioner" else CLASSES
    return SOUNDS if reads(settings) == "sounds" else TEXT


def _weights(settings: ModelSettings) -> int:
    sizes = preset_sizes(settings)
    if sizes == TEXT:
        return weights_of(settings, VOCABULARY)
    with empty_weights():
        return count_weights(build_model(settings, *sizes))


def _cost_lines(cost: Cost) -> list[str]:
    memory = cost.memory(BATCH_TOKENS)
    weights, _, gradients, moments, activations, passing = (f"{size / 2**20:,.0f}" for size in asdict(memory).values())
    return [
        msg(
            f"operations for a target token, in sentences of {cost.lengths.source} and {cost.lengths.target} tokens: "
            f"{cost.forward_flops / 1e6:,.1f} million forward, {cost.backward_flops / 1e6:,.1f} million backward"
        ),
        Joined("  (", FORMULA, ")"),
        msg(
            f"memory of a training with Adam, batches of {BATCH_TOKENS:,} target tokens: {memory.total / 2**20:,.0f} "
            "MiB"
        ),
        msg(
            f"  (weights {weights}, gradients {gradients}, moments {moments}, activations {activations}, "
            f"the loss or the last gradients {passing}; in float32)"
        ),
    ]


def _paper_lines(name: str, cost: Cost) -> list[str]:
    """Operations of the paper's own training, as the paper counts and by the formulas here."""
    if name not in TRAININGS:
        return []
    stated = TRAININGS[name]
    flops = cost.training_flops * stated.tokens * stated.steps
    return [
        msg(
            f"the paper's training, {stated.steps:,} updates of {stated.tokens:,} tokens a side: {flops:.1e} "
            "operations by these formulas"
        ),
        msg(
            f"  (the paper states {stated.flops:.1e}: {stated.hours:g} hours x {stated.devices} devices x "
            f"{stated.flops_per_second:.1e} a second, all of them counted as used)"
        ),
    ]


def _cost_values(cost: Cost) -> dict[str, Any]:
    return {
        "source_length": cost.lengths.source,
        "target_length": cost.lengths.target,
        "forward_flops_per_target_token": cost.forward_flops,
        "backward_flops_per_target_token": cost.backward_flops,
        "formula": FORMULA,
        "memory_bytes": asdict(cost.memory(BATCH_TOKENS)) | {"target_tokens": BATCH_TOKENS},
        "parts": [asdict(part) for part in cost.parts],
    }


def _bundle(path: Path) -> Description:
    bundle = load_bundle(path)
    changed = replay_golden(bundle)
    values = {
        "path": str(find_bundle(path)),
        "weights": count_weights(bundle.model),
        "golden": {"examples": len(bundle.golden), "reproduced": len(bundle.golden) - len(changed)},
        "settings": bundle.settings.model_dump(mode="json", exclude_none=True),
    }
    return Description(_bundle_lines(find_bundle(path), bundle, changed), values)


def _bundle_lines(path: Path, bundle: Bundle, changed: list[tuple[Golden, Golden]]) -> list[str]:
    """Weights, golden examples, and the card as it is written in the bundle."""
    count, kept = len(bundle.golden), len(bundle.golden) - len(changed)
    lines = [
        msg(f"{path}: {count_weights(bundle.model):,} weights"),
        msg(f"golden examples: {kept} of {count} are unchanged since the bundle was written"),
    ]
    for then, now in changed:
        source, before, after = (AsIs(repr(text)) for text in (then.source, then.translation, now.translation))
        lines.append(Joined("  changed: ", source, " gave ", before, ", now ", after))
    return [*lines, "", *map(AsIs, bundle.card.strip().splitlines())]
