"""How language models read a source: as a prompt that the target continues, in one row START, prompt, target, END.

    START  p1  p2  p3 | t1  t2  END        `start` reads START, p1 and p2 and keeps p3
    `advance` is given START t1 t2         and reads p3 t1 t2, which are followed by t1, t2 and END

The last token of the prompt, the pending one, replaces the START that begins every target, so that the first vector
already predicts the continuation. Without a prompt the pending token is START itself.

A model with `separate_prompt` reads START there too, after the whole prompt: START p1 p2 p3 START t1 t2. So it sees
where the prompt ends.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from openwork.base.symbols import SYMBOL_IDS
from openwork.nn.shapes import Lengths, Source, Tokens


@dataclass(frozen=True)
class Prompts:
    """START and prompts, with their padding on the left, so that all rows go on in the same column.

    Args:
        tokens: (rows, column), without the pending one.
        starts: (rows), the first column of each row that is not padding.
        pending: (rows), the token that is read in the place of the target's START.
    """

    tokens: Tensor
    starts: Tensor
    pending: Tensor


def read_prompts(source: Source, source_lengths: Lengths, *, marked: bool = False) -> Prompts:
    """Sources as prompts, without their ends. `marked`: START follows each prompt that is not empty."""
    begins = source.new_full((source.shape[0], 1), SYMBOL_IDS.start)
    row = torch.cat((begins, source), dim=1)  # START, prompt, end, padding
    lengths = (source_lengths - 1).clamp(min=0)  # of the prompts
    columns = max(source.shape[1] - 1, 0)
    if marked and columns:
        pending, read, columns = begins[:, 0], lengths + (lengths > 0), columns + 1
    else:
        pending, read = row.gather(1, lengths[:, None])[:, 0], lengths
    starts = columns - read
    places = torch.arange(columns, device=source.device) - starts[:, None]
    tokens = row.gather(1, places.clamp(min=0)).masked_fill(places < 0, SYMBOL_IDS.pad)
    return Prompts(tokens, starts, pending)


def in_place_of_start(tokens: Tokens, pending: Int[Tensor, "rows"] | None) -> Tokens:
    """The tokens with the pending one instead of the first; None: it was read already."""
    return tokens if pending is None else torch.cat((pending[:, None], tokens[:, 1:]), dim=1)
