"""Constraints of plain tokens."""

from collections.abc import Sequence

import torch

from openwork.decoding.constraints import REFUSED, Automaton, Phrase, matches


def required(*phrases: Phrase) -> tuple[tuple[Phrase, ...], ...]:
    """Each of the phrases, which is written in one way."""
    return tuple((phrase,) for phrase in phrases)


def forbidden(vocabulary: int, *phrases: Phrase) -> tuple[Automaton, ...]:
    """None of the phrases."""
    return tuple(phrase_automaton(phrase, vocabulary) for phrase in phrases)


def phrase_automaton(phrase: Sequence[int], vocabulary: int) -> Automaton:
    """Refuses the phrase as consecutive tokens."""
    table = torch.zeros(len(phrase), vocabulary, dtype=torch.int64)
    for state, steps in enumerate(matches(phrase)):
        for token, after in steps.items():
            table[state, token] = REFUSED if after == len(phrase) else after
    return Automaton(table)
