"""`openwork data clean`: a corpus without its faulty pairs, and the reason of each that was left out.

The rules come one after another, each for the pairs that those before it left: first what a pair shows by itself, then
lengths, repeats, and pairs that do not translate each other. So a copy is compared with a pair that is kept.
"""

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openwork import __version__
from openwork.base.errors import DataError, UsageError
from openwork.base.files import sha256_file
from openwork.base.folders import atomic_folder
from openwork.base.messages import msg, nearest
from openwork.base.outputs import CLEANED, check_new_folder
from openwork.base.phrases import AsIs, Joined
from openwork.base.printing import json_text
from openwork.data.check.faults import AnyPairs, Fault, FaultKind, Pairs
from openwork.data.check.pairs import ACTED_ON, APART, COPY, LENGTHS, copies, length_faults, pair_faults
from openwork.data.check.repeats import NEARLY_TWICE, TWICE, repeats
from openwork.data.check.text import (
    BLANK,
    CONTROL,
    DAMAGED,
    ESCAPES,
    INVISIBLE,
    LANGUAGE,
    NOT_NFC,
    SPACES,
    language_faults,
    text_faults,
)
from openwork.data.records import Pair

RULES: dict[str, FaultKind] = {
    "blank": BLANK,
    "damaged": DAMAGED,
    "control": CONTROL,
    "escapes": ESCAPES,
    "not-nfc": NOT_NFC,
    "invisible": INVISIBLE,
    "spaces": SPACES,
    "language": LANGUAGE,
    "copies": COPY,
    "lengths": LENGTHS,
    "repeated": TWICE,
    "nearly-repeated": NEARLY_TWICE,
    "apart": APART,
}
NAMES = {kind: name for name, kind in RULES.items()}
MENDABLE = ("escapes", "not-nfc", "invisible", "spaces")
"""Faults of the writing alone: such pairs translate each other, so they are kept unless asked."""

LEFT_OUT = "left-out.jsonl"
Languages = tuple[str, str]
Report = Callable[[str], None]


@dataclass(frozen=True)
class Cleaned:
    """How many pairs there were, how many were kept, and how many each rule left out."""

    pairs: int
    kept: int
    left_out: Mapping[FaultKind, int]
    out: Path

    def lines(self) -> Iterator[str]:
        yield msg(f"kept {self.kept:,} of {self.pairs:,} pairs")
        for kind, count in sorted(self.left_out.items(), key=lambda item: -item[1]):
            yield Joined(AsIs(f"  {count:7,}  {count / max(self.pairs, 1):7.2%}  "), kind)
        yield msg(f"each with its reason: {self.out / LEFT_OUT}")

    def to_json(self) -> dict[str, Any]:
        left_out = {str(kind): count for kind, count in self.left_out.items()}
        return {"pairs": self.pairs, "kept": self.kept, "left_out": left_out, "out": str(self.out)}


def chosen_rules(drop: Sequence[str], keep: Sequence[str]) -> frozenset[FaultKind]:
    """The kinds of faults that lose a pair its place: all but the mendable ones, with `drop` and without `keep`.

    UsageError for a name that is none.
    """
    for name in (*drop, *keep):
        if name not in RULES:
            raise UsageError(
                f"{name}: no rule of data clean",
                why=f"rules: {', '.join(RULES)}",
                hint=nearest(name, RULES) or "name one of them",
                code="U170",
            )
    names = ({*RULES} - {*MENDABLE} | {*drop}) - {*keep}
    return frozenset(RULES[name] for name in names)


def clean(
    pairs: Pairs,
    names: tuple[str, str],
    out: Path,
    rules: Collection[FaultKind],
    languages: Languages | None,
    report: Report,
    reads: Iterable[Path | None] = (),
) -> Cleaned:
    """Writes the kept pairs as two files of these names in the folder `out`, in their order, and the reasons.

    DataError for files that are not aligned, or where nothing would be kept.
    """
    check_new_folder(out, reads, is_own=CLEANED.is_at)
    if len(set(pairs.counts)) > 1:
        shown = " and ".join(f"{count:,}" for count in pairs.counts)
        raise DataError(
            f"the two sides have {shown} lines",
            why="line n of one must translate line n of the other",
            hint="find the shift: openwork data check names the first lines that do not match",
            code="D191",
        )
    reasons = _reasons(pairs, rules, languages, report)
    if len(reasons) == len(pairs):
        raise DataError(
            "no pair would be kept",
            why="each has a fault",
            hint="look at them with openwork data check, or keep some with --keep RULE",
            code="D192",
        )
    with atomic_folder(out, [CLEANED.mark, LEFT_OUT, *names]) as partial:
        with ExitStack() as opened:
            files = [opened.enter_context((partial / name).open("w", encoding="utf-8")) for name in (*names, LEFT_OUT)]
            for line, pair in enumerate(pairs, start=1):
                if (reason := reasons.get(line)) is None:
                    for file, side in zip(files, pair, strict=False):
                        file.write(f"{side}\n")
                else:
                    partner = {"partner": reason.partner} if reason.partner else {}
                    found = {"line": line, "rule": NAMES[reason.kind], **partner, **pair._asdict()}
                    files[2].write(json_text(found) + "\n")
        sums = {name: sha256_file(partial / name) for name in (*names, LEFT_OUT)}
        mark = {"format": CLEANED.format, "openwork": __version__, "sha256": sums}
        (partial / CLEANED.mark).write_text(json.dumps(mark, indent=1) + "\n", encoding="utf-8")
    left_out = Counter(reason.kind for reason in reasons.values())
    return Cleaned(len(pairs), len(pairs) - len(reasons), left_out, out)


def _reasons(
    pairs: Pairs, rules: Collection[FaultKind], languages: Languages | None, report: Report
) -> dict[int, Fault]:
    """The first reason against each pair that has one, by its line."""
    found: dict[int, Fault] = {}
    looks: tuple[tuple[str, Callable[[AnyPairs], Iterable[Fault]]], ...] = (
        (msg("each pair by itself"), _by_themselves),
        (msg("languages"), lambda left: language_faults(left, languages) if languages is not None else ()),
        (msg("lengths"), length_faults),
        (msg("repeats"), repeats),
        (msg("pairs that do not translate each other"), lambda left: pair_faults(left, ACTED_ON)),
    )
    for name, look in looks:
        report(msg(f"looking at: {name}"))
        kept = np.array([line not in found for line in range(1, len(pairs) + 1)])
        lines = np.flatnonzero(kept) + 1  # of the pairs that are left
        for fault in look(Pairs(partial(_of, pairs, kept), (len(lines),))):
            if fault.kind in rules:
                partner = int(lines[fault.partner - 1]) if fault.partner else 0
                found.setdefault(int(lines[fault.line - 1]), fault._replace(partner=partner))
    return found


def _of(pairs: Pairs, kept: NDArray[np.bool_]) -> Iterator[Pair]:
    return (pair for pair, stays in zip(pairs, kept, strict=True) if stays)


def _by_themselves(pairs: AnyPairs) -> Iterator[Fault]:
    for line, pair in enumerate(pairs, start=1):
        yield from text_faults(pair, line)
    yield from copies(pairs)
