"""What can be asked for of the paper, by name: a light list, so that showing it computes nothing. No torch here."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from openwork.base.errors import UsageError
from openwork.base.messages import msg, nearest
from openwork.base.phrases import AsIs, Joined, Padded

SCHEMA = 1  # of `contents_values`; a change that readers must know of raises it
PAPER = "Vaswani et al. 2017"


class Listed(NamedTuple):
    """One object: how it is asked for, what it is, and its section of the paper.

    `number` is the paper's; formulas that have none have a name of ours, and the settings of the training nothing.
    """

    kind: str
    number: str
    title: str
    section: str

    @property
    def name(self) -> str:
        """What is typed after `openwork paper`: "eq 1", "training"."""
        return f"{self.kind} {self.number}".strip()


GROUPS = {
    "eq": msg("Equations"),
    "formula": msg("Formulas without a number"),
    "figure": msg("Figures"),
    "table": msg("Tables"),
    "training": msg("Training"),
}
CONTENTS = (
    Listed("eq", "1", "Scaled dot-product attention", "3.2.1"),
    Listed("eq", "2", "The feed-forward network of each position", "3.3"),
    Listed("eq", "3", "The learning rate", "5.3"),
    Listed("formula", "residual", "A residual connection, then layer norm", "3.1"),
    Listed("formula", "multi-head", "Multi-head attention", "3.2.2"),
    Listed("formula", "mask", "No position sees a later one", "3.2.3"),
    Listed("formula", "embedding", "Embeddings, their factor and the output matrix", "3.4"),
    Listed("formula", "positions", "Sinusoidal positions", "3.5"),
    Listed("formula", "label-smoothing", "Label smoothing", "5.4"),
    Listed("formula", "averaging", "The mean of several checkpoints", "6.1"),
    Listed("formula", "length-penalty", "The length penalty of the beam search", "6.1"),
    Listed("formula", "bleu", "BLEU, the score of the translations", "6.1"),
    Listed("figure", "1", "The whole model", "3.1"),
    Listed("figure", "2", "Attention, and several heads of it", "3.2"),
    Listed("table", "1", "Operations, serial steps and path length of types of layer", "4"),
    Listed("table", "2", "BLEU and operations of the training, beside earlier systems", "6.1"),
    Listed("table", "3", "Variations of the model", "6.2"),
    Listed("table", "4", "Parsing English sentences", "6.3"),
    Listed("training", "", "Data, machine, optimiser, regularisation and search", "5"),
)


def find_listed(kind: str, number: str | None) -> list[Listed]:
    """The object of that name; without a number all of that kind. UsageError: there is none."""
    of_kind = [one for one in CONTENTS if one.kind == kind]
    if not of_kind:
        raise UsageError(
            f"nothing of the paper is called {kind}",
            hint=nearest(kind, GROUPS) or "openwork paper lists what can be asked for",
            code="U059",
        )
    if number is None:
        return of_kind
    found = [one for one in of_kind if one.number == number]
    if not found and kind == "figure" and number in ("3", "4", "5"):
        raise UsageError(
            f"figure {number} of the paper shows attention weights of the authors' own model",
            hint='those of yours: openwork explain DIR "SENTENCE" --html FILE',
            code="U060",
        )
    if not found:
        raise UsageError(
            f"openwork paper has no {kind} {number}",
            hint=f"there are: {', '.join(one.name for one in of_kind)}",
            code="U061",
        )
    return found


def contents_lines(objects: list[Listed]) -> Iterator[str]:
    """The objects under the heading of their kind, with titles and sections."""
    width = max(len(one.name) for one in objects)
    for kind, heading in GROUPS.items():
        own = [one for one in objects if one.kind == kind]
        if own:
            yield heading
            for one in own:
                yield Joined(AsIs(f"  {Padded(one.name, width)}  "), one.title, " (", f"section {one.section}", ")")
            yield ""
    yield msg("openwork paper NAME shows one: its formula, our code for it, the tests that hold it, and its numbers.")


def contents_values(objects: list[Listed]) -> dict[str, Any]:
    return {"schema": SCHEMA, "objects": [{"name": one.name, **one._asdict()} for one in objects]}
