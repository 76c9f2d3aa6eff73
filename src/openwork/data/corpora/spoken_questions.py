"""The built-in corpora `spoken-questions` and `spoken-tasks`: a spoken digit, an instruction, and what it asks for.

`spoken-questions`: the sounds are those of `spoken-digits`, with all speakers. The instruction is "once" (write the
digit), "twice" (write it twice), or "then" or "after" and a digit: "after two" of a spoken seven is "two seven". No
pair of a digit and an instruction is in two splits, and no recording that is learnt is heard in the others.

`spoken-tasks` has each recording twice: to "transcribe" it, in English as it is spoken, and to "translate" it into
German. One speaker is held out.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

from openwork.data.corpora import spoken_digits
from openwork.data.corpora.corpus import NamedCorpus, check_split
from openwork.data.corpora.spoken_digits import HELD_OUT, WORDS
from openwork.data.records import Pair

NAME, TASKS, EACH = "spoken-questions", "spoken-tasks", 2  # instructions of each recording
GERMAN = ("null", "eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun")
INSTRUCTIONS = ("once", "twice", *(f"{place} {word}" for place in ("then", "after") for word in WORDS))


def answer(digit: str, instruction: str) -> str:
    """What is to be written of a spoken digit."""
    match instruction.split():
        case ["once"]:
            return digit
        case ["twice"]:
            return f"{digit} {digit}"
        case ["then", other]:
            return f"{digit} {other}"
        case ["after", other]:
            return f"{other} {digit}"
    raise ValueError(f"no instruction: {instruction}")


def asked_in(split: str, digit: str) -> list[str]:
    """The instructions for a digit in a split: of 22, two each to validate and to test with."""
    shares = {0: "test", 5: "valid"}
    places = enumerate(INSTRUCTIONS, start=WORDS.index(digit))
    return [one for place, one in places if shares.get(place % 11, "train") == split]


def read(split: str, folder: Path | None) -> Iterator[Pair]:
    """Each recording's path and instruction, and the answer; digit by digit, in an order that is always the same."""
    check_split(split)
    takes = range(HELD_OUT, spoken_digits.TAKES) if split == "train" else range(HELD_OUT)
    random = Random(f"{NAME} {split}")
    for path, word in spoken_digits.recordings(takes, folder):
        for instruction in random.sample(asked_in(split, word), EACH):
            yield Pair(f"{path}\t{instruction}", answer(word, instruction))


def read_tasks(split: str, folder: Path | None) -> Iterator[Pair]:
    """Each recording's path and task, and the digit in the language of the task."""
    for path, word in spoken_digits.read(split, folder, spoken_digits.SPEAKERS[0]):
        yield Pair(f"{path}\ttranscribe", word)
        yield Pair(f"{path}\ttranslate", GERMAN[WORDS.index(word)])


def _corpus(read_pairs: Callable[[str, Path | None], Iterator[Pair]]) -> NamedCorpus:
    return NamedCorpus(
        spoken_digits.TERMS,
        spoken_digits.ORIGIN,
        read_pairs,
        found=spoken_digits.found,
        fetch=lambda folder, progress: spoken_digits.fetch(folder),
    )


CORPORA = {NAME: _corpus(read), TASKS: _corpus(read_tasks)}
