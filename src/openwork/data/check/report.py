"""`openwork data check`: the faults of a corpus, found before it is trained on. Nothing is changed."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from openwork.base.errors import DataError
from openwork.base.messages import msg
from openwork.base.pages import render
from openwork.base.phrases import AsIs, Joined
from openwork.data.check.faults import COUNTS, Fault, FaultKind, Gathered, Pairs, file_pairs, named_pairs
from openwork.data.check.pairs import APART, LEAST_PAIRS, copies, length_faults, pair_faults
from openwork.data.check.repeats import leaks, repeats
from openwork.data.check.text import language_faults, text_faults
from openwork.data.corpora import catalogue as corpora
from openwork.data.records import Pair

Progress = Callable[[str], None]
TRAIN = "train"
SECONDS_BETWEEN_LINES, LOOKED_AT = 10.0, 1000  # of progress, and pairs between two looks at the clock
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
) -> dict[str, Pairs]:
    """The pairs of each split, of a corpus by name or of files as they are, to be read as often as wanted."""
    found: dict[str, Pairs] = {}
    if corpus is not None:
        for split in corpora.ROLES:
            try:
                found[split] = named_pairs(partial(corpora.load, corpus, split, folder))
            except DataError:
                if not found:
                    raise
        return found
    for name, (source, target) in files.items():
        if source is not None and target is not None:
            found[name] = file_pairs(source, target)
        elif source is not None or target is not None:
            raise DataError(
                f"{source or target}: its other side was not named", hint="name both files of a split", code="D076"
            )
    if not found:
        raise DataError("there is nothing to check", hint="name a corpus, or --source and --target", code="D077")
    return found


def check(splits: Mapping[str, Pairs], languages: tuple[str, str] | None, progress: Progress) -> Report:
    report = Report()
    for name, read in splits.items():
        progress(msg(f"checking {len(read):,} pairs: {name}"))
        gathered, pairs = report.splits.setdefault(name, Gathered(len(read))), watched(read, progress)
        if len(set(read.counts)) > 1:
            shown = " / ".join(f"{count:,}" for count in read.counts)
            gathered.add([Fault(COUNTS, min(read.counts) + 1, shown)])
        for line, pair in enumerate(pairs, start=1):
            gathered.add(text_faults(pair, line))
        gathered.add(copies(pairs))
        gathered.add(length_faults(pairs))
        gathered.add(repeats(pairs))
        if languages is not None:
            gathered.add(language_faults(pairs, languages))
        if name != TRAIN and TRAIN in splits:
            training = watched(splits[TRAIN], progress)
            gathered.add(leaks(list(pairs), training))
            gathered.add(_unknown_characters(pairs, training))
        gathered.add(pair_faults(pairs))
    return report


def watched(pairs: Pairs, progress: Progress) -> Pairs:
    """The same pairs, which are read several times, for minutes where they are many; reports now and then."""

    def read() -> Iterator[Pair]:
        last = time.monotonic()
        for number, pair in enumerate(pairs):
            if number % LOOKED_AT == 0 and time.monotonic() - last > SECONDS_BETWEEN_LINES:
                last = time.monotonic()
                progress(msg(f"{number:,} of {len(pairs):,} pairs in this pass"))
            yield pair

    return Pairs(read, pairs.counts)


def _unknown_characters(pairs: Iterable[Pair], training: Iterable[Pair]) -> Iterator[Fault]:
    known = {character for pair in training for side in pair for character in side}
    for line, pair in enumerate(pairs, start=1):
        unknown = sorted({character for side in pair for character in side} - known)
        if unknown:
            yield Fault(UNKNOWN, line, f"{''.join(unknown)} in: {pair.source}")


def report_lines(report: Report) -> Iterator[str]:
    """For a terminal: each split, each kind of fault with its count and the first places."""
    for name, found in report.splits.items():
        yield msg(f"{name}: {found.pairs:,} pairs")
        if not found.lines:
            yield Joined(AsIs("  "), "no faults were found")
        for kind in _kinds(found):
            lines = found.lines[kind]
            yield Joined(AsIs(f"  {len(lines):7,}  {len(lines) / max(found.pairs, 1):7.2%}  "), kind)
            for fault in found.examples[kind]:
                yield AsIs(f"{'':20}{fault.place}: {fault.shown}")
    yield from note_lines(report)
    yield msg(f"{report.faults:,} faults; nothing was changed or left out")


def note_lines(report: Report) -> Iterator[str]:
    """Checks that were not possible, and what is a guess."""
    for name, found in report.splits.items():
        if found.pairs < LEAST_PAIRS:
            yield msg(f"{name}: whether its sides translate each other needs at least {LEAST_PAIRS:,} pairs")
        if APART in found.lines:
            yield msg(f"{name}: whether sides translate each other is a ranking: free translations rank high too")


def page_of(report: Report, language: str) -> str:
    parts = {"title": msg("What is wrong with the corpus"), "splits": report.splits, "notes": list(note_lines(report))}
    return render("data_check.html", language, kinds=_kinds, **parts)


def _kinds(found: Gathered) -> list[FaultKind]:
    """The kinds of faults, the most frequent first."""
    return sorted(found.lines, key=lambda kind: -len(found.lines[kind]))


def report_values(report: Report) -> dict[str, Any]:
    """For a program: all lines of each kind."""
    return {
        name: {
            "pairs": found.pairs,
            "faults": {
                kind: {
                    "count": len(lines),
                    "lines": lines.tolist(),
                    **({"partners": found.partners[kind].tolist()} if kind in found.partners else {}),
                    "examples": [{"line": fault.line, "shown": fault.shown} for fault in found.examples[kind]],
                }
                for kind, lines in found.lines.items()
            },
        }
        for name, found in report.splits.items()
    }
