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


def command_for(settings: Any) -> str:
    """The command that uses a bundle with these settings of a run or bundle."""
    if settings.series is not None:
        return "openwork forecast"
    reads, task = getattr(settings.model, "reads", "text"), task_of(settings.model)
    if task == "generate" and reads != "text":
        return "openwork transcribe" if reads == "sounds" else "openwork caption"
    return COMMANDS[task]


def first_use(settings: Any, bundle: str) -> str:
    """What to type to use a new bundle with these settings of its run."""
    command, reads = command_for(settings), getattr(settings.model, "reads", "text")
    if settings.series is not None:
        return msg(f"try: {command} {bundle} FILE.csv")
    if reads == "sounds":
        return msg(f"try: {command} {bundle} FILE.wav")
    if reads == "pictures":
        return msg(f"try: ls *.png | {command} {bundle}")
    if task_of(settings.model) == "language-model":
        return msg(f"to go on from it: {command} {bundle}")
    return msg(f"try: echo 'some text' | {command} {bundle}")


def task_of(model: Any) -> Task:
    """The task in the settings of a model; \"generate\" if they name none."""
    return getattr(model, "task", "generate")
