"""Greedy search with a draft is greedy search, whatever the draft; and a good draft saves passes of the model."""

from itertools import product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from openwork.decoding.left_to_right import greedy_search
from openwork.decoding.settings import DecodingSettings
from openwork.decoding.speculative import speculative_search
from openwork.inference.prepared import prepare
from openwork.inference.prepared.transformer import PreparedTransformer
from openwork.models.build import build_model
from openwork.models.seq2seq import Transformer
from openwork.models.settings import TransformerSettings

VOCABULARY = 12
KINDS = [{"norm": "pre"}, {"norm": "post"}, {"positions": "learned"}, {"feedforward": "swiglu", "embedding_norm": True}]


def made(seed: int, ending: float = 0.0, **kind: object) -> Transformer:
    """`ending`: how near the end symbol is to what the decoder always says."""
    shape = {"width": 16, "heads": 2, "feedforward_width": 24, "encoder_layers": 1, "decoder_layers": 2}
    torch.manual_seed(seed)
    model = build_model(TransformerSettings.model_validate(shape | {"norm": "pre"} | kind), VOCABULARY, VOCABULARY)
    assert isinstance(model, Transformer)
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(2.0)
        for name, weight in model.named_parameters():
            if name == "decoder.final_norm.bias":
                weight.fill_(0.5)
                model.output_weight[3] += ending
    return model.eval()


class Counted(PreparedTransformer):
    """Counts its steps."""

    steps = 0

    def step(self, tokens, state):
        self.steps += 1
        return super().step(tokens, state)


@pytest.mark.parametrize("kind", KINDS, ids=str)
@settings(max_examples=10)
@given(
    seeds=st.tuples(st.integers(0, 200), st.integers(0, 200)),
    ending=st.sampled_from([0.0, 0.4, 0.8]),
    source=st.lists(st.integers(4, VOCABULARY - 1), max_size=9),
    extra=st.integers(0, 40),
)
def test_it_is_greedy_search(
    kind: dict[str, object], seeds: tuple[int, int], ending: float, source: list[int], extra: int
) -> None:
    model, draft = made(seeds[0], ending, **kind), made(seeds[1], ending)
    ids, lengths = torch.tensor([[*source, 3]]), torch.tensor([len(source) + 1])
    plain = DecodingSettings(beam=1, extra_length=extra, maximum_length=40)
    ((expected,),) = greedy_search(model, ids, lengths, plain)
    for way, small in product((PreparedTransformer, prepare), (draft, model)):
        found = speculative_search(way(model), way(small), ids, lengths, plain)
        assert (found.tokens, found.finished) == (expected.tokens, expected.finished)
        assert found.log_probability == pytest.approx(expected.log_probability, abs=1e-3)


def test_a_draft_that_agrees_saves_steps() -> None:
    model = made(7, ending=-3.0)
    ids, lengths = torch.tensor([[5, 6, 7, 3]]), torch.tensor([4])
    plain = DecodingSettings(beam=1, extra_length=36, maximum_length=40)
    counted = Counted(model)
    found = speculative_search(counted, PreparedTransformer(model), ids, lengths, plain)
    assert len(found.tokens) == 40 and not found.finished
    assert counted.steps == 1 + 1 + 1 + 2 + 1  # 5, 7, 9, 9 and 9 tokens, then the last one


@torch.no_grad()
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_several_positions_at_once_are_the_same_one_by_one(kind: dict[str, object]) -> None:
    """Also behind a search that has dropped and reordered rows, and across the end of a buffer."""
    model = PreparedTransformer(made(3, **kind))
    source, lengths = torch.randint(4, VOCABULARY, (4, 6)), torch.tensor([6, 5, 4, 3])
    tokens = torch.randint(4, VOCABULARY, (4, 40))
    _, state = model.step(tokens[:, :3], model.start(source, lengths))
    alone = state.select(torch.tensor([2]))
    expected = []
    later = alone
    for column in tokens[2:3, 3:].unbind(1):
        logits, later = model.step(column[:, None], later)
        expected.append(logits[:, 0])
    for cut in (1, 5, 37):
        first, middle = model.step(tokens[2:3, 3 : 3 + cut], alone)
        rest, end = model.step(tokens[2:3, 3 + cut :], middle) if cut < 37 else (first[:, :0], middle)
        assert end.position == 40
        torch.testing.assert_close(torch.cat([first, rest], dim=1), torch.stack(expected, dim=1), atol=1e-4, rtol=1e-4)


@torch.no_grad()
def test_a_state_that_goes_back_forgets_what_came_after() -> None:
    model = PreparedTransformer(made(3))
    source, lengths = torch.tensor([[5, 6, 3]]), torch.tensor([3])
    _, state = model.step(torch.tensor([[2, 5, 6]]), model.start(source, lengths))
    expected, _ = model.step(torch.tensor([[7, 8]]), state)
    _, wrong = model.step(torch.tensor([[9, 9, 9]]), state)
    again, _ = model.step(torch.tensor([[7, 8]]), wrong.cut(3))
    torch.testing.assert_close(again, expected)
