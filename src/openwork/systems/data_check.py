"""`openwork data check`: all that is wrong with a corpus, told before it is trained on. Nothing is changed."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from openwork.base.errors import DataError
from openwork.base.phrases import AsIs, Joined
from openwork.data import corpora
from openwork.data.check.faults import Fault, FaultKind, Gathered
from openwork.data.check.languages import language_faults
from openwork.data.check.lengths import length_faults
from openwork.data.check.pairs import LEAST_PAIRS, pair_faults
from openwork.data.check.reading import COUNTS, read_as_it_is
from openwork.data.check.repeats import leaks, repeats
from openwork.data.check.text import text_faults
from openwork.data.records import Pair

Say = Callable[[str], None]
TRAIN = "train"
UNKNOWN = FaultKind("characters that training does not have")


@dataclass
class Report:
    """What was found, split by split."""

    splits: dict[str, Gathered] = field(default_factory=dict)

    @property
    def faults(self) -> int:
        """Lines with faults, each kind for itself."""
        return sum(len(lines) for split in self.splits.values() for lines in split.lines.values())


def read_splits(
    corpus: str | None, files: Mapping[str, tuple[Path | None, Path | None]], folder: Path | None
) -> tuple[dict[str, list[Pair]], dict[str, tuple[int, int]]]:
    """The pairs of each split, of a corpus by name or of files as they are, and of files how many lines each has."""
    if corpus is not None:
        splits: dict[str, list[Pair]] = {}
        for split in corpora.ROLES:
            try:
                splits[split] = list(corpora.load(corpus, split, folder))
            except DataError:
                if not splits:
                    raise
        return splits, {}
    found = {}
    for name, (source, target) in files.items():
        if source is not None and target is not None:
            found[name] = read_as_it_is(source, target)
        elif source is not None or target is not None:
            raise DataError(f"{source or target}: its other side was not named", hint="name both files of a split")
    if not found:
        raise DataError("there is nothing to check", hint="name a corpus, or --source and --target")
    return {name: pairs for name, (pairs, _) in found.items()}, {name: counts for name, (_, counts) in found.items()}


def check(
    splits: Mapping[str, Sequence[Pair]],
    counts: Mapping[str, tuple[int, int]],
    languages: tuple[str, str] | None,
    say: Say,
) -> Report:
    """Looks for every kind of fault in every split."""
    report = Report()
    for name, pairs in splits.items():
        say(f"checking {len(pairs):,} pairs: {name}")
        gathered = report.splits[name] = Gathered(len(pairs))
        lines = counts.get(name, (len(pairs), len(pairs)))
        if lines[0] != lines[1]:
            gathered.add([Fault(COUNTS, min(lines) + 1, f"{lines[0]:,} / {lines[1]:,}")])
        for line, pair in enumerate(pairs, start=1):
            gathered.add(text_faults(pair, line))
        gathered.add(length_faults(pairs))
        gathered.add(repeats(pairs))
        if languages is not None:
            gathered.add(language_faults(pairs, languages))
        if name != TRAIN and TRAIN in splits:
            gathered.add(leaks(pairs, splits[TRAIN]))
            gathered.add(_unknown_characters(pairs, splits[TRAIN]))
        gathered.add(pair_faults(pairs))
    return report


def _unknown_characters(pairs: Sequence[Pair], training: Sequence[Pair]) -> Iterator[Fault]:
    known = {character for pair in training for side in pair for character in side}
    for line, pair in enumerate(pairs, start=1):
        unknown = sorted({character for side in pair for character in side} - known)
        if unknown:
            yield Fault(UNKNOWN, line, f"{''.join(unknown)} in: {pair.source}")


def report_lines(report: Report) -> Iterator[str]:
    """For a terminal: each split, each kind of fault with its count and the first places."""
    for name, found in report.splits.items():
        yield f"{name}: {found.pairs:,} pairs"
        if not found.lines:
            yield Joined(AsIs("  "), "no faults were found")
        for kind in sorted(found.lines, key=lambda kind: -len(found.lines[kind])):
            lines = found.lines[kind]
            yield Joined(AsIs(f"  {len(lines):7,}  {len(lines) / max(found.pairs, 1):7.2%}  "), kind)
            for fault in found.examples[kind]:
                yield AsIs(f"{'':20}{fault.line}: {fault.shown}")
    yield from note_lines(report)
    yield f"{report.faults:,} faults; nothing was changed or left out"


def note_lines(report: Report) -> Iterator[str]:
    """What could not be judged."""
    for name, found in report.splits.items():
        if found.pairs < LEAST_PAIRS:
            yield f"{name}: whether its sides translate each other needs at least {LEAST_PAIRS:,} pairs"


def report_values(report: Report) -> dict[str, Any]:
    """For a program: all lines of each kind."""
    return {
        name: {
            "pairs": found.pairs,
            "faults": {
                kind: {
                    "count": len(lines),
                    "lines": lines,
                    "examples": [{"line": fault.line, "shown": fault.shown} for fault in found.examples[kind]],
                }
                for kind, lines in found.lines.items()
            },
        }
        for name, found in report.splits.items()
    }
