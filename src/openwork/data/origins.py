"""The files, pairs and vocabulary that a run started with, saved with its stores; and what has changed since."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from openwork.base.errors import ConfigError
from openwork.base.files import atomic_write_text, sha256_values
from openwork.base.printing import json_text
from openwork.data.sources import CorpusPart, PairSource, count_and_digest

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
    """The origins of today's pairs; `valid` where validation has pairs of its own."""
    data = [PairsOrigin(part.pairs.description, part.pairs.files, part.report.kept, part.digest) for part in parts]
    if valid is not None:
        data.append(PairsOrigin(valid.description, valid.files, *count_and_digest(valid.read())))
    return Origins(tuple(data))


def write_origins(folder: Path, origins: Origins) -> None:
    """Writes them into the folder of the stores."""
    values = asdict(origins)
    content = {"sha256": sha256_values(values), "origins": values}
    atomic_write_text(folder / NAME, json_text(content, indent=1) + "\n")


def read_origins(folder: Path) -> Origins | None:
    """The saved origins; None where there are none, or where the file is damaged."""
    try:
        content = json.loads((folder / NAME).read_text(encoding="utf-8"))
        values = content["origins"]
        if content["sha256"] != sha256_values(values):
            return None
        return Origins(tuple(PairsOrigin(**one) for one in values["data"]), values["vocabulary"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def check_origins(before: Origins, now: Origins, folder: Path) -> None:
    """ConfigError, with the names of the files, if the pairs are not those that the run in the folder started with."""
    changes = []
    for was, is_now in zip(before.data, now.data, strict=False):
        files = [path for path, checksum in is_now.files.items() if was.files.get(path) != checksum]
        if files or was.digest != is_now.digest:
            changes.append(f"{', '.join(files) or is_now.name} ({was.pairs:,} -> {is_now.pairs:,} pairs)")
    if changes:
        raise ConfigError(
            f"{folder}: not the pairs with which this run began: {'; '.join(changes[:5])}",
            why="its vocabulary, its place in the data and its validation figures belong to the pairs of then; "
            "with others it would be another training",
            hint="bring the data back to continue, or give another --out to begin anew; what it has learnt can be "
            "taken along: openwork average, then openwork train --from-bundle",
            code="C070",
        )
