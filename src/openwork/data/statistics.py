"""Figures of a corpus: sizes, lengths, repetitions and scripts, as JSON and as lines for a person.

Read once, as a stream; of each sentence eight bytes are kept (a hash), so that a corpus of many millions of pairs fits.
"""

import unicodedata
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

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


def nearest_rank(counts: Counter[int], percent: float) -> int:
    """The nearest-rank percentile of values, of which each occurs `counts` times; 0 if there are none."""
    rank = max(1, -(-sum(counts.values()) * percent // 100))
    for value in sorted(counts):
        rank -= counts[value]
        if rank <= 0:
            return value
    return 0


def _percentiles(counts: Counter[int]) -> dict[str, int]:
    return {f"p{percent}": nearest_rank(counts, percent) for percent in PERCENTILES}


class SentenceHashes:
    """Hashes of sentences, in their order (64 bits: of ten million, two agree by chance in 300,000 such corpora)."""

    def __init__(self) -> None:
        self._hashes = array("Q")

    def add(self, text: str) -> None:
        digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        self._hashes.append(int.from_bytes(digest, "little"))

    @property
    def repeated(self) -> int:
        """How many occurred before."""
        return len(self._hashes) - len(np.unique(self._as_array()))

    def among(self, others: "SentenceHashes") -> int:
        """How many of these occur among the others, each as often as it came."""
        return int(np.isin(self._as_array(), others._as_array()).sum())

    def _as_array(self) -> NDArray[np.uint64]:
        return np.frombuffer(self._hashes, np.uint64) if self._hashes else np.empty(0, np.uint64)


@dataclass
class SideStatistics:
    """One side of the pairs. White space separates words, so Chinese and Thai have hardly any."""

    empty: int = 0
    words: int = 0
    characters: int = 0
    lengths_in_words: Counter[int] = field(default_factory=Counter)
    lengths_in_characters: Counter[int] = field(default_factory=Counter)
    used: Counter[str] = field(default_factory=Counter)
    seen: SentenceHashes = field(default_factory=SentenceHashes)

    def add(self, text: str) -> None:
        """Count one sentence; a blank one counts as empty, with the characters that it has."""
        words = len(text.split())
        self.empty += words == 0
        self.words += words
        self.characters += len(text)
        self.lengths_in_words[words] += 1
        self.lengths_in_characters[len(text)] += 1
        self.used.update(text)
        self.seen.add(text)

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
            "empty": self.empty,
            "words": self.words,
            "characters": self.characters,
            "words_a_line": _percentiles(self.lengths_in_words),
            "characters_a_line": _percentiles(self.lengths_in_characters),
            "repeated": self.seen.repeated,
            "different_characters": len(self.used),
            "scripts": {script: round(share, 4) for script, share in self.scripts().items()},
        }

    def lines(self, name: str) -> list[str]:
        """For a person."""
        words, characters = (
            "/".join(f"{nearest_rank(lengths, percent):,}" for percent in PERCENTILES)
            for lengths in (self.lengths_in_words, self.lengths_in_characters)
        )
        scripts = AsIs(", ".join(f"{script} {share:.1%}" for script, share in self.scripts().items()))
        return [
            Joined(
                *("  ", name, ": "),
                f"{self.words:,} words, {self.characters:,} characters ({len(self.used):,} different), "
                f"{self.empty:,} empty, {self.seen.repeated:,} repeated",
                *("; ", "letters: ", scripts or "none"),
            ),
            msg(f"    a line, at 5/50/95/99/100 %: {words} words, {characters} characters"),
        ]


@dataclass
class CorpusStatistics:
    """A corpus, or one split of it. `ratios`: target characters per hundred source characters, of pairs with both."""

    pairs: int = 0
    source: SideStatistics = field(default_factory=SideStatistics)
    target: SideStatistics = field(default_factory=SideStatistics)
    identical: int = 0
    ratios: Counter[int] = field(default_factory=Counter)
    seen: SentenceHashes = field(default_factory=SentenceHashes)

    def add(self, pair: Pair) -> None:
        self.pairs += 1
        self.source.add(pair.source)
        self.target.add(pair.target)
        self.identical += pair.source == pair.target
        if pair.source and pair.target:
            self.ratios[round(100 * len(pair.target) / len(pair.source))] += 1
        self.seen.add(f"{pair.source}\n{pair.target}")  # no sentence holds a line end

    def values(self, report: FilterReport) -> dict[str, object]:
        """For JSON, with what the filters would leave out."""
        ratios = {name: percentile / 100 for name, percentile in _percentiles(self.ratios).items()}
        return {
            "pairs": self.pairs,
            "source": self.source.values(),
            "target": self.target.values(),
            "characters_per_source_character": ratios,
            "repeated_pairs": self.seen.repeated,
            "identical_sides": self.identical,
            "left_out_by_filters": {reason: dropped.count for reason, dropped in report.dropped.items()},
        }

    def lines(self, name: str, report: FilterReport) -> list[str]:
        """For a person."""
        low, middle, high = (nearest_rank(self.ratios, percent) / 100 for percent in (5, 50, 95))
        return [
            msg(f"{name}: {self.pairs:,} pairs"),
            *self.source.lines(msg("source")),
            *self.target.lines(msg("target")),
            msg(f"  target characters per source character: {middle:.2f} (5 to 95 %: {low:.2f} to {high:.2f})"),
            msg(f"  repeated pairs {self.seen.repeated:,}; both sides the same {self.identical:,}"),
            *(msg(f"  the filters would leave out: {line}") for line in report.lines()[1:]),
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
    """The measured splits by name, what the filters would leave out of each, and why splits are absent."""

    splits: dict[str, CorpusStatistics] = field(default_factory=dict)
    filters: dict[str, FilterReport] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, pairs: Iterator[Pair], filters: FilterSettings) -> None:
        """Measure one split, with all pairs, and what the filters would leave out."""
        statistics = CorpusStatistics()

        def counted() -> Iterator[Pair]:
            for pair in pairs:
                statistics.add(pair)
                yield pair

        kept, report = apply(counted(), filters)
        for _ in kept:
            pass
        self.splits[name], self.filters[name] = statistics, report

    def overlaps(self) -> Iterator[tuple[str, str, dict[str, int]]]:
        """(split, earlier split, how many of the one's sources, targets and pairs are also in the other)."""
        for earlier, later in combinations(self.splits, 2):
            one, other = self.splits[later], self.splits[earlier]
            sources = one.source.seen.among(other.source.seen)
            targets = one.target.seen.among(other.target.seen)
            yield later, earlier, {"sources": sources, "targets": targets, "pairs": one.seen.among(other.seen)}

    def values(self) -> dict[str, object]:
        """For JSON."""
        return {
            "splits": {name: split.values(self.filters[name]) for name, split in self.splits.items()},
            "overlap": [{"of": one, "in": other, **counts} for one, other, counts in self.overlaps()],
            "absent": self.absent,
        }

    def lines(self) -> list[str]:
        """For a person: a few lines a split, then the overlaps of two of them."""
        lines = [line for name, split in self.splits.items() for line in split.lines(name, self.filters[name])]
        for one, other, counts in self.overlaps():
            lines.append(
                msg(
                    f"of {one}, {counts['sources']:,} sources, {counts['targets']:,} targets and {counts['pairs']:,} "
                    f"pairs are also in {other}"
                )
            )
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
        found.add("train", training_pairs(data).read(), filters)
        if data.validation is not None:
            found.add("valid", source_of(data.validation, "valid", data.languages).read(), filters)
        return found
    for split in corpora.ROLES:
        try:
            found.add(split, corpora.load(data.corpus, split, folder), filters)
        except DataError as error:  # a corpus without this split is measured all the same
            if split == corpora.ROLES[0]:
                raise
            found.absent[split] = error.what
    return found
