"""The built-in corpus `entities`: sentences whose persons, places and organisations are tagged, as BIO tags.

Templates are filled with generated names; places are the countries and territories of Unicode's CLDR, which Babel has.
Persons bear names of places ("Jordan Paris Hall"), and organisations names of both, so that a name alone does not tell
its kind. Its hash puts every whole name into one split: a tagger must know kinds by their surroundings.
"""

from collections.abc import Callable, Iterator
from functools import cache
from random import Random

from babel import Locale

from openwork.base.messages import msg
from openwork.data.corpora.corpus import check_split, split_of
from openwork.data.records import Pair

_FIRST = """
Ada Alan Austin Charlotte Chad Claude Dakota Edsger Emmy Florence Georgia Grace Hedy India Israel Jordan Katherine Kurt
Kenya Leslie Milan Noam Orlando Paris Rosalind Sofia Sydney Tony Victoria Virginia
"""
_LAST = """
Bell Berlin Cook Curie England Ford France Hall Holland Hopper Ireland Kay King London Marshall Morse Noether Norman
Park Rhodes Ritchie Rivers Scott Shannon Stone Turing Wales Washington West York
"""
_TRADES = "Airways Bank Brewery Institute Insurance Motors Press Railways Steel Telecom University"
FIRST, LAST, TRADES = _FIRST.split(), _LAST.split(), _TRADES.split()
TERMS = msg("generated, with names of Unicode CLDR (Unicode License v3)")
KINDS = {"{person}": "PER", "{place}": "LOC", "{company}": "ORG"}
TEMPLATES = tuple(
    line.split()
    for line in (
        "{person} was born in {place} .",
        "{person} left {company} after ten years and moved to {place} .",
        "{company} has opened an office in {place} .",
        "Shares of {company} fell , said {person} on Monday .",
        "In {place} , {person} met the board of {company} .",
        "{company} sells its ships to {place} and {place} .",
        "Who is {person} ?",
        "How far is it from {place} to {place} ?",
        "{person} and {person} founded {company} .",
        "The new head of {company} is {person} from {place} .",
        "Rain is expected in {place} today .",
        "{company} and {company} have agreed on a price .",
        "He wrote to {person} before he went to {place} .",
        "She works for {company} .",
    )
)


@cache
def places() -> tuple[str, ...]:
    """English names of countries and territories, in the order of their codes."""
    names = Locale("en").territories
    return tuple(names[code] for code in sorted(names) if code.isalpha() and "&" not in names[code])


def _person(random: Random) -> str:
    return " ".join((random.choice(FIRST), *random.choices(LAST, k=random.choice((1, 1, 2)))))


def _company(random: Random) -> str:
    match random.randrange(3):
        case 0:
            return f"{random.choice(LAST)} and {random.choice(LAST)}"
        case 1:
            return f"{random.choice(LAST)} {random.choice(TRADES)}"
    return f"{random.choice(TRADES)} of {random.choice(places())}"


MAKERS: dict[str, Callable[[Random], str]] = {
    "{person}": _person,
    "{place}": lambda random: random.choice(places()),
    "{company}": _company,
}


def generate(split: str, count: int, seed: int = 0) -> Iterator[Pair]:
    """`count` pairs of a sentence and a tag for each of its words.

    Deterministic in (split, seed), and a longer run begins with the pairs of a shorter one.
    """
    check_split(split)
    random = Random(f"entities {split} {seed}")
    for _ in range(count):
        words: list[str] = []
        tags: list[str] = []
        for word in random.choice(TEMPLATES):
            kind = KINDS.get(word)
            name = _of_split(MAKERS[word], random, split).split() if kind else [word]
            words += name
            tags += ["O"] if kind is None else [f"B-{kind}", *[f"I-{kind}"] * (len(name) - 1)]
        yield Pair(" ".join(words), " ".join(tags))


def _of_split(make: Callable[[Random], str], random: Random, split: str) -> str:
    """The first name whose hash belongs to the split."""
    while split_of(name := make(random)) != split:
        pass
    return name
