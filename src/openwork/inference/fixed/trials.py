"""Trials of the kernels of a step, beside the framework's operations, on a device and with a model's sizes."""

import torch
from torch import Tensor

from openwork.base.symbols import SYMBOL_IDS
from openwork.decoding.fixed.beam import FixedBeamSearch
from openwork.decoding.fixed.greedy import FixedGreedySearch
from openwork.decoding.fixed.search import FixedSearch, advance_until_done
from openwork.decoding.settings import DecodingSettings
from openwork.inference.fixed.sizes import FixedSizes
from openwork.inference.fixed.transformer import FixedTransformer
from openwork.inference.fixed.weights import FixedWeights
from openwork.nn.kernels import gpu

SENTENCES, STEPS = 4, 9
LENGTHS = (5, 2, 7, 1)


def step_is_right(weights: FixedWeights, beam: int) -> bool:
    """Whether the attention of a step by our kernels is that of the framework."""
    kernel = ("step", weights.memory.widths[0] // weights.memory.heads, beam)
    return gpu.is_right(weights.device, kernel, lambda: step_difference(weights, beam))


def choice_is_right(vocabulary: int, beam: int, device: torch.device) -> bool:
    """Whether our kernels choose what the framework's operations choose."""
    return gpu.is_right(device, ("choice", vocabulary, beam), lambda: choice_difference(vocabulary, beam, device))


def step_difference(weights: FixedWeights, beam: int) -> float:
    """The largest difference of some steps' logits, as a share of the largest logit."""
    device, rows, found = weights.device, SENTENCES * beam, list[Tensor]()
    source = drawn(max(LENGTHS), SENTENCES, most=weights.model.source_embedding.pieces).t()
    first = torch.arange(0, rows, beam)[:, None]
    for has_kernels in (False, True):
        model = FixedTransformer(weights, FixedSizes(SENTENCES, beam, 16, 32))
        model.has_kernels = has_kernels
        model.start(source, torch.tensor(LENGTHS))
        tokens = drawn(STEPS, rows, most=weights.vocabulary)
        places = drawn(STEPS, SENTENCES, beam, most=beam, least=0)
        for position in range(STEPS):
            parents = (places[position] + first).flatten().to(device) if beam > 1 and position else None
            found.append(model.step(tokens[position].to(device), parents, torch.tensor(position, device=device)))
    expected, last = found[STEPS - 1].double(), found[-1].double()
    difference = float((last - expected).abs().max() / expected.abs().max())
    return difference if difference == difference else float("inf")


def choice_difference(vocabulary: int, beam: int, device: torch.device) -> float:
    """0 where the hypotheses of both ways have the same tokens, else infinite."""
    settings, found = DecodingSettings(beam=beam), []
    for has_kernels in (False, True):
        model = LogitTable(vocabulary, beam, device)
        search: FixedSearch = (FixedGreedySearch if beam == 1 else FixedBeamSearch)(model, settings)
        search.has_kernels = has_kernels
        search.start(torch.tensor([STEPS, 2, STEPS - 1]))
        advance_until_done(search, search.advance, STEPS)
        found.append([[one.tokens for one in best] for best in search.results()])
    return 0.0 if found[0] == found[1] else float("inf")


def drawn(*sizes: int, most: int, least: int = SYMBOL_IDS.end + 1) -> Tensor:
    """Whole numbers from `least` to before `most`."""
    return torch.randint(min(least, most - 1), most, sizes, generator=torch.Generator().manual_seed(sum(sizes)))


class LogitTable:
    """A model whose logits depend on the row and the position alone."""

    sentences, capacity = SENTENCES, STEPS

    def __init__(self, vocabulary: int, beam: int, device: torch.device) -> None:
        self.vocabulary, self.beam, self.device = vocabulary, beam, device
        generator = torch.Generator().manual_seed(vocabulary + beam)
        table = 3 * torch.randn(STEPS, SENTENCES * beam, vocabulary, generator=generator)
        table[:, ::3, SYMBOL_IDS.end] = table.amax() - 1.0  # so that some hypotheses end
        self.table = table.to(device)

    def step(self, tokens: Tensor, parents: Tensor | None, position: Tensor) -> Tensor:
        return self.table.index_select(0, position.view(1)).squeeze(0)
