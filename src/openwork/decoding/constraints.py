"""What the target of one sentence must and must not hold, in token ids.

Targets that break a constraint are never proposed; the others keep the probabilities that the model gives them, so
a constrained search looks for the best target among those that are allowed.
"""

from dataclasses import dataclass

from openwork.decoding.automaton import Automaton

Phrase = tuple[int, ...]


@dataclass(frozen=True)
class AnyOf:
    """Several ways to write the same: one of them is enough. One that begins with the start symbol opens the target."""

    phrases: tuple[Phrase, ...]


@dataclass(frozen=True)
class SentenceConstraints:
    """The constraints on the target of one sentence.

    prefix: the tokens that the target begins with.
    required: phrases, each of which appears somewhere as consecutive tokens; they may share tokens.
    forbidden: phrases that never appear as consecutive tokens, or automata that refuse them.
    """

    prefix: Phrase = ()
    required: tuple[Phrase | AnyOf, ...] = ()
    forbidden: tuple[Phrase | Automaton, ...] = ()


UNCONSTRAINED = SentenceConstraints()
