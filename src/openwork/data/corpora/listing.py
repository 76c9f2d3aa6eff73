"""Every corpus that has a name: what it is, how much there is, where it lies or could be had. No torch here."""

from dataclasses import asdict, dataclass
from pathlib import Path

from openwork.base.phrases import AsIs, Joined, Padded, shown_width
from openwork.data.corpora import catalogue as corpora


@dataclass(frozen=True)
class Entry:
    """One corpus. `pairs`: by split, None where it is not known beforehand; `found`: empty if it is not here."""

    name: str
    languages: list[str]
    pairs: dict[str, int | None]
    found: str
    origin: str
    terms: str

    def to_json(self) -> dict[str, object]:
        return asdict(self)


def list_corpora(folder: Path | None = None) -> list[Entry]:
    """All of them, in the order of the table; `folder` is looked in before OPENWORK_DATA."""
    return [
        Entry(
            name,
            list(corpus.languages),
            dict(zip(corpora.ROLES, corpus.pairs, strict=True)),
            corpus.found(folder),
            corpus.origin,
            corpus.terms,
        )
        for name, corpus in corpora.CORPORA.items()
    ]


def table_lines(entries: list[Entry]) -> list[str]:
    """One line a corpus: name, pairs of each split, where it is; and one for the terms of each family."""
    rows: list[tuple[str, ...]] = [("corpus", *map(AsIs, corpora.ROLES), "where")]
    for entry in entries:
        counts = ("?" if count is None else f"{count:,}" for count in entry.pairs.values())
        rows.append((AsIs(entry.name), *counts, entry.found or Joined("not here", "; ", entry.origin)))
    widths = [max(shown_width(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    return [
        *(_row(row, widths) for row in rows),
        "",
        *dict.fromkeys(Joined(AsIs(_family(entry.name)), ": ", entry.terms) for entry in entries),
    ]


def _row(cells: tuple[str, ...], widths: list[int]) -> str:
    """A line of the table: the name, the counts, and the last cell as long as it is."""
    aligned = [Padded(cell, width, right=at > 0) for at, (cell, width) in enumerate(zip(cells, widths, strict=False))]
    return Joined(*(part for cell in aligned for part in (cell, "  ")), cells[-1])


def _family(name: str) -> str:
    """tatoeba of tatoeba-en-de: whose directions have the same terms."""
    return name.rsplit("-", 2)[0]
