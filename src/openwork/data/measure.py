"""What a corpus is like, split by split, and how much of one split stands in another. No torch here."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path

from openwork.base.config import Layer, Settings, apply_assignments, build, read_run
from openwork.base.errors import DataError
from openwork.data.corpora import catalogue as corpora
from openwork.data.filters import FilterReport, FilterSettings, apply
from openwork.data.pairs import training_pairs
from openwork.data.records import Languages, Pair
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
        """Measure one split; the filters are asked, but leave nothing out."""
        statistics = CorpusStatistics()
        kept, report = apply(_counted(pairs, statistics), filters)
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


def _counted(pairs: Iterator[Pair], statistics: CorpusStatistics) -> Iterator[Pair]:
    for pair in pairs:
        statistics.add(pair)
        yield pair


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
            corpora.find(what)  # a wrong name is told as such, with the nearest
            given["corpus"] = what
        else:
            given["file"] = what
    layer = read_run(run_file, assignments, {"data": given})
    values = {key: value for key, value in layer.mapping.items() if key in _Sections.model_fields}
    sections = build(_Sections, values, layer.origins)
    if sections.data.corpus is not None:
        return measure_corpus(sections.data.corpus, folder, sections.filters)
    return _measure_files(sections.data, sections.filters)


def _measure_files(data: DataSettings, filters: FilterSettings) -> MeasuredSplits:
    found = MeasuredSplits()
    found.add("train", training_pairs(data).read(), filters)
    if data.validation is not None:
        languages = Languages(data.source_language, data.target_language)
        found.add("valid", source_of(data.validation, "valid", languages).read(), filters)
    return found


def measure_corpus(name: str, folder: Path | None, filters: FilterSettings) -> MeasuredSplits:
    """All splits of a corpus; one that is not to be had is told, unless it is the first."""
    found = MeasuredSplits()
    for split in corpora.ROLES:
        try:
            found.add(split, corpora.load(name, split, folder), filters)
        except DataError as error:
            if not found.splits:
                raise
            found.absent[split] = error.what
    return found
