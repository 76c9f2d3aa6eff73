"""Maps of presets and bundles, and the page of one of them beside the family's."""

from collections.abc import Iterable
from pathlib import Path

from openwork.base.errors import UsageError
from openwork.base.messages import nearest
from openwork.base.phrases import AsIs
from openwork.bundles.folder import find_bundle, whole_bundle
from openwork.bundles.settings import load_tokenizers, read_bundle_settings
from openwork.cost.info import preset_sizes
from openwork.cost.model_map.maps import MapPages, ModelMap, map_of
from openwork.inspection.page import app_page
from openwork.models.families import model_settings
from openwork.models.presets import BASE, PRESETS

FAMILY: dict[str, str] = {
    BASE: "Transformer",
    "bert-base": "BERT",
    "gpt-small": "GPT",
    "vit-base": "ViT",
    "whisper-tiny": "Whisper",
    "captioner-small": "ViT + Transformer",
    "t5-small": "T5",
    "llama-small": "LLaMA",
    "cnn-small": "CNN",
    "lstm-small": "LSTM",
    "convs2s-small": "ConvS2S",
    "bytenet-small": "ByteNet",
    "wavenet-small": "WaveNet",
}
"""The presets that stand for the members of the family, with what these are called."""


def preset_map(name: str) -> ModelMap:
    """The map of a preset, of the sizes that `openwork info` describes it with."""
    settings = model_settings(PRESETS[name])
    return map_of(name, settings, preset_sizes(settings))


def bundle_map(path: Path) -> ModelMap:
    """The map of a bundle, whose weights are not read. BundleError for a damaged one."""
    folder = whole_bundle(find_bundle(path))
    settings, _ = read_bundle_settings(folder, path)
    return map_of(path.resolve().name, settings.model, load_tokenizers(folder, settings).sizes)


def named_map(name: str) -> ModelMap:
    """The map of a bundle's folder or of a preset; UsageError for neither."""
    if Path(name).exists():
        return bundle_map(Path(name))
    if name not in PRESETS:
        raise UsageError(
            f"{name}: neither a folder nor a preset",
            why=f"presets: {', '.join(PRESETS)}",
            hint=nearest(name, PRESETS) or "give a preset, or a bundle's folder",
            code="U056",
        )
    return preset_map(name)


def map_page(one: ModelMap, language: str, beside: Iterable[str] = FAMILY) -> str:
    """One HTML file that opens without a network: the map, and those of members of the family to compare it with."""
    members = {name: FAMILY[name] for name in beside}
    others = [preset_map(name) for name in members if name != one.name]
    return app_page(AsIs(one.name), {"map": MapPages().content([one, *others], members)}, language)
