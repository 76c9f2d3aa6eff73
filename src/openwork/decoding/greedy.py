"""Greedy search: always the most probable next token."""

from collections.abc import Sequence

from jaxtyping import Int
from torch import Tensor

from openwork.decoding.hypothesis import Hypothesis
from openwork.decoding.left_to_right import Listener, write
from openwork.decoding.rules import Rule
from openwork.decoding.scoring import most_probable_tokens
from openwork.decoding.settings import DecodingSettings
from openwork.models.interfaces import StepModel
from openwork.text.symbols import SYMBOL_IDS, SymbolIds


def greedy(
    model: StepModel,
    source: Int[Tensor, "batch source"],
    source_lengths: Int[Tensor, "batch"],
    settings: DecodingSettings,
    symbols: SymbolIds = SYMBOL_IDS,
    rules: Sequence[Rule] = (),
    listener: Listener | None = None,
) -> list[list[Hypothesis]]:
    """One hypothesis for each sentence, found token by token; the same as a beam of one.

    Of equally probable tokens the one with the lower id is taken.
    """
    return write(model, source, source_lengths, settings, symbols, most_probable, rules, listener)


def most_probable(scores: Tensor, sentences: Tensor, place: int) -> tuple[Tensor, Tensor]:
    """The token with the highest score of each row, the first of equals."""
    return most_probable_tokens(scores)
