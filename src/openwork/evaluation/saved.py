"""Saved evaluation: sources, outputs, references and scores of a system, and its comparison with another.

evaluation.json    scores with signatures, target language, the test set's name, checksums of the other files
source.txt         one sentence a line
translations.txt   the system's outputs, line for line
references.txt     the references, line for line
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from openwork import __version__
from openwork.base.compression import LONGEST_MAGIC, compression_of
from openwork.base.errors import DataError, UsageError
from openwork.base.files import read_lines, sha256_file
from openwork.base.folders import atomic_folder
from openwork.base.messages import msg
from openwork.base.outputs import EVALUATION, check_folder
from openwork.base.printing import json_text
from openwork.base.regular_files import open_regular, read_regular
from openwork.base.tasks import MEASURED, Measured
from openwork.evaluation.label_scores import label_differences
from openwork.metrics.significance import SIGNIFICANT, Difference, Effort
from openwork.metrics.significance import compare as compare_lines

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
    """Reads it; DataError for missing, changed or other files, BundleError for links, pipes and huge files."""
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


_WHAT: dict[Measured, str] = {
    "generate": "translations",
    "classify": "labels of texts (classify)",
    "tag": "tags of words (tag)",
    "answer": "answers within a text (answer)",
    "texts": "texts, scored by ROUGE (evaluate --texts)",
    "next": "names that may come next (evaluate --next)",
}


@dataclass(frozen=True)
class SystemOutput:
    """The output of one system, and the evaluation that it is of."""

    name: str
    lines: Sequence[str]
    saved: SavedEvaluation | None = None


@dataclass(frozen=True)
class Compared:
    """Two systems by each metric, on `count` sentences or labelled examples."""

    first: str
    second: str
    count: int
    differences: tuple[Difference, ...]
    task: Measured | None = None

    def to_json(self) -> dict[str, Any]:
        metrics = [{**asdict(one), "difference": one.value, "significant": one.significant} for one in self.differences]
        counted = {"sentences": self.count} if self.task is None else {"task": self.task, "examples": self.count}
        return {"first": self.first, "second": self.second, **counted, "metrics": metrics}

    def lines(self) -> list[str]:
        """A report: scores, differences with the results of both tests, and signatures."""
        counted = msg(f"{self.count:,} sentences") if self.task is None else msg(f"{self.count:,} examples")
        lines = [f"A {self.first}", f"B {self.second}", counted]
        for one in self.differences:
            first, second = (f"{of.value:.2f} (95 %: {of.low:.2f} to {of.high:.2f})" for of in (one.first, one.second))
            lines += [
                "",
                msg(f"{one.metric:<8} A {first}   B {second}   difference {one.value:+.2f}"),
                msg(f"         p = {one.bootstrap:.4f} by paired bootstrap, {one.randomisation:.4f} by randomisation"),
                f"         {_verdict_line(one)}",
                f"         {one.signature}",
            ]
        return lines


def _verdict_line(one: Difference) -> str:
    if one.significant:
        return msg(f"{'B' if one.value > 0 else 'A'} is better: p < {SIGNIFICANT} by both tests")
    return msg(f"no significant difference: p >= {SIGNIFICANT} by at least one test")


def read_output(path: Path) -> SystemOutput:
    """A saved evaluation, or a file of translations, one a line."""
    if (path / FACTS).is_file():
        saved = read_evaluation(path)
        return SystemOutput(str(path), saved.translations, saved)
    if path.is_dir():
        raise DataError(
            f"{path}: a folder without a saved evaluation",
            hint="name a file of translations, or what openwork evaluate --out wrote",
            code="D071",
        )
    return SystemOutput(str(path), list(read_lines(path)))


def compare(
    first: SystemOutput, second: SystemOutput, references: Sequence[str] | None, language: str | None, effort: Effort
) -> Compared:
    """Both tests on the two outputs, by the scores of their task; DataError where they cannot be compared.

    `references` must be the same as those of the outputs; `language` goes before theirs. An output of unknown task is
    taken for the other's.
    """
    task = _shared_task(first, second)
    if task is None:
        _check_signatures(first, second)
    known = [(one.name, one.saved.references if one.saved else None) for one in (first, second)]
    shared = _shared_references([("--reference", references), *known])
    if task is not None:
        measured = label_differences(task, shared, first.lines, second.lines, effort)
        return Compared(first.name, second.name, len(shared), measured, task)
    for one in (first, second):
        if len(one.lines) != len(shared):
            raise DataError(
                f"{one.name} has {len(one.lines):,} translations, and there are {len(shared):,} references",
                hint="compare outputs for the same test set, line for line",
                code="D072",
            )
    target = language or next((one.saved.language for one in (first, second) if one.saved and one.saved.language), None)
    found = compare_lines(first.lines, second.lines, shared, language=target, effort=effort)
    return Compared(first.name, second.name, len(shared), found)


def _shared_task(first: SystemOutput, second: SystemOutput) -> Measured | None:
    """The task that both are scored for; None for translations."""
    known: list[Measured | None] = [one.saved.task for one in (first, second) if one.saved is not None]
    if len(set(known)) > 1:
        one, other = (_WHAT[task or "generate"] for task in known)
        raise DataError(
            f"{first.name} and {second.name} are not of one task",
            why=f"the first holds {one}, the second {other}",
            hint="compare systems of one task",
            code="D123",
        )
    return known[0] if known else None


def _check_signatures(first: SystemOutput, second: SystemOutput) -> None:
    if first.saved is None or second.saved is None:
        return
    signatures, others = first.saved.signatures, second.saved.signatures
    for name in sorted(signatures.keys() | others.keys()):
        one, other = signatures.get(name, "none"), others.get(name, "none")
        if one != other:
            raise DataError(
                f"{first.name} and {second.name} were scored in different ways: {name} has different signatures",
                why=f"{one} against {other}",
                hint="evaluate both again with the same --language and the same version of sacreBLEU",
                code="D073",
            )


def _shared_references(known: Sequence[tuple[str, Sequence[str] | None]]) -> Sequence[str]:
    """The references, if all that are known are the same."""
    given = [(name, lines) for name, lines in known if lines is not None]
    if not given:
        raise UsageError("there is nothing to compare with", hint="give the references: --reference FILE", code="U045")
    name, lines = given[0]
    for other_name, others in given[1:]:
        if len(lines) != len(others):
            raise DataError(
                f"not the same references: {name} has {len(lines):,} lines, {other_name} has {len(others):,} lines",
                hint="compare outputs for the same test set",
                code="D074",
            )
        for number, (line, other) in enumerate(zip(lines, others, strict=True), start=1):
            if line != other:
                raise DataError(
                    f"not the same references: line {number} differs between {name} and {other_name}",
                    hint="compare outputs for the same test set",
                    code="D075",
                )
    return lines
