"""Digits found on a canvas by set prediction: DETR (Carion et al. 2020), small, of openwork's parts.

    pip install "openwork[tasks,experiments]"       # scikit-learn has the digits, scipy the matching
    python examples/detect_digits.py --updates 4000

A canvas has 32 x 32 pixels and one to four of scikit-learn's handwritten digits, in 8 x 8 or 12 x 12 pixels, which do
not overlap. The encoder reads patches of 4 x 4; each of six learned queries becomes, through the decoder, a class or
"nothing", and a box. No order is given to them: the loss matches them to the digits (section 3.1 of DETR's paper).
Digits to test with are never seen in training. Beside it: connected regions of bright pixels, each with the class of
the nearest digit.
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
import torch
from scipy.ndimage import find_objects, label
from scipy.optimize import linear_sum_assignment
from torch import Tensor, nn
from torch.nn import functional

from openwork.models import TransformerSettings
from openwork.models.parts import Parts
from openwork.nn import Decoder, Encoder
from openwork.nn.kernels import fused
from openwork.nn.masks import Mask
from openwork.signals.patches import cut

SIDE, PATCH, MOST, QUERIES, NOTHING = 32, 4, 4, 6, 10
SIZES = (8, 12)
SETTINGS = TransformerSettings(
    width=96,
    feedforward_width=192,
    heads=4,
    encoder_layers=3,
    decoder_layers=3,
    norm="pre",
    feedforward="gelu",
    dropout=0.0,
)
BOX, OVERLAP, EMPTY = 5.0, 2.0, 0.2  # weights of the losses, and of "nothing" among the classes (DETR: 5, 2 and 0.1)


@dataclass(frozen=True)
class Found:
    """Digits of a canvas: their classes (digit) and boxes (digit, 4), middle x and y, width and height, from 0 to 1."""

    classes: np.ndarray
    boxes: np.ndarray


def canvas(digits: Sequence[tuple[np.ndarray, int]], random: Random) -> tuple[np.ndarray, Found]:
    """A picture (SIDE, SIDE) of bytes, and what is on it. A digit for which no place is found is left out."""
    pixels = np.zeros((SIDE, SIDE), np.uint8)
    taken, classes, boxes = np.zeros((SIDE, SIDE), bool), [], []
    for _ in range(random.randint(1, MOST)):
        digit, kind = random.choice(digits)
        size = random.choice(SIZES)
        places = np.arange(size) * 8 // size
        for _ in range(20):
            top, left = random.randint(0, SIDE - size), random.randint(0, SIDE - size)
            around = np.s_[max(0, top - 1) : top + size + 1, max(0, left - 1) : left + size + 1]
            if not taken[around].any():
                inside = np.s_[top : top + size, left : left + size]
                pixels[inside], taken[inside] = digit[np.ix_(places, places)], True
                classes.append(kind)
                boxes.append(((left + size / 2) / SIDE, (top + size / 2) / SIDE, size / SIDE, size / SIDE))
                break
    return pixels, Found(np.array(classes), np.array(boxes, np.float32).reshape(-1, 4))


def patches(canvases: Sequence[np.ndarray]) -> Tensor:
    """What the encoder reads (canvas, patch, number), from 0 to 1."""
    return torch.from_numpy(np.stack([cut(one[:, :, None], PATCH) for one in canvases]).astype(np.float32) / 255)


class Detector(nn.Module):
    """Patches -> encoder; learned queries -> decoder, which attends to the patches and sees all queries at once."""

    def __init__(self) -> None:
        super().__init__()
        parts = Parts(SETTINGS, fused.attention)
        self.embedding = nn.Linear(PATCH * PATCH, SETTINGS.width)
        self.places = nn.Parameter(torch.randn((SIDE // PATCH) ** 2, SETTINGS.width) * 0.02)
        self.queries = nn.Parameter(torch.randn(QUERIES, SETTINGS.width) * 0.02)
        self.encoder = Encoder(parts.layers(parts.encoder_layer, SETTINGS.encoder_layers), parts.final_norm())
        self.decoder = Decoder(parts.layers(parts.decoder_layer, SETTINGS.decoder_layers), parts.final_norm())
        self.classes = nn.Linear(SETTINGS.width, NOTHING + 1)
        self.boxes = nn.Sequential(nn.Linear(SETTINGS.width, SETTINGS.width), nn.GELU(), nn.Linear(SETTINGS.width, 4))

    def forward(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """Logits (canvas, query, class) and boxes (canvas, query, 4)."""
        memory = self.encoder(self.embedding(source) + self.places, Mask())
        queries = self.queries.expand(len(source), -1, -1)
        vectors, _ = self.decoder(queries, self.decoder.start(memory), Mask(), Mask())
        return self.classes(vectors), self.boxes(vectors).sigmoid()


def corners(boxes: Tensor) -> Tensor:
    """Left, top, right and bottom of boxes (..., 4)."""
    middle, size = boxes[..., :2], boxes[..., 2:]
    return torch.cat([middle - size / 2, middle + size / 2], dim=-1)


def overlap(ours: Tensor, theirs: Tensor) -> tuple[Tensor, Tensor]:
    """Intersection over union of boxes (..., 4), and its generalised form (Rezatofighi et al. 2019), from -1 to 1."""
    a, b = corners(ours), corners(theirs)
    inner = (torch.minimum(a[..., 2:], b[..., 2:]) - torch.maximum(a[..., :2], b[..., :2])).clamp(min=0).prod(-1)
    outer = (torch.maximum(a[..., 2:], b[..., 2:]) - torch.minimum(a[..., :2], b[..., :2])).prod(-1)
    union = ours[..., 2:].prod(-1) + theirs[..., 2:].prod(-1) - inner
    return inner / union, inner / union - (outer - union) / outer


def matched(logits: Tensor, boxes: Tensor, truth: Found) -> tuple[np.ndarray, np.ndarray]:
    """The queries and the digits of the cheapest matching of one canvas (equation 1 of DETR's paper)."""
    theirs = torch.from_numpy(truth.boxes)[None]
    distance = (boxes[:, None] - theirs).abs().sum(-1)
    _, shared = overlap(boxes[:, None], theirs)
    cost = BOX * distance - OVERLAP * shared - logits.softmax(-1)[:, torch.from_numpy(truth.classes)]
    return linear_sum_assignment(cost.numpy())


def set_loss(logits: Tensor, boxes: Tensor, truths: Sequence[Found]) -> Tensor:
    """Equation 2: the matched queries' classes and boxes, and "nothing" for the others."""
    wanted = torch.full(logits.shape[:2], NOTHING)
    rows, queries, right = [], [], []
    for row, truth in enumerate(truths):
        found, digits = matched(logits[row].detach(), boxes[row].detach(), truth)
        wanted[row, torch.from_numpy(found)] = torch.from_numpy(truth.classes[digits])
        rows += [row] * len(found)
        queries += found.tolist()
        right.append(truth.boxes[digits])
    ours, theirs = boxes[rows, queries], torch.from_numpy(np.concatenate(right))
    weights = torch.ones(NOTHING + 1)
    weights[NOTHING] = EMPTY
    classes = functional.cross_entropy(logits.flatten(0, 1), wanted.flatten(), weights)
    _, shared = overlap(ours, theirs)
    return classes + (BOX * (ours - theirs).abs().sum(-1) + OVERLAP * (1 - shared)).mean()


def detections(model: Detector, canvases: Sequence[np.ndarray]) -> list[Found]:
    """What the model finds: the queries whose likeliest class is a digit."""
    with torch.inference_mode():
        logits, boxes = model.eval()(patches(canvases))
    kinds = logits.argmax(-1)
    return [Found(k[k < NOTHING].numpy(), b[k < NOTHING].numpy()) for k, b in zip(kinds, boxes, strict=True)]


def regions(pixels: np.ndarray, digits: np.ndarray, kinds: np.ndarray) -> Found:
    """The baseline: connected bright pixels, in the square around them, and the class of the nearest digit."""
    numbered, _ = label(pixels > 20, structure=np.ones((3, 3)))
    classes, boxes = [], []
    for rows, columns in find_objects(numbered):
        height, width = rows.stop - rows.start, columns.stop - columns.start
        size = min(SIZES, key=lambda one: abs(one - max(height, width)))
        top = min(max(0, (rows.start + rows.stop - size) // 2), SIDE - size)
        left = min(max(0, (columns.start + columns.stop - size) // 2), SIDE - size)
        places = np.arange(8) * size // 8
        small = pixels[top : top + size, left : left + size][np.ix_(places, places)].astype(float)
        classes.append(kinds[((digits - small) ** 2).sum((1, 2)).argmin()])
        boxes.append(((left + size / 2) / SIDE, (top + size / 2) / SIDE, size / SIDE, size / SIDE))
    return Found(np.array(classes, int), np.array(boxes, np.float32).reshape(-1, 4))


def scores(found: Sequence[Found], truths: Sequence[Found]) -> dict[str, float]:
    """Precision, recall and F1 of digits with the right class and half of the box, and canvases without a mistake."""
    hits, said, real, whole = 0, 0, 0, 0
    for ours, truth in zip(found, truths, strict=True):
        boxes = (torch.from_numpy(one.boxes) for one in (ours, truth))
        shared, _ = overlap(next(boxes)[:, None], next(boxes)[None])
        good = (shared.numpy() >= 0.5) & (ours.classes[:, None] == truth.classes[None])
        pairs = linear_sum_assignment(~good)
        right = int(good[pairs].sum())
        hits, said, real = hits + right, said + len(ours.classes), real + len(truth.classes)
        whole += right == len(truth.classes) == len(ours.classes)
    precision, recall = hits / max(1, said), hits / real
    f1 = 2 * precision * recall / max(1e-9, precision + recall)
    return {"precision": precision, "recall": recall, "f1": f1, "whole": whole / len(truths)}


def train(digits: Sequence[tuple[np.ndarray, int]], updates: int, batch: int, random: Random) -> Detector:
    model = Detector()
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-4)
    rate = torch.optim.lr_scheduler.OneCycleLR(optimiser, 1e-3, total_steps=updates)
    for step in range(1, updates + 1):
        canvases, truths = zip(*(canvas(digits, random) for _ in range(batch)), strict=True)
        loss = set_loss(*model.train()(patches(canvases)), truths)
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        rate.step()
        if step % max(1, updates // 10) == 0:
            print(f"update {step:,}: loss {loss.item():.3f}", flush=True)
    return model


def main() -> dict[str, Any]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--updates", type=int, default=4000)
    parser.add_argument("--batch", type=int, default=32, help="canvases an update")
    parser.add_argument("--tested", type=int, default=1000, help="canvases to test with")
    given = parser.parse_args()
    from sklearn.datasets import load_digits

    torch.manual_seed(1)
    known: Any = load_digits()
    pixels = (known.images * 255 / 16).round().astype(np.uint8)
    half = len(pixels) * 4 // 5  # the last writers are others than the first
    digits = [
        list(zip(pixels[part], known.target[part].tolist(), strict=True)) for part in (np.s_[:half], np.s_[half:])
    ]
    model = train(digits[0], given.updates, given.batch, Random(1))
    canvases, truths = zip(
        *(canvas(digits[1], random) for random in [Random(2)] for _ in range(given.tested)), strict=True
    )
    found = {
        "detector": scores(detections(model, canvases), truths),
        "regions": scores([regions(one, pixels[:half], known.target[:half]) for one in canvases], truths),
        "weights": sum(weight.numel() for weight in model.parameters()),
    }
    print(json.dumps(found, indent=1))
    return found


if __name__ == "__main__":
    main()
