"""The tasks of models, and the commands that use them."""

from typing import Any, Literal

Task = Literal["generate", "classify", "tag", "answer", "fill", "language-model", "embed"]


LABELLING: tuple[Task, ...] = ("classify", "tag", "answer")
"""Those whose targets are labels: `openwork evaluate` and the validation score them."""


Measured = Task | Literal["texts"]
"""What lines are scored as: labels of a task, or texts of any kind, by ROUGE and as a whole."""


MEASURED: tuple[Measured, ...] = (*LABELLING, "texts")


COMMANDS: dict[Task, str] = {
    "generate": "openwork translate",
    "classify": "openwork classify",
    "tag": "openwork tag",
    "fill": "openwork fill",
    "answer": "openwork answer",
    "language-model": "openwork train --from-bundle",
    "embed": "openwork info",
}
"""What a bundle of each task is used with."""


def task_of(model: Any) -> Task:
    """The task that the settings of a model name; those that name none write their targets."""
    return getattr(model, "task", "generate")
