"""Searches of batches in buffers that are kept from one batch to the next."""

from collections import OrderedDict
from collections.abc import Callable, Collection
from threading import Lock
from typing import Any

import torch
from torch import Tensor

from openwork.decoding.fixed.beam import FixedBeamSearch
from openwork.decoding.fixed.greedy import FixedGreedySearch
from openwork.decoding.fixed.search import Found, advance_until_done, fits, nothing_meanwhile
from openwork.decoding.scoring import GivenUp, Hypothesis, length_limits, nothing_given_up
from openwork.decoding.settings import DecodingSettings
from openwork.inference.fixed.replay import Replay
from openwork.inference.fixed.sizes import SENTENCES, FixedSizes, sizes_for
from openwork.inference.fixed.transformer import FixedTransformer
from openwork.inference.fixed.trials import choice_is_right, step_is_right
from openwork.inference.fixed.weights import FixedWeights
from openwork.models.seq2seq import Transformer
from openwork.nn.kernels.gpu import NARROW
from openwork.nn.kernels.gpu.trials import try_norms
from openwork.nn.shapes import Lengths, Source

MOST_KEPT = 16  # sizes whose buffers are kept
SHARE = 0.5  # of the memory that the device has left at first, for all of them


class FixedSearches:
    """The searches with `model`, which `can_be_fixed`, as its weights are now, or were at the last `refresh`.

    One at a time uses the buffers.
    """

    def __init__(self, model: Transformer, dtype: torch.dtype) -> None:
        with torch.inference_mode():
            self.weights = FixedWeights(model, dtype)
        self.maximum_length = model.maximum_length
        self._kept: OrderedDict[Any, Replay] = OrderedDict()
        self._lock = Lock()
        device = self.weights.device
        if dtype in NARROW:
            with torch.autocast(device.type, enabled=False):
                try_norms(model, device)
        self._pool: Any = None
        self._most_bytes = SHARE * torch.cuda.mem_get_info(device)[0] if device.type == "cuda" else torch.inf

    @torch.inference_mode()
    def refresh(self) -> None:
        """Takes over the weights that the model has now."""
        with self._lock:
            self.weights.refresh()
            for replay in self._kept.values():
                replay.model.positions.copy_(self.weights.position_vectors(replay.model.capacity))

    def forget(self) -> None:
        """Gives the memory of all buffers back."""
        with self._lock:
            self._kept.clear()

    def can_search(self, source: Tensor, lengths: Lengths, settings: DecodingSettings) -> bool:
        """Whether these settings can be met for this batch: learned positions must reach the longest target."""
        if not (source.numel() and fits(settings)):
            return False
        return self.maximum_length is None or int(length_limits(lengths, settings).max()) <= self.maximum_length

    def search(
        self, source: Source, lengths: Lengths, settings: DecodingSettings, given_up: GivenUp = nothing_given_up
    ) -> list[list[Hypothesis]]:
        """As `decode` without constraints; `can_search` says when.

        Sentences that are `given_up` end within a few steps; what is found for them is no result.
        """
        return self.found(source, lengths, settings, given_up)()

    @torch.inference_mode()
    def found(
        self,
        source: Source,
        lengths: Lengths,
        settings: DecodingSettings,
        given_up: GivenUp = nothing_given_up,
        meanwhile: Callable[[], None] = nothing_meanwhile,
    ) -> Found:
        """Searches, and makes the results when they are asked for, so that the device can be at the next batch by then.

        While the device is at work, `meanwhile` is called, several times.
        """
        found: list[Found] = []
        most = SENTENCES[-1]
        with self._lock:
            for first in range(0, source.shape[0], most):
                part = slice(first, first + most)

                def part_given_up(first: int = first) -> Collection[int]:
                    return [one - first for one in given_up() if first <= one < first + most]

                try:
                    found.append(self._search(source[part], lengths[part], settings, part_given_up, meanwhile))
                except BaseException:
                    self._kept.clear()  # what is not a number would spoil later batches, masked or not
                    raise
        return lambda: [hypotheses for part in found for hypotheses in part()]

    def _search(
        self,
        source: Source,
        lengths: Lengths,
        settings: DecodingSettings,
        given_up: GivenUp,
        meanwhile: Callable[[], None],
    ) -> Found:
        limits = length_limits(lengths.cpu(), settings)
        longest = int(limits.max())
        replay = self._replay(sizes_for(*_facts(source, settings), longest), settings)
        replay.model.start(source, lengths)
        replay.search.start(limits)
        first = 0
        with torch.autocast(self.weights.device.type, enabled=False):
            while True:
                last = min(longest, replay.model.capacity)
                is_done = advance_until_done(replay.search, replay.advance, last - first, given_up, meanwhile)
                if is_done or last == longest:
                    return replay.search.found()
                larger = self._replay(replay.model.sizes.doubled, settings)
                larger.follow(replay)
                first, replay = last, larger

    def _replay(self, sizes: FixedSizes, settings: DecodingSettings) -> Replay:
        """The buffers of these sizes, made or kept."""
        key = sizes, *_choices(settings)
        if key not in self._kept:
            self._kept[key] = self._made(sizes, settings)
        self._kept.move_to_end(key)
        held = sum(one.model.bytes for one in self._kept.values())
        while len(self._kept) > 1 and (len(self._kept) > MOST_KEPT or held > self._most_bytes):
            _, dropped = self._kept.popitem(last=False)
            held -= dropped.model.bytes
        return self._kept[key]

    def _made(self, sizes: FixedSizes, settings: DecodingSettings) -> Replay:
        if not self._kept and self.weights.device.type == "cuda":
            self._pool = torch.cuda.graph_pool_handle()  # a pool ends with the last of its graphs
        model = FixedTransformer(self.weights, sizes)
        with torch.autocast(self.weights.device.type, enabled=False):
            search = (FixedGreedySearch if sizes.beam == 1 else FixedBeamSearch)(model, settings)
            model.has_kernels = model.has_kernels and step_is_right(self.weights, sizes.beam)
            is_right = search.has_kernels and choice_is_right(model.vocabulary, sizes.beam, model.device)
            search.has_kernels = is_right
            return Replay(model, search, self._pool)


def _facts(source: Source, settings: DecodingSettings) -> tuple[int, int, int]:
    """Sentences, hypotheses of each and source positions of a batch."""
    return source.shape[0], settings.beam, source.shape[1]


def _choices(settings: DecodingSettings) -> tuple[Any, ...]:
    """Of the settings, what a captured step depends on besides the beam."""
    return (
        settings.best, settings.patience, settings.stopping, settings.unfinished, settings.length_penalty,
        settings.length_rule,
    )  # fmt: skip
