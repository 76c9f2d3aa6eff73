"""The bundle: a trained system as one folder that needs nothing else. Loading it executes no code.

`folder.py` lists its files.
"""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torch import Tensor

from openwork.base.config import to_toml
from openwork.base.errors import BundleError
from openwork.base.folders import atomic_folder
from openwork.base.outputs import BUNDLE
from openwork.base.printing import escaped, json_text
from openwork.base.regular_files import read_regular
from openwork.bundles.folder import (
    CARD,
    CONFIG,
    GOLDEN,
    MANIFEST,
    MOST_BYTES,
    WEIGHTS,
    find_bundle,
    whole_bundle,
    write_manifest,
)
from openwork.bundles.quantised import StoredType, restored, stored
from openwork.bundles.settings import BundleSettings, load_tokenizers, read_bundle_settings
from openwork.bundles.sparse import packed, unpacked
from openwork.machine.device import choose_device
from openwork.models.build import build_model
from openwork.models.interfaces import SequenceModel
from openwork.models.weights import (
    empty_weights,
    model_weights,
    read_tensors,
    restore_weights,
    tensors_to_bytes,
    uninitialised,
)
from openwork.text.pair import TokenizerPair


@dataclass(frozen=True)
class Golden:
    """A source with the translation and log-probability (nats) that the bundle gave when it was written."""

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


def write_bundle(folder: Path, bundle: Bundle, stored_as: StoredType | None = None) -> None:
    """Writes the folder atomically; other files in it stay.

    `stored_as`: the type of the matrices in the file, which then has less than their numbers; None: as they are.
    """
    weights = model_weights(bundle.model)
    with atomic_folder(folder, BUNDLE.own_in(folder)) as partial:
        bundle.tokenizers.save(partial)
        (partial / CONFIG).write_text(to_toml(bundle.settings), encoding="utf-8")
        tensors = packed(stored(weights, stored_as) if stored_as else weights)
        (partial / WEIGHTS).write_bytes(tensors_to_bytes(tensors))
        golden = [vars(example) for example in bundle.golden]
        (partial / GOLDEN).write_text(json_text(golden, indent=1), encoding="utf-8")
        (partial / CARD).write_text(escaped(bundle.card), encoding="utf-8")
        write_manifest(partial)


READINGS = 5  # attempts at a bundle that is replaced while it is read


def load_bundle(path: Path) -> Bundle:
    """Loads a bundle or that of a run. BundleError for missing, changed, damaged or other files.

    A bundle that is replaced meanwhile is read again, so that parts of two bundles are never combined.
    """
    for _ in range(READINGS):
        folder = find_bundle(path)
        before = _state_of(folder)
        try:
            bundle = _read_bundle(folder)
        except BundleError:
            if _state_of(folder) == before:
                raise
            continue
        if _state_of(folder) == before:
            return bundle
    raise BundleError(
        f"{path}: the bundle is being replaced again and again", hint="wait until it is written", code="B062"
    )


def _state_of(folder: Path) -> tuple[int, int, bytes]:
    """The identity of the folder, its time of change, and its manifest with the checksums of all other files.

    The manifest alone is not enough: two bundles may alternate under the name, with the first one back at the end.
    """
    try:
        stat = folder.stat()
        return stat.st_ino, stat.st_ctime_ns, read_regular(folder / MANIFEST, MOST_BYTES[MANIFEST])
    except (OSError, BundleError):
        return 0, 0, b""


def _read_bundle(folder: Path) -> Bundle:
    current = whole_bundle(folder)
    settings, _ = read_bundle_settings(current, folder)
    tokenizers = load_tokenizers(current, settings)
    weights = read_weights(current)
    sizes = tokenizers.sizes
    with empty_weights():  # wrong sizes are refused before the model takes memory
        restore_weights(build_model(settings.model, *sizes), weights, str(folder))
    with uninitialised():
        model = build_model(settings.model, *sizes)
    restore_weights(model, weights, str(folder))
    model.to(choose_device()).eval()
    try:
        golden = tuple(_golden(example) for example in json.loads(_text(current, GOLDEN)))
        card = _text(current, CARD)
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise BundleError(
            f"{folder}: {GOLDEN} or {CARD} is not understood",
            why=str(error),
            hint="copy the bundle again; what openwork train wrote is not meant to be edited",
            code="B041",
        ) from error
    return Bundle(settings, tokenizers, model, golden, card)


def read_weights(folder: Path) -> dict[str, Tensor]:
    """The weights of a bundle's folder, whatever type its file keeps them in."""
    return restored(unpacked(read_tensors(folder / WEIGHTS), str(folder)), str(folder))


def _text(folder: Path, name: str) -> str:
    return read_regular(folder / name, MOST_BYTES[name]).decode("utf-8")


def _golden(example: dict[str, Any]) -> Golden:
    golden = Golden(**example)
    if not isinstance(golden.source, str) or not isinstance(golden.translation, str):
        raise TypeError(repr(example))
    return replace(golden, log_probability=float(golden.log_probability))
