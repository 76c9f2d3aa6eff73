"""Greedy search: always the most probable next token."""

from collections.abc import Sequence

from torch import Tensor

from openwork.base.symbols import SYMBOL_IDS, SymbolIds
from openwork.decoding.hypothesis import Hypothesis
from openwork.decoding.left_to_right import Choose, ChooseByScores, OnToken, write
from openwork.decoding.rules import TokenRule
from openwork.decoding.scoring import best_continuations, choosing, most_probable_tokens
from openwork.decoding.settings import DecodingSettings
from openwork.models.interfaces import ChoosingModel, StepModel
from openwork.nn.shapes import Lengths, Logits, Source


def greedy_search(
    model: StepModel,
    source: Source,
    source_lengths: Lengths,
    settings: DecodingSettings,
    symbols: SymbolIds = SYMBOL_IDS,
    rules: Sequence[TokenRule] = (),
    on_token: OnToken | None = None,
) -> list[list[Hypothesis]]:
    """One hypothesis for each sentence, found token by token; the same as a beam of one.

    Of equally probable tokens the one with the lower id is taken.
    """
    chooser = None if rules else choosing(model)
    choose: Choose = BestOfModel(chooser, symbols) if chooser else ChooseByScores(symbols, rules, most_probable)
    return write(model, source, source_lengths, settings, symbols, choose, on_token)


class BestOfModel:
    """The most probable token as the model itself finds it; the first of equals."""

    def __init__(self, model: ChoosingModel, symbols: SymbolIds) -> None:
        self.model = model
        self.symbols = symbols

    def __call__(self, logits: Logits, sentences: Tensor, written: Tensor) -> tuple[Tensor, Tensor]:
        value, token = best_continuations(self.model, logits, self.symbols, 1)
        return value.squeeze(-1), token.squeeze(-1)


def most_probable(scores: Tensor, sentences: Tensor, place: int) -> tuple[Tensor, Tensor]:
    """The token with the highest score of each row, the first of equals."""
    return most_probable_tokens(scores)
