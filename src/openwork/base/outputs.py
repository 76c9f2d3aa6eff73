"""Checks of output paths: one rule for all commands, so that no file of a user is lost. No torch here.

An output folder is new or empty, or one of the same kind that openwork wrote; then only openwork's own files in it are
replaced. An output file is new, or one that openwork wrote. Neither may be, contain or lie in what the command reads,
nor lie in a bundle or among the files of a run.
"""

import contextlib
import json
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openwork import __version__
from openwork.base.errors import UsageError
from openwork.base.files import is_partial, sha256_file
from openwork.base.folders import blocked_name

LARGEST_MARK = 1 << 22  # bytes


@dataclass(frozen=True)
class FolderKind:
    """A kind of folder that openwork writes, and the possible names of its files.

    The first file marks the kind: a JSON object with `format` and the checksum of every other file.
    """

    format: str
    names: tuple[str, ...]

    @property
    def mark(self) -> str:
        return self.names[0]

    def is_at(self, folder: Path) -> bool:
        """Whether openwork wrote the folder, according to its mark."""
        return self.read_mark(folder) is not None

    def own_in(self, folder: Path) -> tuple[str, ...]:
        """The mark, and the files in the folder that openwork wrote according to it."""
        listed = (self.read_mark(folder) or {}).get("sha256")
        return (self.mark, *(name for name in self.names[1:] if isinstance(listed, dict) and name in listed))

    def read_mark(self, folder: Path) -> dict[str, Any] | None:
        """The content of the mark, if the folder is of this kind."""
        path = folder / self.mark
        try:
            if not path.is_file() or path.stat().st_size > LARGEST_MARK:
                return None
            content = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return None
        return content if isinstance(content, dict) and content.get("format") == self.format else None


TOKENIZERS = ("tokenizer.json", "source.tokenizer.json", "target.tokenizer.json")
BUNDLE = FolderKind(
    "openwork bundle", ("bundle.json", "config.toml", *TOKENIZERS, "weights.safetensors", "golden.json", "card.md")
)
EVALUATION = FolderKind("openwork evaluation", ("evaluation.json", "source.txt", "translations.txt", "references.txt"))
EXPORT = FolderKind(
    "openwork export",
    (
        "openwork-export.json",
        *("config.json", "generation_config.json", "model.safetensors", "tokenizer_config.json", *TOKENIZERS),
        *(f"{side}/{name}" for side in ("source", "target") for name in ("tokenizer.json", "tokenizer_config.json")),
        *("model.bin", "shared_vocabulary.json", "source_vocabulary.json", "target_vocabulary.json", "card.md"),
        *("model.onnx", "model.onnx.data"),
        *("model.npz", "decoder.yml", "vocab.yml", "vocab.spm", "source.spm", "target.spm"),
        *(f"{side}.vocab.{ending}" for side in ("source", "target") for ending in ("yml", "spm")),
    ),
)
CLEANED = FolderKind("openwork cleaned corpus", ("cleaned.json", "left-out.jsonl"))
PAIRS = FolderKind("openwork synthetic pairs", ("pairs.json", "source.txt", "target.txt"))
RUN = (
    *("run.toml", ".lock", "records.jsonl", "tokenizers", "stores", "checkpoints", "tensorboard"),
    *("bad-batch.jsonl", "bundle", ".extended", "teacher"),
)
"""The names in a run folder."""


def put_export_mark(folder: Path) -> None:
    """Writes the file that identifies an exported folder."""
    sums = {name: sha256_file(folder / name) for name in EXPORT.names if (folder / name).is_file()}
    content = {"format": EXPORT.format, "openwork": __version__, "sha256": sums}
    (folder / EXPORT.mark).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def is_run(folder: Path) -> bool:
    """Whether the folder is a run folder: a run file alone may be the user's own."""
    return (folder / "run.toml").is_file() and any(
        (folder / name).exists() for name in (".lock", "records.jsonl", "checkpoints")
    )


