"""examples/detect_digits.py: boxes and matching by hand, a loss that knows no order, canvases as they are described."""

import importlib.util
import sys
from itertools import permutations
from pathlib import Path
from random import Random
from types import ModuleType

import numpy as np
import pytest
import torch

pytest.importorskip("scipy", reason="needs the extra experiments")


@pytest.fixture(scope="module")
def detecting() -> ModuleType:
    path = Path(__file__).resolve().parents[2] / "examples" / "detect_digits.py"
    found = importlib.util.spec_from_file_location("detect_digits", path)
    assert found is not None and found.loader is not None
    module = sys.modules["detect_digits"] = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_overlap_by_hand(detecting: ModuleType) -> None:
    """Two squares of 4 x 4 that share 2 x 2: 4 / 28, in an outer square of 36; and two that share nothing."""
    boxes = torch.tensor([[2.0, 2.0, 4.0, 4.0], [4.0, 4.0, 4.0, 4.0], [8.0, 2.0, 4.0, 4.0]])
    shared, general = detecting.overlap(boxes[0], boxes[1:])
    assert shared.tolist() == pytest.approx([4 / 28, 0.0])
    assert general.tolist() == pytest.approx([4 / 28 - 8 / 36, -8 / 40])


def test_a_canvas_says_what_is_on_it(detecting: ModuleType) -> None:
    bright = [(np.full((8, 8), 200, np.uint8), 3)]
    for number in range(20):
        pixels, found = detecting.canvas(bright, Random(number))
        area = (found.boxes[:, 2] * found.boxes[:, 3]).sum() * detecting.SIDE**2
        assert 1 <= len(found.classes) <= detecting.MOST and (pixels > 0).sum() == round(area)
        assert detecting.scores([found], [found])["f1"] == pytest.approx(1.0)
        left, top, right, bottom = (detecting.corners(torch.from_numpy(found.boxes)) * detecting.SIDE).round().int()[0]
        assert (pixels[top:bottom, left:right] == 200).all()


def test_the_cheapest_matching_is_found(detecting: ModuleType) -> None:
    torch.manual_seed(1)
    logits, boxes = torch.randn(detecting.QUERIES, 11), torch.rand(detecting.QUERIES, 4) * 0.5 + 0.25
    truth = detecting.Found(np.array([7, 2]), np.random.default_rng(1).random((2, 4), np.float32) * 0.5 + 0.25)

    def cost(queries: tuple[int, ...]) -> float:
        total = 0.0
        for digit, query in enumerate(queries):
            right = torch.from_numpy(truth.boxes[digit])
            _, shared = detecting.overlap(boxes[query], right)
            distance = (boxes[query] - right).abs().sum()
            total += float(5 * distance - 2 * shared - logits[query].softmax(-1)[truth.classes[digit]])
        return total

    found, digits = detecting.matched(logits, boxes, truth)
    ours = tuple(int(found[digits.tolist().index(digit)]) for digit in range(2))
    assert ours == min(permutations(range(detecting.QUERIES), 2), key=cost)


def test_the_loss_knows_no_order(detecting: ModuleType) -> None:
    torch.manual_seed(2)
    logits, boxes = torch.randn(2, detecting.QUERIES, 11), torch.rand(2, detecting.QUERIES, 4)
    truths = [
        detecting.Found(np.array(kinds), np.random.default_rng(len(kinds)).random((len(kinds), 4), np.float32))
        for kinds in ([1, 4, 4], [0])
    ]
    first = detecting.set_loss(logits, boxes, truths)
    turned = [detecting.Found(one.classes[::-1].copy(), one.boxes[::-1].copy()) for one in truths]
    order = torch.randperm(detecting.QUERIES)
    assert torch.allclose(detecting.set_loss(logits[:, order], boxes[:, order], turned), first, atol=1e-6)


@pytest.mark.slow
def test_one_canvas_is_learnt(detecting: ModuleType) -> None:
    torch.manual_seed(3)
    bright = [(np.full((8, 8), 200, np.uint8), 3)]
    pixels, truth = detecting.canvas(bright, Random(1))
    model = detecting.Detector()
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(150):
        optimiser.zero_grad()
        detecting.set_loss(*model.train()(detecting.patches([pixels])), [truth]).backward()
        optimiser.step()
    assert detecting.scores(detecting.detections(model, [pixels]), [truth])["whole"] == 1.0
