"""What all searches on tensors of fixed sizes have, and how they are driven."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from openwork.base.symbols import SYMBOL_IDS
from openwork.decoding.fixed.model import FixedModel
from openwork.decoding.fixed.transfer import fetched
from openwork.decoding.rules import RULES
from openwork.decoding.scoring import GivenUp, Hypothesis, check_normaliser, forbidding, nothing_given_up
from openwork.decoding.settings import DecodingSettings
from openwork.machine.device import on_device
from openwork.nn.shapes import Lengths, Logits

EVERY = 4  # steps between two questions whether all sentences are done
WIDEST = 32  # hypotheses of a sentence; the work of attention grows with their square


Found = Callable[[], list[list[Hypothesis]]]
"""Makes hypotheses of what a search has left; the search may be at another batch by then."""


def nothing_meanwhile() -> None:
    pass


def fits(settings: DecodingSettings) -> bool:
    """Whether a search of fixed sizes finds what these settings ask for; constraints are not in the settings."""
    defaults = type(settings).model_fields
    is_free = all(getattr(settings, key) == defaults[key].default for key in RULES)
    is_plain = not settings.samples and settings.groups == 1 and not settings.coverage_penalty
    return is_free and is_plain and settings.beam <= WIDEST


class FixedSearch(ABC):
    """The state of a search, and its next step.

    All tensors stay where they are in memory; `start` begins a new batch in them. `steps` have been taken since.
    `has_kernels`: whether a GPU's kernels choose.
    """

    has_kernels = False

    def __init__(self, model: FixedModel, settings: DecodingSettings) -> None:
        self.model, self.settings = model, settings
        self.sentences, self.beam, device = model.sentences, model.beam, model.device
        self.rows = self.sentences * self.beam
        self.used, self.steps = 0, 0  # places that have a sentence of the batch, and steps
        self.added: Float[Tensor, "vocabulary"] = forbidding(model.vocabulary, torch.float32, device).clone()
        self.position: Int[Tensor, ""] = torch.zeros((), dtype=torch.int64, device=device)
        self.limits = torch.ones(self.sentences, dtype=torch.int64, device=device)
        self.done: Bool[Tensor, "sentence"] = torch.ones(self.sentences, dtype=torch.bool, device=device)
        self.finished: Bool[Tensor, ""] = torch.ones((), dtype=torch.bool, device=device)
        # the sum of all log Z, which is finite where all are
        self.check: Float[Tensor, ""] = torch.zeros((), device=device)
        self.tokens = torch.full((self.rows,), SYMBOL_IDS.start, device=device)
        self.history: Int[Tensor, "step rows"] = torch.zeros(
            model.capacity, self.rows, dtype=torch.int32, device=device
        )  # half of the bytes to be read at the end

    def start(self, limits: Lengths) -> None:
        """Begins a batch of as many sentences as there are limits, at most `sentences`; the other places are done."""
        self.used, self.steps = limits.shape[0], 0
        self.position.zero_()
        self.check.zero_()
        self.tokens.fill_(SYMBOL_IDS.start)
        self.limits.fill_(1)
        self.limits[: self.used] = on_device(limits, self.limits.device)
        self.done.fill_(True)
        self.done[: self.used] = False
        self.finished.copy_(self.done.all())

    def follow(self, earlier: "FixedSearch") -> None:
        """Goes on with a search of less capacity where that stands."""
        self.used, self.steps = earlier.used, earlier.steps
        for name, value in vars(self).items():
            if isinstance(value, Tensor):
                copy_leading(value, getattr(earlier, name))

    @abstractmethod
    def advance(self) -> None:
        """The next token of every sentence, by operations on tensors alone; at most `capacity` times."""

    def give_up(self, sentences: Collection[int]) -> None:
        """Ends the search for these; what is found for them is no result."""
        self.done.index_fill_(0, torch.tensor(sorted(sentences), device=self.done.device), True)
        self.finished.copy_(self.done.all())

    def results(self) -> list[list[Hypothesis]]:
        """For each sentence of the batch its hypotheses, best first.

        Raises OpenworkError where the logits gave no distribution.
        """
        return self.found()()

    def found(self) -> Found:
        """What makes the `results`, and does not need the tensors of this search any longer; raises what they raise."""
        check_normaliser(float(self.check))
        used, arrive = self.used, fetched(self._left())
        return lambda: self._hypotheses(used, *arrive())

    @abstractmethod
    def _left(self) -> list[Tensor]:
        """What hypotheses are made of."""

    @abstractmethod
    def _hypotheses(self, used: int, *left: Any) -> list[list[Hypothesis]]:
        """Those of the first `used` sentences, from the arrays of what `_left` gave."""

    def _logits(self) -> Logits:
        return self.model.step(self.tokens, self._parents(), self.position)

    def _scores(self) -> Logits:
        """The logits of the next step in float32, minus infinity for what may not come."""
        return self._logits() + self.added

    def _parents(self) -> Int[Tensor, "rows"] | None:
        return None

    def _put(self, history: Tensor, step: Tensor) -> None:
        """Writes what belongs to the position that was read last."""
        history.index_copy_(0, self.position.view(1), step[None].to(history.dtype))

    def _end(self) -> None:
        """Says whether all is done; without probabilities nothing more is to be found."""
        self.finished.copy_(self.done.all() | ~self.check.isfinite())


def copy_leading(larger: Tensor, smaller: Tensor) -> None:
    """Copies into the first places of each axis."""
    larger[tuple(slice(size) for size in smaller.shape)] = smaller


@torch.no_grad()
def advance_until_done(
    search: FixedSearch,
    advance: Callable[[], None],
    steps: int,
    given_up: GivenUp = nothing_given_up,
    meanwhile: Callable[[], None] = nothing_meanwhile,
) -> bool:
    """Takes at most `steps` steps; whether all sentences are done.

    Some steps more than needed are taken, since the question makes the CPU wait for the device. Before it waits it
    does what there is to do `meanwhile`.
    """
    for first in range(0, steps, EVERY):
        count = min(EVERY, steps - first)
        for _ in range(count):
            advance()
        search.steps += count
        meanwhile()
        if left := given_up():
            search.give_up(left)
        if bool(search.finished):
            return True
    return False
