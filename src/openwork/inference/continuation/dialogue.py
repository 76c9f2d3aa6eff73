"""Dialogues as the prompts of a language model. No torch here.

    <user> Hello. <assistant> Hi! <user> How are you? <assistant>

A dialogue is one line, each turn behind the mark of its speaker, so that each line of a training file can hold one.
"""

from dataclasses import dataclass, field

from openwork.data.corpora.dialogues import ASSISTANT, USER


@dataclass
class Dialogue:
    """The dialogue so far, after an instruction."""

    instruction: str = ""
    turns: list[str] = field(default_factory=list)

    def prompt(self, text: str) -> str:
        """The dialogue with a new turn of the user, up to the mark before the reply."""
        self.turns.append(f"{USER} {unmarked(text)}")
        return " ".join([*([self.instruction] if self.instruction else []), *self.turns, ASSISTANT])

    def add_reply(self, text: str) -> None:
        self.turns.append(f"{ASSISTANT} {text}")

    def reset(self) -> None:
        self.turns.clear()


def unmarked(text: str) -> str:
    """The text without marks of speakers, so that nobody can speak for another."""
    for mark in (USER, ASSISTANT):
        text = text.replace(mark, mark.replace("<", "< "))
    return text
