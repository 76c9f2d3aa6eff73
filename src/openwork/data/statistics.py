"""Figures of a corpus: sizes, lengths and scripts, as JSON and as lines for a person.

Read once, as a stream; counts alone are kept. Copies and leaks are for `openwork data check`, which names their lines.
"""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from openwork.base.config import Layer, Settings, apply_assignments, build, read_run
from openwork.base.errors import DataError
from openwork.base.messages import msg
from openwork.base.phrases import AsIs, Joined
from openwork.data.corpora import catalogue as corpora
from openwork.data.filters import FilterReport, FilterSettings, apply
from openwork.data.pairs import training_pairs
from openwork.data.records import Pair
from openwork.data.settings import DataSettings
from openwork.data.sources import source_of
from openwork.text.languages import script_of

PERCENTILES = (5, 50, 95, 99, 100)
_MOST_SCRIPTS = 6
_FEWEST_OF_A_SCRIPT = 0.0005  # of the letters; rarer scripts come from single foreign words


def percentiles(counts: Counter[int]) -> dict[str, int]:
    """The nearest-rank percentiles of values, of which each occurs `counts` times; zeros if there are none."""
    values, weights = list(counts) or [0], list(counts.values()) or [1]
    found = np.percentile(values, PERCENTILES, method="inverted_cdf", weights=weights).tolist()
    return {f"p{percent}": int(value) for percent, value in zip(PERCENTILES, found, strict=True)}


@dataclass
class SideStatistics:
    """One side of the pairs: how often each length and each character occurs, and the figures that follow.

    White space separates words, so Chinese and Thai have hardly any.
    """

    lengths_in_words: Counter[int] = field(default_factory=Counter)
    lengths_in_characters: Counter[int] = field(default_factory=Counter)
    used: Counter[str] = field(default_factory=Counter)

    def add(self, text: str) -> None:
        """Count one sentence; a blank one counts as empty, with the characters that it has."""
        self.lengths_in_words[len(text.split())] += 1
        self.lengths_in_characters[len(text)] += 1
        self.used.update(text)

    def scripts(self) -> dict[str, float]:
        """The share of each script in the letters, the commonest first."""
        letters: Counter[str] = Counter()
        for character, count in self.used.items():
            if unicodedata.category(character).startswith("L"):
                letters[script_of(character)] += count
        total = sum(letters.values())
        common = letters.most_common(_MOST_SCRIPTS)
        return {script: count / total for script, count in common if count >= _FEWEST_OF_A_SCRIPT * total}

    def values(self) -> dict[str, object]:
        """For JSON; lengths by percentile, the hundredth being the longest."""
        return {
            "empty": self.lengths_in_words[0],
            "words": sum(length * count for length, count in self.lengths_in_words.items()),
            "characters": self.used.total(),
            "words_a_line": percentiles(self.lengths_in_words),
            "characters_a_line": percentiles(self.lengths_in_characters),
            "different_characters": len(self.used),
            "scripts": {script: round(share, 4) for script, share in self.scripts().items()},
        }

    def lines(self, name: str) -> list[str]:
        values = self.values()
        words, characters = (
            "/".join(f"{value:,}" for value in percentiles(lengths).values())
            for lengths in (self.lengths_in_words, self.lengths_in_characters)
        )
        scripts = AsIs(", ".join(f"{script} {share:.1%}" for script, share in self.scripts().items()))
        return [
            Joined(
                *("  ", name, ": "),
                f"{values['words']:,} words, {values['characters']:,} characters "
                f"({values['different_characters']:,} different), {values['empty']:,} empty",
                *("; ", "letters: ", scripts or "none"),
            ),
            msg(f"    a line, at 5/50/95/99/100 %: {words} words, {characters} characters"),
        ]