def is_checkpoint(folder: Path) -> bool:
    return (folder / "state.json").is_file() and folder.resolve().parent.name == "checkpoints"


def check_folder(
    out: Path, kind: FolderKind, reads: Iterable[Path | None] = (), *, overwrite: bool | None = None
) -> None:
    """UsageError unless a command that reads these paths may write a folder of this kind there.

    It may replace an older one of the kind if `overwrite` is True, or None, for commands without the option.
    """
    check_new_folder(out, reads, is_own=kind.is_at)
    if not any(_things_in(out)):
        return
    if overwrite is False:
        raise UsageError(
            f"{out}: there already",
            why="openwork wrote this folder, and would replace its files",
            hint="name a new or empty folder, or add --overwrite",
            code="U005",
        )
    own = kind.own_in(out)
    foreign = [out / name for name in kind.names if name not in own and os.path.lexists(out / name)]
    if foreign or blocked_name(out, kind.names):
        raise UsageError(
            f"{blocked_name(out, kind.names) or foreign[0]}: openwork would replace this, and did not write it",
            hint="name a new or empty folder, or remove it",
            code="U082",
        )


def check_new_folder(
    out: Path, reads: Iterable[Path | None] = (), *, is_own: Callable[[Path], bool] = lambda _: False
) -> None:
    """UsageError if `out` is a file, a folder with other contents, or in a place where nothing may be written."""
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out}: --out is a file", hint="name a folder, it will be made", code="U042")
    if any(_things_in(out)) and not is_own(out):
        raise UsageError(
            f"{out}: --out is a folder with other things in it", hint="name a new or empty folder", code="U043"
        )
    check_apart(out, reads)


def check_file(out: Path, is_own: Callable[[Path], bool], reads: Iterable[Path | None] = ()) -> None:
    """UsageError unless a command that reads these paths may write a file there, perhaps over its own older one."""
    check_apart(out, reads)
    if os.path.lexists(out) and not (out.is_file() and is_own(out)):
        raise UsageError(
            f"{out}: there already",
            why="only what this command itself wrote is replaced",
            hint="choose another name, or remove what is there",
            code="U005",
        )


def is_page(path: Path) -> bool:
    """Whether the file is an HTML page that openwork wrote."""
    with path.open("rb") as file:
        return PAGE_MARK.encode() in file.read(2000)


def check_apart(out: Path, reads: Iterable[Path | None]) -> None:
    """UsageError if `out` is, contains or lies in one of these paths, or lies in a bundle or among files of a run."""
    place = Path(os.path.realpath(out))
    for read in reads:
        if read is not None and _touches(place, read):
            raise UsageError(
                f"{out}: this command reads {read}, and would write there",
                hint="choose another name, outside of what is read",
                code="U083",
            )
    for folder in place.parents:
        inner = place.relative_to(folder).parts[0]
        if BUNDLE.is_at(folder) or (inner in RUN and is_run(folder)):
            raise UsageError(
                f"{out}: lies among the files of {folder}",
                why="openwork wrote that folder, and a file more would spoil it",
                hint="choose another name, outside of that folder",
                code="U084",
            )


def _touches(place: Path, read: Path) -> bool:
    """Whether one path is the other or lies in it, links followed; inside a run folder is allowed here."""
    source = Path(os.path.realpath(read))
    if _is_within(place, source):
        return place == source or not is_run(source)  # `check_apart` protects the files of any run
    return _is_within(source, place)


def _is_within(inner: Path, outer: Path) -> bool:
    for path in (inner, *inner.parents):
        with contextlib.suppress(OSError):  # one of them does not exist
            if path == outer or os.path.samefile(path, outer):
                return True
    return False


def _things_in(folder: Path) -> Iterable[Path]:
    """The contents of the folder, if it exists, without partial files of killed processes."""
    return (path for path in folder.iterdir() if not is_partial(path.name)) if folder.is_dir() else ()


PAGE_MARK = '<meta name="generator" content="openwork">'
"""Near the beginning of every page, so that openwork replaces only its own pages."""
