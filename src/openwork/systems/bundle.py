"""The bundle: a trained system as one folder that needs nothing else and runs nothing when it is loaded.

`bundle_folder.py` says which files it has, `bundle_versions.py` how older ones are read.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from pydantic import Field

from openwork import __version__
from openwork.base.config import Settings, build, read_run_file, to_toml
from openwork.base.errors import BundleError, ConfigError
from openwork.base.files import atomic_folder, sha256_file
from openwork.decoding.settings import DecodingSettings
from openwork.models.build import build_model
from openwork.models.interfaces import SequenceModel
from openwork.systems.bundle_folder import (
    CARD,
    CONFIG,
    FORMAT,
    GOLDEN,
    MANIFEST,
    VERSION,
    WEIGHTS,
    find_bundle,
)
from openwork.systems.bundle_versions import whole_bundle
from openwork.systems.device import choose_device
from openwork.systems.languages import languages_of
from openwork.systems.run_file import ModelSettings, RunSettings
from openwork.systems.translator import Translator
from openwork.text.pair import TokenizerPair
from openwork.training.weights import model_weights, read_tensors, restore_weights, tensors_to_bytes


class BundleSettings(Settings):
    """What must be known to use the weights."""

    model: ModelSettings
    decoding: DecodingSettings = DecodingSettings()
    source_language: str | None = Field(default=None, description="language of the source, such as en")
    target_language: str | None = Field(default=None, description="language of the target, such as de")


def settings_of_run(run: RunSettings) -> BundleSettings:
    """What must be known of the run."""
    source, target = languages_of(run.data)
    return BundleSettings(model=run.model, decoding=run.decoding, source_language=source, target_language=target)


@dataclass(frozen=True)
class Golden:
    """A source, and the translation and log-probability (nats) it gave when the bundle was written."""

    source: str
    translation: str
    log_probability: float


@dataclass(frozen=True)
class Bundle:
    """A trained system in memory."""

    settings: BundleSettings
    tokenizers: TokenizerPair
    model: SequenceModel
    golden: tuple[Golden, ...] = ()
    card: str = ""

    def translator(self, decoding: DecodingSettings | None = None) -> Translator:
        """Ready to translate, as the bundle's own settings say or otherwise."""
        return Translator(self.model, self.tokenizers, decoding or self.settings.decoding)


def make_golden(bundle: Bundle, sources: Sequence[str]) -> Bundle:
    """The same bundle with these sources and what it makes of them."""
    translations = bundle.translator().translate(sources)
    golden = tuple(
        Golden(source, best.text, best.log_probability)
        for source, (best, *_) in zip(sources, translations, strict=True)
    )
    return replace(bundle, golden=golden)


GOLDEN_TOLERANCE = 1e-2  # nats: other machines add in another order, over a whole translation


def replay_golden(bundle: Bundle, tolerance: float = GOLDEN_TOLERANCE) -> list[tuple[Golden, Golden]]:
    """The golden examples that come out differently now, with what they give; an empty list is what one wants."""
    now = make_golden(bundle, [golden.source for golden in bundle.golden]).golden
    return [
        (then, here)
        for then, here in zip(bundle.golden, now, strict=True)
        if then.translation != here.translation or abs(then.log_probability - here.log_probability) > tolerance
    ]


def write_bundle(folder: Path, bundle: Bundle) -> None:
    """Writes the folder; it appears complete or not at all."""
    with atomic_folder(folder) as partial:
        bundle.tokenizers.save(partial)
        (partial / CONFIG).write_text(to_toml(bundle.settings), encoding="utf-8")
        (partial / WEIGHTS).write_bytes(tensors_to_bytes(model_weights(bundle.model)))
        golden = [vars(example) for example in bundle.golden]
        (partial / GOLDEN).write_text(json.dumps(golden, ensure_ascii=False, indent=1), encoding="utf-8")
        (partial / CARD).write_text(bundle.card, encoding="utf-8")
        sums = {path.name: sha256_file(path) for path in sorted(partial.iterdir())}
        manifest = {"format": FORMAT, "version": VERSION, "openwork": __version__, "sha256": sums}
        (partial / MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")


def load_bundle(path: Path) -> Bundle:
    """Reads a bundle or a run's folder; anything missing, changed, damaged or foreign is refused in one sentence."""
    folder = find_bundle(path)
    current = whole_bundle(folder)
    try:
        layer = read_run_file(current / CONFIG)
        settings = build(BundleSettings, layer.mapping, layer.origins)
    except ConfigError as error:
        raise BundleError(
            f"{folder}: its {CONFIG} is not understood",
            why=error.what,
            hint="copy the bundle again; what openwork train wrote is not meant to be edited",
        ) from error
    tokenizers = TokenizerPair.load(current)
    with torch.random.fork_rng(devices=[]):
        model = build_model(settings.model, tokenizers.source.vocabulary_size, tokenizers.target.vocabulary_size)
    restore_weights(model, read_tensors(current / WEIGHTS), str(folder))
    model.to(choose_device()).eval()
    try:
        golden = tuple(Golden(**example) for example in json.loads((current / GOLDEN).read_text(encoding="utf-8")))
        card = (current / CARD).read_text(encoding="utf-8")
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise BundleError(
            f"{folder}: {GOLDEN} or {CARD} is not understood",
            why=str(error),
            hint="copy the bundle again; what openwork train wrote is not meant to be edited",
        ) from error
    return Bundle(settings, tokenizers, model, golden, card)
