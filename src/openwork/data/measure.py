"""Figures of a corpus, split by split, and how much of one split is also in another. No torch here."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path

from openwork.base.config import Layer, Settings, apply_assignments, build, read_run
from openwork.base.errors import DataError
from openwork.data.corpora import catalogue as corpora
from openwork.data.filters import FilterReport, FilterSettings, apply
from openwork.data.pairs import training_pairs
from openwork.data.records import Pair
from openwork.data.settings import DataSettings
from openwork.data.sources import source_of
from openwork.data.statistics import CorpusStatistics


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
        """(split, earlier split, how many of the one's sources, targets and pairs stand in the other)."""
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
                f"of {one}, {counts['sources']:,} sources, {counts['targets']:,} targets and {counts['pairs']:,} pairs "
                f"stand in {other} too"
            )
        return lines + [f"{split}: not measured ({reason})" for split, reason in self.absent.items()]


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
