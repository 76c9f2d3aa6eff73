"""The mean of several checkpoints or bundles, as a new bundle (section 6.1 of the paper averages the last five)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from torch import Tensor

from openwork import __version__
from openwork.base.errors import BundleError, UsageError
from openwork.base.outputs import BUNDLE, check_folder, is_checkpoint
from openwork.bundles.bundle import Bundle, load_bundle, read_weights, write_bundle
from openwork.bundles.folder import CONFIG, MANIFEST, whole_bundle
from openwork.bundles.settings import BundleSettings, load_tokenizers, read_bundle_settings
from openwork.data.store import TokenStore
from openwork.inference.golden import make_golden
from openwork.machine.device import choose_device
from openwork.models.build import build_model
from openwork.models.weights import restore_weights, uninitialised
from openwork.runs.corpus import GOLDEN_EXAMPLES
from openwork.runs.folder import RunFolder, no_checkpoint, settings_of_run
from openwork.text.pair import TokenizerPair
from openwork.training.averaging import average
from openwork.training.checkpoint import checkpoints, load_weights
from openwork.training.trained_weights import merged_tensors


@dataclass(frozen=True)
class Member:
    """One set of weights: its path, and functions that read it and what it belongs to."""

    path: Path
    weights: Callable[[], Mapping[str, Tensor]]
    home: Callable[[], "Home"]


class Home(NamedTuple):
    """What the weights belong to; `sources` are for the examples of the new bundle."""

    settings: BundleSettings
    tokenizers: TokenizerPair
    sources: tuple[str, ...]


def average_bundles(
    paths: Sequence[Path], last: int | None, out: Path, report: Callable[[str], None], *, overwrite: bool = False
) -> None:
    """Writes the mean of all checkpoints that `paths` name: runs (their last ones), checkpoints and bundles.

    One alone is written as it is. BundleError for weights or vocabularies of different models; `overwrite` allows a
    folder that holds another bundle.
    """
    members = [member for path in paths for member in find_members(path, last)]
    check_folder(out, BUNDLE, paths, overwrite=overwrite)
    settings, tokenizers, sources = _shared_home(members)
    for member in members:
        report(f"averaging {member.path}")
    mean = average(_alike(members))
    with uninitialised():
        model = build_model(settings.model, *tokenizers.sizes)
    restore_weights(model, mean, str(members[0].path))
    model.to(choose_device()).eval()
    title = f"# Mean of {len(members)} sets of weights" if len(members) > 1 else "# The weights of a checkpoint"
    names = [f"- {member.path}" for member in members]
    card = "\n".join([title, "", f"Written by openwork {__version__}; not evaluated yet.", "", *names, ""])
    write_bundle(out, make_golden(Bundle(settings, tokenizers, model, card=card), sources))


def find_members(path: Path, last: int | None) -> list[Member]:
    """A bundle, a checkpoint, or the checkpoints of a run, with `last` the newest ones alone."""
    if (path / MANIFEST).is_file():
        return [Member(path, lambda: read_weights(whole_bundle(path)), lambda: _home_of_bundle(path))]
    if (path / "checkpoints").is_dir():
        return _members_of_run(path, last)
    if is_checkpoint(path):
        return [_checkpoint(path)]
    named = "name the folder of a run, checkpoints in it such as RUN/checkpoints/step-00001000, or bundles"
    if not path.exists():
        raise BundleError(f"{path}: no such folder", hint=named, code="B034")
    raise BundleError(f"{path}: neither a run, nor a checkpoint, nor a bundle", hint=named, code="B035")


def _members_of_run(path: Path, last: int | None) -> list[Member]:
    found = checkpoints(path / "checkpoints")
    if not found:
        raise no_checkpoint(path)
    if last is not None and last > len(found):
        raise UsageError(
            f"--last {last}: {path} has {len(found)} checkpoints",
            why="the older ones are cleared away while a run goes on",
            hint=f"--last {len(found)} takes all; training.average says how many a run keeps",
            code="U044",
        )
    return [_checkpoint(one) for one in (found if last is None else found[-last:])]


def _checkpoint(path: Path) -> Member:
    return Member(path, lambda: merged_tensors(load_weights(path)), lambda: _home_of_run(path.resolve().parents[1]))


def _home_of_bundle(path: Path) -> Home:
    bundle = load_bundle(path)
    return Home(bundle.settings, bundle.tokenizers, tuple(golden.source for golden in bundle.golden))


def _home_of_run(path: Path) -> Home:
    """Its sources are the first validation sentences, decoded from their pieces."""
    folder = RunFolder(path)
    settings = folder.settings_of_checkpoints()
    tokenizers = load_tokenizers(folder.tokenizers, settings)
    kept = settings_of_run(settings)
    if (folder.bundle / CONFIG).is_file():  # the bundle's languages and search take precedence
        kept, _ = read_bundle_settings(whole_bundle(folder.bundle), folder.bundle)
    if tokenizers.encoder.numbers is not None:
        return Home(kept, tokenizers, ())
    store = TokenStore.open(folder.stores / "valid")
    rows = [store.pair(index)[0].tolist() for index in range(min(GOLDEN_EXAMPLES, len(store)))]
    return Home(kept, tokenizers, tuple(tokenizers.source.decode(row) for row in rows))


def _shared_home(members: Sequence[Member]) -> Home:
    home = members[0].home()
    folders = {member.path.parent for member in members if not (member.path / MANIFEST).is_file()}
    if len(folders) == 1 and all(member.path.parent in folders for member in members):
        return home  # checkpoints of one run
    for member in members[1:]:
        other = member.home()
        if other.tokenizers.fingerprint != home.tokenizers.fingerprint:
            raise BundleError(
                f"{member.path}: its vocabulary is another than that of {members[0].path}",
                why="the mean of weights has a meaning only where the same number is the same piece",
                hint="average checkpoints of one run, or bundles that share a tokenizer",
                code="B038",
            )
    return home


def _alike(members: Sequence[Member]) -> Iterator[Mapping[str, Tensor]]:
    """The weights one after the other; BundleError at the first whose names or shapes are not those of the first."""
    first: dict[str, tuple[int, ...]] = {}
    for member in members:
        weights = member.weights()
        shapes = {name: tuple(tensor.shape) for name, tensor in weights.items()}
        first = first or shapes
        for name in sorted(first.keys() | shapes.keys()):
            if first.get(name) != shapes.get(name):
                raise BundleError(
                    f"{member.path} cannot be averaged with {members[0].path}: they are different models",
                    why=f"{name} is {_shape(shapes.get(name))} there and {_shape(first.get(name))} here",
                    hint="average checkpoints or bundles of one kind and size",
                    code="B039",
                )
        yield weights


def _shape(shape: tuple[int, ...] | None) -> str:
    return "missing" if shape is None else " x ".join(map(str, shape))
