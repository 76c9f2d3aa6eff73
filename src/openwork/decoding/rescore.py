"""How probable given targets are: the score of a hypothesis by another way than the search's."""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from openwork.base.symbols import SYMBOL_IDS
from openwork.decoding.scoring import allow, best_tokens, log_normaliser
from openwork.models.interfaces import StepModel
from openwork.nn.masks import real
from openwork.nn.shapes import AnySource, Lengths


@torch.no_grad()
def score_tokens(
    model: StepModel,
    source: AnySource,
    source_lengths: Lengths,
    targets: Sequence[Sequence[int]],
    *,
    ended: bool = True,
) -> Float[Tensor, "batch position"]:
    """The log-probability in nats of each target's tokens, given the source and the tokens before; 0 behind the last.

    There is one target for each source: token ids without start and end symbol. With `ended` the end symbol's
    probability is included, as in a finished hypothesis; without it the sum is that of an unfinished one. The whole
    targets are one step of the model (teacher forcing). A forbidden symbol has log-probability minus infinity.
    """
    if len(targets) != source.shape[0]:
        raise ValueError(f"{len(targets)} targets for {source.shape[0]} sources")
    outputs = [[*target, SYMBOL_IDS.end] if ended else list(target) for target in targets]
    size = max(map(len, outputs), default=0)
    if size == 0:
        return torch.zeros(len(outputs), 0, device=source.device)
    lengths = torch.tensor([len(output) for output in outputs], device=source.device)
    padded = torch.tensor([o + [SYMBOL_IDS.pad] * (size - len(o)) for o in outputs], device=source.device)
    shifted = torch.cat([padded.new_full((len(outputs), 1), SYMBOL_IDS.start), padded[:, :-1]], dim=1)
    logits, _ = model.step(shifted, model.start(source, source_lengths))
    chosen = token_log_probabilities(logits, padded)
    return chosen.masked_fill(~real(lengths, size), 0.0)


def token_log_probabilities(
    logits: Float[Tensor, "batch position vocabulary"], tokens: Int[Tensor, "batch position"]
) -> Float[Tensor, "batch position"]:
    """log p(token) at each position, given that no forbidden symbol comes."""
    allowed = allow(logits)
    return (allowed.gather(-1, tokens[..., None]) - log_normaliser(allowed)).squeeze(-1)


@torch.no_grad()
def alternatives(
    model: StepModel,
    source: AnySource,
    source_lengths: Lengths,
    prefixes: Sequence[Sequence[int]],
    count: int,
) -> list[list[tuple[int, float]]]:
    """For each sentence the `count` most probable tokens after its prefix, each with its probability, best first.

    A prefix is tokens without the start symbol. The end symbol may be among the alternatives; tokens without any
    probability are left out.
    """
    if not prefixes:
        return []
    longest = max(map(len, prefixes))
    read = [[SYMBOL_IDS.start, *one, *[SYMBOL_IDS.pad] * (longest - len(one))] for one in prefixes]
    tokens = torch.tensor(read, device=source.device)
    logits, _ = model.step(tokens, model.start(source, source_lengths))
    last = torch.tensor([len(one) for one in prefixes], device=source.device)
    allowed = allow(logits[torch.arange(len(prefixes), device=source.device), last])
    values, best = best_tokens(allowed, count)
    probabilities = (values - log_normaliser(allowed)).exp()
    return [
        [(token, p) for token, p in zip(*row, strict=True) if p > 0]
        for row in zip(best.tolist(), probabilities.tolist(), strict=True)
    ]
