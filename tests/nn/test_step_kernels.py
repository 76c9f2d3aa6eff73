"""The kernels of a step of a search beside the formulas; on a CPU by Triton's interpreter, if TRITON_INTERPRET=1."""

import pytest
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from openwork.nn.kernels.gpu.choice import best_parts
from openwork.nn.kernels.gpu.step_attention import attend_to_past, attend_to_source

SENTENCES, HEADS = 3, 2
TOLERANCE = 3e-3


@pytest.fixture
def device(kernel_device: torch.device) -> torch.device:
    return kernel_device


def random(*sizes: int, device: torch.device) -> Tensor:
    return torch.randn(*sizes, dtype=torch.float16, device=device)


@pytest.mark.parametrize("width", [32, 64, 128])
@pytest.mark.parametrize("beam", [1, 4])
def test_rows_attend_to_what_they_have_read(beam: int, width: int, device: torch.device) -> None:
    """Rows continue others of their sentence; here each has its own copy of what it has read."""
    torch.manual_seed(beam + width)
    rows, capacity = SENTENCES * beam, 32
    keys = random(SENTENCES, HEADS, beam, capacity, width, device=device)  # what is not read may be anything
    values = torch.full_like(keys, torch.nan)
    own = torch.zeros(2, rows, HEADS, capacity, width, device=device)
    ancestors = torch.full((rows, capacity), -1, device=device)
    places = torch.arange(beam, device=device).repeat(SENTENCES)
    for position in range(20):
        made = random(rows, 4, HEADS, width, device=device) * width**-0.25  # wider than needed: rows have a step
        chosen = torch.randint(beam, (SENTENCES, beam), device=device) if position else places.view(SENTENCES, beam)
        parents = (chosen + torch.arange(0, rows, beam, device=device)[:, None]).flatten()
        own, ancestors = own[:, parents], ancestors[parents]
        own[:, :, :, position], ancestors[:, position] = made[:, 1:3].transpose(0, 1).float(), places
        given = made.flatten(1)[:, : 3 * HEADS * width]
        at = torch.tensor(position, device=device)
        found = attend_to_past(given, keys, values, None if beam == 1 else ancestors, at)
        read = own[:, :, :, : position + 1]
        expected = scaled_dot_product_attention(made[:, 0].float().unsqueeze(2), read[0], read[1], scale=1.0)
        torch.testing.assert_close(found.float(), expected.flatten(1), rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize("width", [32, 64, 128])
@pytest.mark.parametrize("beam", [1, 4, 17])
def test_rows_attend_to_their_source(beam: int, width: int, device: torch.device) -> None:
    torch.manual_seed(beam + width)
    lengths = torch.tensor([1, 16, 29], device=device)
    hidden = torch.arange(32, device=device) >= lengths[:, None]
    keys, values = random(2, SENTENCES, HEADS, 32, width, device=device)
    query = (random(SENTENCES, beam, 2 * HEADS, width, device=device) * width**-0.5)[:, :, :HEADS]
    mask = ~hidden[:, None, None]
    each = query.float().transpose(1, 2)
    expected = scaled_dot_product_attention(each, keys.float(), values.float(), attn_mask=mask, scale=1.0)
    values = values.masked_fill(hidden[:, None, :, None], torch.nan)  # what is not read may be anything
    found = attend_to_source(query.flatten(0, 1).flatten(1), keys, values, lengths)
    expected = expected.transpose(1, 2).reshape(found.shape)
    torch.testing.assert_close(found.float(), expected, rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize("count", [1, 6])
def test_the_best_of_each_part(count: int, device: torch.device) -> None:
    torch.manual_seed(count)
    logits = torch.randint(-9, 9, (3, 2500), device=device).half()  # many are equal
    added = torch.zeros(2500, device=device)
    added[:2] = -torch.inf
    best = best_parts(logits, added, count)
    scores = logits.float() + added
    for number, part in enumerate(scores.split(1024, -1)):
        values, order = part.sort(dim=-1, descending=True, stable=True)
        assert torch.equal(best.values[:, number], values[:, :count])
        assert torch.equal(best.tokens[:, number].long(), order[:, :count] + 1024 * number)
    found = (best.sums.log() + best.shifts).logsumexp(-1)
    torch.testing.assert_close(found, scores.logsumexp(-1))
