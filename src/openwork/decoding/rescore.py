"""How probable given targets are: the score of a hypothesis by another way than the search's."""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from openwork.base.symbols import SYMBOL_IDS, SymbolIds
from openwork.decoding.scoring import allow, best_tokens, log_normaliser
from openwork.models.interfaces import StepModel
from openwork.nn.masks import real
from openwork.nn.shapes import Lengths, Source


@torch.no_grad()
def score(
    model: StepModel,
    source: Source,
    source_lengths: Lengths,
    targets: Sequence[Sequence[int]],
    *,
    ended: bool = True,
    symbols: SymbolIds = SYMBOL_IDS,
) -> Float[Tensor, "batch"]:
    """log P(target | source) of one target for each source, in nats, without a length penalty.

    Targets are token ids without start and end symbol. With `ended` the end symbol's probability is included, as
    in a finished hypothesis; without it the result is that of an unfinished one. The whole targets are one step of
    the model (teacher forcing). A target with a forbidden symbol in it has log-probability minus infinity.
    """
    return score_tokens(model, source, source_lengths, targets, ended=ended, symbols=symbols).sum(-1)


@torch.no_grad()
def score_tokens(
    model: StepModel,
    source: Source,
    source_lengths: Lengths,
    targets: Sequence[Sequence[int]],
    *,
    ended: bool = True,
    symbols: SymbolIds = SYMBOL_IDS,
) -> Float[Tensor, "batch position"]:
    """The terms of `score`: the log-probability of each token given those before it, and 0 behind the last one."""
    if len(targets) != source.shape[0]:
        raise ValueError(f"{len(targets)} targets for {source.shape[0]} sources")
    outputs = [[*target, symbols.end] if ended else list(target) for target in targets]
    size = max(map(len, outputs), default=0)
    if size == 0:
        return torch.zeros(len(outputs), 0, device=source.device)
    lengths = torch.tensor([len(output) for output in outputs], device=source.device)
    padded = torch.tensor([o + [symbols.pad] * (size - len(o)) for o in outputs], dtype=source.dtype).to(source.device)
    shifted = torch.cat([padded.new_full((len(outputs), 1), symbols.start), padded[:, :-1]], dim=1)
    logits, _ = model.step(shifted, model.start(source, source_lengths))
    chosen = token_log_probabilities(logits, padded, symbols)
    return chosen.masked_fill(~real(lengths, size), 0.0)


def token_log_probabilities(
    logits: Float[Tensor, "batch position vocabulary"], tokens: Int[Tensor, "batch position"], symbols: SymbolIds
) -> Float[Tensor, "batch position"]:
    """log p(token) at each position, given that no forbidden symbol comes."""
    allowed = allow(logits, symbols)
    return (allowed.gather(-1, tokens[..., None]) - log_normaliser(allowed)).squeeze(-1)


@torch.no_grad()
def alternatives(
    model: StepModel,
    source: Source,
    source_lengths: Lengths,
    prefixes: Sequence[Sequence[int]],
    count: int,
    symbols: SymbolIds = SYMBOL_IDS,
) -> list[list[tuple[int, float]]]:
    """For each sentence the `count` most probable tokens after its prefix, each with its probability, best first.

    A prefix is tokens without the start symbol. The end symbol may be among the alternatives; tokens without any
    probability are left out.
    """
    if not prefixes:
        return []
    longest = max(map(len, prefixes))
    read = [[symbols.start, *one, *[symbols.pad] * (longest - len(one))] for one in prefixes]
    tokens = torch.tensor(read, dtype=source.dtype, device=source.device)
    logits, _ = model.step(tokens, model.start(source, source_lengths))
    last = torch.tensor([len(one) for one in prefixes], device=source.device)
    allowed = allow(logits[torch.arange(len(prefixes), device=source.device), last], symbols)
    values, best = best_tokens(allowed, count)
    probabilities = (values - log_normaliser(allowed)).exp()
    return [
        [(token, p) for token, p in zip(*row, strict=True) if p > 0]
        for row in zip(best.tolist(), probabilities.tolist(), strict=True)
    ]
