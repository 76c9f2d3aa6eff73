"""The figures of a corpus as JSON and as lines for a person. No torch here."""

from openwork.base.phrases import AsIs, Joined
from openwork.data.filters import FilterReport
from openwork.data.measure import MeasuredSplits
from openwork.data.statistics import PERCENTILES, CorpusStatistics, SideStatistics, nearest_rank


def as_values(found: MeasuredSplits) -> dict[str, object]:
    """For JSON; lengths by percentile, the hundredth being the longest."""
    return {
        "splits": {name: _split_values(statistics, found.filters[name]) for name, statistics in found.splits.items()},
        "overlap": [{"of": one, "in": other, **counts} for one, other, counts in found.overlaps()],
        "absent": found.absent,
    }


def _split_values(statistics: CorpusStatistics, report: FilterReport) -> dict[str, object]:
    return {
        "pairs": statistics.pairs,
        "source": _side_values(statistics.source),
        "target": _side_values(statistics.target),
        "characters_per_source_character": {
            f"p{percent}": nearest_rank(statistics.ratios, percent) / 100 for percent in PERCENTILES
        },
        "repeated_pairs": statistics.seen.repeated,
        "identical_sides": statistics.identical,
        "left_out_by_filters": {reason: dropped.count for reason, dropped in report.dropped.items()},
    }


def _side_values(side: SideStatistics) -> dict[str, object]:
    return {
        "empty": side.empty,
        "words": side.words,
        "characters": side.characters,
        "words_a_line": {f"p{percent}": nearest_rank(side.lengths_in_words, percent) for percent in PERCENTILES},
        "characters_a_line": {
            f"p{percent}": nearest_rank(side.lengths_in_characters, percent) for percent in PERCENTILES
        },
        "repeated": side.seen.repeated,
        "different_characters": len(side.used),
        "scripts": {script: round(share, 4) for script, share in side.scripts().items()},
    }


def as_lines(found: MeasuredSplits) -> list[str]:
    """For a person: a few lines a split, then what stands in two of them."""
    lines: list[str] = []
    for name, statistics in found.splits.items():
        lines += [f"{name}: {statistics.pairs:,} pairs", *_side_lines("source", statistics.source)]
        lines += _side_lines("target", statistics.target)
        low, middle, high = (nearest_rank(statistics.ratios, percent) / 100 for percent in (5, 50, 95))
        lines.append(f"  target characters per source character: {middle:.2f} (5 to 95 %: {low:.2f} to {high:.2f})")
        lines.append(f"  repeated pairs {statistics.seen.repeated:,}; both sides the same {statistics.identical:,}")
        lines += [f"  the filters would leave out: {line}" for line in found.filters[name].lines()[1:]]
    for one, other, counts in found.overlaps():
        lines.append(
            f"of {one}, {counts['sources']:,} sources, {counts['targets']:,} targets and {counts['pairs']:,} pairs "
            f"stand in {other} too"
        )
    return lines + [f"{split}: not measured ({reason})" for split, reason in found.absent.items()]


def _side_lines(name: str, side: SideStatistics) -> list[str]:
    words, characters = (
        "/".join(f"{nearest_rank(lengths, percent):,}" for percent in PERCENTILES)
        for lengths in (side.lengths_in_words, side.lengths_in_characters)
    )
    scripts = AsIs(", ".join(f"{script} {share:.1%}" for script, share in side.scripts().items()))
    return [
        Joined(
            *("  ", name, ": "),
            f"{side.words:,} words, {side.characters:,} characters ({len(side.used):,} different), "
            f"{side.empty:,} empty, {side.seen.repeated:,} repeated",
            *("; ", "letters: ", scripts or "none"),
        ),
        f"    a line, at 5/50/95/99/100 %: {words} words, {characters} characters",
    ]
