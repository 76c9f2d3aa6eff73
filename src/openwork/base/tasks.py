"""The tasks of models, and the commands that use them."""

from typing import Any, Literal

from openwork.base.messages import msg

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


def first_use(settings: Any, bundle: str) -> str:
    """What to type to use a new bundle with these settings of its run."""
    model = settings.model
    if settings.series is not None:
        return msg(f"try: openwork forecast {bundle} FILE.csv")
    if getattr(model, "reads", "text") == "sounds":
        return msg(f"try: openwork transcribe {bundle} FILE.wav")
    if (task := task_of(model)) == "language-model":
        return msg(f"to go on from it: {COMMANDS[task]} {bundle}")
    return msg(f"try: echo 'some text' | {COMMANDS[task]} {bundle}")


def task_of(model: Any) -> Task:
    """The task in the settings of a model; \"generate\" if they name none."""
    return getattr(model, "task", "generate")
