"""The step of a search, captured as a CUDA graph where there is one."""

from typing import Any

import torch

from openwork.decoding.fixed.search import FixedSearch
from openwork.inference.fixed.transformer import FixedTransformer

WARM_UP = 3  # steps before the capture, in which libraries set themselves up


class Replay:
    """A model's buffers, the search in them, and its next step.

    `pool`: memory for what is computed within a step. Graphs share it, since one runs at a time and nothing in it is
    read afterwards.
    """

    def __init__(self, model: FixedTransformer, search: FixedSearch, pool: Any) -> None:
        self.model, self.search = model, search
        self.graph: torch.cuda.CUDAGraph | None = None
        if model.device.type == "cuda":
            with torch.cuda.device(model.device):
                self.graph = self._captured(pool)

    def advance(self) -> None:
        if self.graph is None:
            self.search.advance()
        else:
            self.graph.replay()

    def follow(self, earlier: "Replay") -> None:
        """Goes on with a search in smaller buffers where that stands."""
        self.model.follow(earlier.model)
        self.search.follow(earlier.search)

    def _captured(self, pool: Any) -> torch.cuda.CUDAGraph:
        """The graph of a step; the search has no sentences while it is captured, and is started anew for each batch."""
        self.search.start(self.search.limits[:0])
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(WARM_UP):
                self.search.advance()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        # of this thread alone: others may use the device meanwhile
        with torch.cuda.graph(graph, pool=pool, capture_error_mode="thread_local"):
            self.search.advance()
        return graph
