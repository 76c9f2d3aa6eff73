"""Every corpus that has a name: what it is, how much there is, where it lies or could be had. No torch here."""

from dataclasses import asdict, dataclass
from pathlib import Path

from openwork.data import corpora


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


def table(entries: list[Entry]) -> list[str]:
    """One line a corpus: name, pairs of each split, where it is; and one for the terms of each family."""
    rows = [["corpus", *corpora.ROLES, "where"]]
    for entry in entries:
        counts = ("?" if count is None else f"{count:,}" for count in entry.pairs.values())
        rows.append([entry.name, *counts, entry.found or f"not here; {entry.origin}"])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    lines = [
        "  ".join([row[0].ljust(widths[0]), *(row[at].rjust(widths[at]) for at in (1, 2, 3)), row[4]]) for row in rows
    ]
    return [*lines, "", *dict.fromkeys(f"{_family(entry.name)}: {entry.terms}" for entry in entries)]


def _family(name: str) -> str:
    """tatoeba of tatoeba-en-de: whose directions have the same terms."""
    return name.rsplit("-", 2)[0]
