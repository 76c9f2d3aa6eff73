"""What a run began with: its files, pairs and vocabulary, noted beside its stores; and what has changed since."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from openwork.base.errors import ConfigError
from openwork.base.files import atomic_write_text, sha256_values
from openwork.base.printing import json_text
from openwork.data.records import Pair
from openwork.data.sources import CorpusPart, PairSource, digested

NAME = "origins.json"


@dataclass(frozen=True)
class PairsOrigin:
    """Some pairs: the SHA-256 of each file that they come from, how many they are, and a digest of their texts."""

    name: str
    files: Mapping[str, str]
    pairs: int
    digest: str


@dataclass(frozen=True)
class Origins:
    """All that a run trains and validates on, and the fingerprint of its vocabulary."""

    data: tuple[PairsOrigin, ...]
    vocabulary: str = ""


def origins_of(parts: Sequence[CorpusPart], valid: PairSource | None) -> Origins:
    """Those of today; `valid` where validation has pairs of its own."""
    data = [PairsOrigin(part.pairs.description, part.pairs.files, part.report.kept, part.digest) for part in parts]
    if valid is not None:
        data.append(PairsOrigin(valid.description, valid.files, *_counted(valid.read())))
    return Origins(tuple(data))


def _counted(pairs: Iterable[Pair]) -> tuple[int, str]:
    digest = hashlib.sha256()
    count = sum(1 for _ in digested(pairs, digest))
    return count, digest.hexdigest()


def write_origins(folder: Path, origins: Origins) -> None:
    """Notes them in the folder of the stores."""
    values = asdict(origins)
    atomic_write_text(
        folder / NAME,
        json_text({"sha256": sha256_values(values), "origins": values}, indent=1) + "\n",
    )


def read_origins(folder: Path) -> Origins | None:
    """Those that were noted; None where none are, or where the note is damaged."""
    try:
        content = json.loads((folder / NAME).read_text(encoding="utf-8"))
        values = content["origins"]
        if content["sha256"] != sha256_values(values):
            return None
        return Origins(tuple(PairsOrigin(**one) for one in values["data"]), values["vocabulary"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def check_origins(before: Origins, now: Origins, folder: Path) -> None:
    """ConfigError if the pairs are no longer those with which the run in the folder began: which, and what it means."""
    changes = [
        change for was, is_now in zip(before.data, now.data, strict=False) if (change := _change_line(was, is_now))
    ]
    if changes:
        raise ConfigError(
            f"{folder}: not the pairs with which this run began: {'; '.join(changes[:5])}",
            why="its vocabulary, its place in the data and its validation figures belong to the pairs of then; "
            "with others it would be another training",
            hint="bring the data back to continue, or give another --out to begin anew; what it has learnt can be "
            "taken along: openwork average, then openwork train --from-bundle",
            code="C070",
        )


def _change_line(was: PairsOrigin, now: PairsOrigin) -> str:
    """What is different, by the names of the files; nothing if nothing is."""
    files = [path for path, checksum in now.files.items() if was.files.get(path) != checksum]
    if not files and was.digest == now.digest:
        return ""
    names = ", ".join(files) or now.name
    return f"{names} ({was.pairs:,} -> {now.pairs:,} pairs)"
