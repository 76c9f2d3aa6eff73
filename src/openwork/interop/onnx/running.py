"""Runs exported graphs by onnxruntime, to see that they say what the bundle says."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from openwork.base.symbols import SYMBOL_IDS
from openwork.bundles.bundle import Bundle
from openwork.decoding.search import decode
from openwork.interop.onnx.writing import MODEL, graph_search

TOLERANCE = 1e-3  # of a score, which is a log-probability over a length penalty


class Graph:
    """An exported graph: from ids to ids. ImportError without onnxruntime."""

    def __init__(self, folder: Path, threads: int = 0) -> None:
        """`threads`: 0 for one for each core."""
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3  # errors
        self.session = onnxruntime.InferenceSession(folder / MODEL, options, providers=["CPUExecutionProvider"])

    def search(self, sources: Sequence[Sequence[int]]) -> list[list[tuple[tuple[int, ...], float]]]:
        """The best targets of each source, best first, and their scores."""
        ids, lengths = padded(sources)
        found: Any = self.session.run(None, {"source": ids.numpy(), "source_lengths": lengths.numpy()})
        tokens, scores = (one.tolist() for one in found)
        return [
            [
                (tuple(token for token in target if token != SYMBOL_IDS.pad), score)
                for target, score in zip(targets, row, strict=True)
                if score > -float("inf")
            ]
            for targets, row in zip(tokens, scores, strict=True)
        ]


def padded(sources: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    """Ids (batch, position) and lengths (batch)."""
    rows = [torch.tensor(source, dtype=torch.int64) for source in sources]
    lengths = torch.tensor([len(source) for source in sources])
    return pad_sequence(rows, batch_first=True, padding_value=SYMBOL_IDS.pad), lengths


def differences(bundle: Bundle, graph: Graph, texts: Sequence[str]) -> int:
    """Of how many texts the graph's targets or their scores are others than the bundle's."""
    sources = [[*bundle.tokenizers.source.encode(text), SYMBOL_IDS.end] for text in texts]
    if not sources:
        return 0
    search = graph_search(bundle.settings.decoding, bundle.model.maximum_length)
    expected = decode(bundle.model, *padded(sources), search)
    return sum(
        [tokens for tokens, _ in found] != [one.tokens for one in best]
        or any(abs(score - one.score) > TOLERANCE for (_, score), one in zip(found, best, strict=True))
        for found, best in zip(graph.search(sources), expected, strict=True)
    )


def try_graph(bundle: Bundle, folder: Path, report: Callable[[str], None]) -> None:
    """Tells whether the exported graph finds for the bundle's golden examples what the bundle finds."""
    texts = [example.source for example in bundle.golden]
    try:
        graph = Graph(folder)
    except ImportError:
        report("note: the graph was not tried, since the package onnxruntime is not installed")
        return
    same = len(texts) - differences(bundle, graph, texts)
    report(f"onnxruntime: {same} of {len(texts)} golden examples as by openwork")
