"""The tasks of models, and the commands that use them."""

from typing import Any, Literal

Task = Literal["generate", "classify", "tag", "answer", "fill", "language-model", "embed"]

LABELLING: tuple[Task, ...] = ("classify", "tag", "answer")
"""Tasks whose targets are labels, scored by `openwork evaluate` and the validation."""

Measured = Task | Literal["texts", "next"]
"""How lines are scored: as labels of a task, as texts by ROUGE and exact match, or as names that may come next."""

MEASURED: tuple[Measured, ...] = (*LABELLING, "texts", "next")

COMMANDS: dict[Task, str] = {
    "generate": "openwork translate",
    "classify": "openwork classify",
    "tag": "openwork tag",
    "fill": "openwork fill",
    "answer": "openwork answer",
    "language-model": "openwork train --from-bundle",
    "embed": "openwork info",
}
"""The command for a bundle of each task."""


def task_of(model: Any) -> Task:
    """The task in the settings of a model; \"generate\" if they name none."""
    return getattr(model, "task", "generate")
