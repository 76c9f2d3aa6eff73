"""Table 3 of the paper: the number of weights of each row, counted and as the paper states it. No torch here."""

from dataclasses import dataclass
from typing import Any

from openwork.base.messages import msg
from openwork.base.phrases import AsIs, Joined, Padded, shown_width
from openwork.cost.cost import Cost, cost_of
from openwork.models.families import model_settings
from openwork.models.presets import PRESETS, ROWS, Row

VOCABULARY = 37_000  # section 5.1: about so many pieces, shared
NEARER = 41_000  # the vocabulary with which the counts agree with the paper's column
HEAD = ("row", "preset", "weights", "paper", "difference", f"at {NEARER:,}", "difference", "MFLOP", "PPL", "BLEU")


@dataclass(frozen=True)
class CountedRow:
    """A row with its weights at both vocabularies, and its cost at the paper's vocabulary."""

    row: Row
    weights: int
    nearer: int
    cost: Cost

    @property
    def difference(self) -> float | None:
        """Difference from the paper in millions of weights, at the paper's vocabulary."""
        return self._from_the_papers(self.weights)

    @property
    def nearer_difference(self) -> float | None:
        """Difference from the paper at a vocabulary of 41,000."""
        return self._from_the_papers(self.nearer)

    @property
    def agrees(self) -> bool | None:
        """Whether the count at 41,000 rounds to the paper's millions."""
        return None if self.row.millions is None else round(self.nearer / 1e6) == self.row.millions

    @property
    def note(self) -> str:
        """The settings that the row changes."""
        changes = {f"model.{key}": value for key, value in self.row.changes.items()}
        changes |= {f"training.{key}": value for key, value in self.row.training.items()}
        return ", ".join(f"{key} = {value}" for key, value in changes.items())

    def _from_the_papers(self, weights: int) -> float | None:
        return None if self.row.millions is None else round(weights / 1e6 - self.row.millions, 3)

    def to_json(self) -> dict[str, Any]:
        """The row as JSON values."""
        return {
            "row": self.row.name,
            "preset": self.row.preset,
            "changes": dict(self.row.changes),
            "training": dict(self.row.training),
            "weights": self.weights,
            "difference_millions": self.difference,
            "weights_at_41000": self.nearer,
            "difference_millions_at_41000": self.nearer_difference,
            "rounds_to_the_papers_at_41000": self.agrees,
            "forward_flops_per_target_token": self.cost.forward_flops,
            "paper": {"millions": self.row.millions, "perplexity": self.row.perplexity, "bleu": self.row.bleu},
        }


def count_table() -> list[CountedRow]:
    """All rows."""
    costs = [[cost_of(model_settings(PRESETS[row.preset]), size) for size in (VOCABULARY, NEARER)] for row in ROWS]
    return [CountedRow(row, one.weights, other.weights, one) for row, (one, other) in zip(ROWS, costs, strict=True)]


def table_lines(rows: list[CountedRow]) -> list[str]:
    """The table and a summary of its differences."""
    body = [
        (
            counted.row.name,
            counted.row.preset,
            f"{counted.weights:,}",
            "" if counted.row.millions is None else f"{counted.row.millions} M",
            _millions(counted.difference),
            f"{counted.nearer:,}",
            _millions(counted.nearer_difference),
            f"{counted.cost.forward_flops / 1e6:.1f}",
            f"{counted.row.perplexity:.2f}",
            f"{counted.row.bleu:.1f}",
            counted.note,
        )
        for counted in rows
    ]
    widths = [max(shown_width(row[column]) for row in (HEAD, *body)) for column in range(len(HEAD))]
    lines = [msg(f"The rows of the paper's table 3, counted at a vocabulary of {VOCABULARY:,}; empty: as the base.")]
    return [*lines, *(_row(row, widths) for row in (HEAD, *body)), "", *_conclusion_lines(rows)]


def _row(cells: tuple[str, ...], widths: list[int]) -> str:
    """A line of the table; the note after the last column is not padded."""
    aligned = [Padded(cell, width, right=at > 1) for at, (cell, width) in enumerate(zip(cells, widths, strict=False))]
    notes = [AsIs(note) for note in cells[len(widths) :] if note]
    return Joined(*[part for cell in (*aligned, *notes) for part in ("  ", cell)][1:])


def _conclusion_lines(rows: list[CountedRow]) -> list[str]:
    agreeing = sum(counted.agrees is True for counted in rows)
    stated = sum(counted.agrees is not None for counted in rows)
    lines = [
        msg(f"At a vocabulary of {NEARER:,}, {agreeing} of the {stated} rows with a figure round to the paper's. Not:")
    ]
    for counted in rows:
        if counted.agrees is False:
            less = f"{counted.nearer_difference:+.3f} M"
            lines.append(msg(f"  {counted.row.preset}: {counted.nearer:,} against {counted.row.millions} M, {less}"))
    lines.append(
        msg("MFLOP: million operations, forward, for a target token and its source. PPL and BLEU are the paper's.")
    )
    return lines


def _millions(difference: float | None) -> str:
    return "" if difference is None else f"{difference:+.2f} M"
