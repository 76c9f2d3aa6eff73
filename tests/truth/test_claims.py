"""docs/claims.md names tests and figures that exist; and those of its claims that no other test shows."""

import ast
import re
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
import torch
from torch import nn

from openwork.models.build import build_model
from openwork.models.settings import TransformerSettings
from openwork.nn.attention import Heads, MultiHeadAttention
from openwork.nn.feedforward import FeedForward
from openwork.nn.kernels import reference
from openwork.nn.masks import EVERYTHING
from openwork.nn.normalisation import layer_norm
from openwork.study.documents import EXAMPLES
from openwork.training.loss import smoothed_cross_entropy
from truth.recomputed import RECOMPUTED
from truth.stated import ARITHMETIC, CITATIONS, FROM_BERTS_VOCABULARY, SHAPE_ONLY
from truth.test_numbers import BY_ID

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).resolve().parents[2]
CLAIMS = (REPOSITORY / "docs" / "claims.md").read_text("utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|\n ").split(" | ")] for line in CLAIMS.splitlines() if line.startswith("| ")
]
SOURCES = [row for row in ROWS if len(row) == 3]
ROWS = [row for row in ROWS if len(row) == 5 and row[0] != "where"]
VERDICTS = {"wrong", "rounding", "loose", "unsupported"}


def defined(place: str) -> bool:
    """Whether "tests/file.py::test_name" exists."""
    path, name = place.split("::")
    tree = ast.parse((REPOSITORY / path).read_text("utf-8"))
    return any(isinstance(node, ast.FunctionDef) and node.name == name for node in ast.walk(tree))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]}: {row[1][:40]}")
def test_a_claim_has_a_verdict_and_what_shows_it(row: list[str]) -> None:
    _, _, verdict, _, shown = row
    assert verdict in VERDICTS
    named = re.findall(r"`([^`]+)`", shown)
    assert named or shown == "none"
    missing = [name for name in named if not (defined(name) if "::" in name else name in BY_ID)]
    assert missing == []


def test_every_wrong_figure_is_a_claim() -> None:
    """Figures that a document prints and that are wrong, but those of chapter 8 that only repeat an earlier slip."""
    named = set(re.findall(r"`([^`]+)`", CLAIMS))
    repeated = ("002.ch8.step.*", "002.ch8.exact.*", "002.ch8.printedpe.*", "002.ch8.dec.mask_softmax.row*")
    others = {"002.ch8.pe.table", "002.ch8.norm1.std_slip", "002.ch8.tgt.input.exact"}
    wrong = {entry.id for entry in BY_ID.values() if entry.verdict == "wrong"}
    told = {name for name in wrong if name in named or name in others or any(fnmatchcase(name, p) for p in repeated)}
    assert wrong - told == set()


def test_the_page_says_which_figures_are_not_made_by_our_functions() -> None:
    (_, made, *others), tables = SOURCES, (FROM_BERTS_VOCABULARY, ARITHMETIC, CITATIONS, SHAPE_ONLY)
    assert [re.findall(r"`(00[^`]+)`", which) for _, _, which in others] == [list(table) for table in tables]
    assert [int(count) for _, count, _ in others] == [len(table) for table in tables]
    rest = sum(any(fnmatchcase(name, pattern) for pattern in RECOMPUTED) for name in BY_ID)
    assert int(made[1]) == rest == len(BY_ID) - sum(map(len, tables))
    assert f"All {len(BY_ID)} of" in CLAIMS and f"; {rest} of them" in CLAIMS
    assert f"the other {len(BY_ID) - rest} come" in CLAIMS


def test_the_examples_that_are_named_exist() -> None:
    assert set(re.findall(r"--example (\S+?)`", CLAIMS)) <= set(EXAMPLES)


def test_the_memory_is_the_last_layers_output() -> None:
    model = build_model(TransformerSettings(width=8, heads=2, feedforward_width=8, encoder_layers=3), 10, 10).eval()
    given: list[torch.Tensor] = []
    for layer in model.encoder.layers:
        layer.register_forward_hook(lambda _, __, made: given.append(made))
    source, lengths = torch.tensor([[4, 5, 3]]), torch.tensor([3])
    with torch.no_grad():
        state = model.start(source, lengths)
        expected = model.decoder.start(given[-1])
    for cache, wanted in zip(state.caches, expected, strict=True):
        assert torch.equal(cache.memory.key, wanted.memory.key)
    assert len(given) == 3


def test_a_layer_norm_sees_one_position_alone() -> None:
    norm, x = layer_norm(6), torch.randn(5, 4, 6, generator=torch.Generator().manual_seed(1))
    assert torch.equal(norm(x)[2:3, 1:2], norm(x[2:3, 1:2]))


def test_without_positions_self_attention_only_follows_the_order() -> None:
    torch.manual_seed(1)
    attention = MultiHeadAttention(8, Heads(2, 4, 4), kernel=reference.attention).double()
    x, order = torch.randn(1, 3, 8, dtype=torch.float64), torch.tensor([2, 1, 0])  # 猫追狗, 狗追猫
    straight = attention(x, attention.keys_values(x), EVERYTHING)
    turned = attention(x[:, order], attention.keys_values(x[:, order]), EVERYTHING)
    torch.testing.assert_close(turned, straight[:, order], rtol=0, atol=1e-14)
    assert not torch.allclose(turned, straight)


def test_two_convolutions_of_width_one_are_the_feed_forward_network() -> None:
    torch.manual_seed(1)
    network = FeedForward(4, 6).double()
    first, second = nn.Conv1d(4, 6, 1).double(), nn.Conv1d(6, 4, 1).double()
    for convolution, layer in ((first, network.expand), (second, network.contract)):
        convolution.weight = nn.Parameter(layer.weight[:, :, None])
        convolution.bias = layer.bias
    x = torch.randn(2, 5, 4, dtype=torch.float64)
    torch.testing.assert_close(second(first(x.mT).relu()).mT, network(x), rtol=0, atol=1e-14)


def test_without_tanh_additive_attention_does_not_know_its_query() -> None:
    """Scores w_q q + w_k k differ between queries by a number that is the same for all keys."""
    queries, keys = torch.randn(3, 1, dtype=torch.float64), torch.randn(1, 4, dtype=torch.float64)
    weights = reference.softmax_over((queries + keys)[None, None], None)[0, 0]
    torch.testing.assert_close(weights, weights[:1].expand(3, -1))


def test_what_label_smoothing_asks_for_is_not_the_best_perplexity() -> None:
    """The smoothed loss is least where the right token has 0.9 and not 1."""

    def costs(right: float) -> tuple[float, float]:
        logits = torch.log(torch.tensor([[right, *[(1 - right) / 9] * 9]]))
        sums = smoothed_cross_entropy(logits, torch.tensor([0]), 0.1, "others")
        return sums.smoothed.item(), sums.likelihood.item()

    (wanted, likelihood), (surer, best) = costs(0.9), costs(0.99)
    assert wanted < surer and likelihood > best
