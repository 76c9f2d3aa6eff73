"""Saved evaluation: sources, outputs, references and scores of a system, for comparison with another.

evaluation.json    scores with signatures, target language, the test set's name, checksums of the other files
source.txt         one sentence a line
translations.txt   the system's outputs, line for line
references.txt     the references, line for line
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from openwork import __version__
from openwork.base.compression import LONGEST_MAGIC, compression_of
from openwork.base.errors import DataError
from openwork.base.files import read_lines, sha256_file
from openwork.base.folders import atomic_folder
from openwork.base.outputs import EVALUATION, check_folder
from openwork.base.printing import json_text
from openwork.base.regular_files import open_regular, read_regular
from openwork.base.tasks import MEASURED, Measured

FORMAT, VERSION = EVALUATION.format, 1
FACTS, SOURCE, TRANSLATIONS, REFERENCES = "evaluation.json", "source.txt", "translations.txt", "references.txt"
MOST_BYTES = 1 << 30  # of each file
TEXTS = (SOURCE, TRANSLATIONS, REFERENCES)


@dataclass(frozen=True)
class SavedEvaluation:
    """The lines of an evaluation, the target language they were scored for, and `facts` such as the scores."""

    sources: Sequence[str]
    translations: Sequence[str]
    references: Sequence[str]
    language: str | None
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def signatures(self) -> dict[str, str]:
        """The signature of each metric, without its parts about resampling."""
        return {score["name"]: plain_signature(score["signature"]) for score in self.facts["scores"]}

    @property
    def task(self) -> Measured | None:
        """The task that the lines were scored for; None for translations."""
        return next((task for task in MEASURED if task == self.facts.get("task")), None)


def plain_signature(signature: str) -> str:
    """A signature without the number of resamples and their seed, which change no score."""
    parts = signature.split("|")
    return "|".join(part for part in parts if part.partition(":")[0] not in ("bs", "ar", "seed"))


def is_evaluation(folder: Path) -> bool:
    """Whether the folder holds a saved evaluation."""
    return (folder / FACTS).is_file()


def write_evaluation(folder: Path, saved: SavedEvaluation) -> None:
    """Writes the folder atomically. An earlier evaluation is replaced, other files stay."""
    check_folder(folder, EVALUATION)
    with atomic_folder(folder, EVALUATION.own_in(folder)) as partial:
        for name, lines in zip(TEXTS, (saved.sources, saved.translations, saved.references), strict=True):
            (partial / name).write_bytes("".join(f"{line}\n" for line in lines).encode())
        sums = {name: hashlib.sha256((partial / name).read_bytes()).hexdigest() for name in TEXTS}
        head = {"format": FORMAT, "version": VERSION, "openwork": __version__, "language": saved.language}
        facts = {**head, **saved.facts, "sha256": sums}
        (partial / FACTS).write_text(json_text(facts, indent=1), encoding="utf-8")


def read_evaluation(folder: Path) -> SavedEvaluation:
    """Reads what `write_evaluation` wrote.

    DataError for missing, changed or other files, BundleError for links, pipes and files beyond all bounds.
    """
    try:
        facts = json.loads(read_regular(folder / FACTS, MOST_BYTES).decode("utf-8"))
        if facts["format"] != FORMAT or facts["version"] > VERSION:
            raise ValueError(f"format {facts['format']!r}, version {facts['version']!r}")
        language, sums = facts["language"], {name: facts["sha256"][name] for name in TEXTS}
        scores = [(str(score["name"]), str(score["signature"])) for score in facts["scores"]]
        if not scores or not (language is None or isinstance(language, str)):
            raise ValueError("it holds no scores")
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise DataError(
            f"{folder}: not a saved evaluation",
            why=f"{FACTS} is missing, damaged or of another kind",
            hint="openwork evaluate --out FOLDER writes one",
            code="D080",
        ) from error
    for name, checksum in sums.items():
        with suppress(OSError):  # what is missing is said below
            open_regular(folder / name, MOST_BYTES).close()
        if sha256_file(folder / name) != checksum or _is_compressed(folder / name):
            raise DataError(
                f"{folder / name}: damaged or changed since it was scored",
                why="its checksum is not the one that was written with it",
                hint="evaluate again, or compare the file itself with --reference",
                code="D081",
            )
    sources, translations, references = (list(read_lines(folder / name)) for name in TEXTS)
    return SavedEvaluation(sources, translations, references, language, facts)


def _is_compressed(path: Path) -> bool:
    """Whether reading its lines would decompress it; a small archive may have any size then."""
    with path.open("rb") as file:
        return compression_of(file.read(LONGEST_MAGIC)) is not None
