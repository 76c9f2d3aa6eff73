"""The search that the settings ask for."""

from jaxtyping import Int
from torch import Tensor

from openwork.decoding.beam import beam_search
from openwork.decoding.greedy import greedy
from openwork.decoding.hypothesis import Hypothesis
from openwork.decoding.scoring import SYMBOLS, SymbolIds
from openwork.decoding.settings import DecodingSettings
from openwork.models.interfaces import StepModel


def search(
    model: StepModel,
    source: Int[Tensor, "batch source"],
    source_lengths: Int[Tensor, "batch"],
    settings: DecodingSettings,
    symbols: SymbolIds = SYMBOLS,
) -> list[list[Hypothesis]]:
    """Greedy search for a beam of one, beam search otherwise: for each sentence its hypotheses, best first."""
    strategy = greedy if settings.beam == 1 else beam_search
    return strategy(model, source, source_lengths, settings, symbols)