@dataclass
class CorpusStatistics:
    """A corpus or split, and what filters leave out. `ratios`: target characters per 100 source characters."""

    filtered: FilterReport
    source: SideStatistics = field(default_factory=SideStatistics)
    target: SideStatistics = field(default_factory=SideStatistics)
    identical: int = 0
    ratios: Counter[int] = field(default_factory=Counter)

    @classmethod
    def of(cls, pairs: Iterable[Pair], filters: FilterSettings) -> "CorpusStatistics":
        """The figures of all pairs, also of those that the filters would leave out."""

        def counted() -> Iterator[Pair]:
            for pair in pairs:
                found.source.add(pair.source)
                found.target.add(pair.target)
                found.identical += pair.source == pair.target
                if pair.source and pair.target:
                    found.ratios[round(100 * len(pair.target) / len(pair.source))] += 1
                yield pair

        kept, report = apply(counted(), filters)
        found = cls(report)
        for _ in kept:
            pass
        return found

    @property
    def pairs(self) -> int:
        return self.filtered.kept + self.filtered.dropped_pairs

    def values(self) -> dict[str, object]:
        return {
            "pairs": self.pairs,
            "source": self.source.values(),
            "target": self.target.values(),
            "characters_per_source_character": {name: at / 100 for name, at in percentiles(self.ratios).items()},
            "identical_sides": self.identical,
            "left_out_by_filters": {reason: dropped.count for reason, dropped in self.filtered.dropped.items()},
        }

    def lines(self, name: str) -> list[str]:
        low, middle, high, *_ = (value / 100 for value in percentiles(self.ratios).values())
        return [
            msg(f"{name}: {self.pairs:,} pairs"),
            *self.source.lines(msg("source")),
            *self.target.lines(msg("target")),
            msg(f"  target characters per source character: {middle:.2f} (5 to 95 %: {low:.2f} to {high:.2f})"),
            msg(f"  pairs with both sides the same: {self.identical:,}"),
            *(msg(f"  the filters would leave out: {line}") for line in self.filtered.lines()[1:]),
        ]


class _FiltersSection(Settings):
    filters: FilterSettings = FilterSettings()


class _Sections(_FiltersSection):
    data: DataSettings


def filter_settings(assignments: Iterable[str]) -> FilterSettings:
    """The section [filters] alone, from assignments such as filters.maximum_ratio=3."""
    layer = apply_assignments(Layer(), assignments)
    return build(_FiltersSection, layer.mapping, layer.origins).filters


@dataclass
class MeasuredSplits:
    """The measured splits by name, and why splits are absent."""

    splits: dict[str, CorpusStatistics] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)

    def values(self) -> dict[str, object]:
        return {"splits": {name: split.values() for name, split in self.splits.items()}, "absent": self.absent}

    def lines(self) -> list[str]:
        lines = [line for name, split in self.splits.items() for line in split.lines(name)]
        return lines + [msg(f"{split}: not measured ({reason})") for split, reason in self.absent.items()]


def measure(
    what: str | None, given: Mapping[str, str], assignments: Iterable[str], folder: Path | None
) -> MeasuredSplits:
    """Measure a corpus by name, a file that holds both sides, or what the section [data] of a run file says.

    `what`: the name of a corpus, or the path of a file; a run file ends in .toml, and only its sections [data] and
    [filters] are read. `given`: keys of [data] that override the run file's.
    """
    run_file = Path(what) if what is not None and what.endswith(".toml") else None
    given = dict(given)
    if what is not None and run_file is None:
        if what in corpora.CORPORA or not Path(what).exists():
            corpora.find(what)  # the error for a wrong name has the nearest one
            given["corpus"] = what
        else:
            given["file"] = what
    layer = read_run(run_file, assignments, {"data": given})
    values = {key: value for key, value in layer.mapping.items() if key in _Sections.model_fields}
    sections = build(_Sections, values, layer.origins)
    data, filters, found = sections.data, sections.filters, MeasuredSplits()
    if data.corpus is None:
        found.splits["train"] = CorpusStatistics.of(training_pairs(data).read(), filters)
        if data.validation is not None:
            valid = source_of(data.validation, "valid", data.languages)
            found.splits["valid"] = CorpusStatistics.of(valid.read(), filters)
        return found
    for split in corpora.ROLES:
        try:
            found.splits[split] = CorpusStatistics.of(corpora.load(data.corpus, split, folder), filters)
        except DataError as error:  # a corpus without this split is measured all the same
            if split == corpora.ROLES[0]:
                raise
            found.absent[split] = error.what
    return found
