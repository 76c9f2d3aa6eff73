"""What a sequence-to-sequence model offers: enough to train it, to search with it, and nothing of its insides.

    state = model.start(source, source_lengths)         read the source
    logits, state = model.step(tokens, state)           one or more tokens a row; the logits of what follows each
    state = state.select(rows)                          reorder, repeat or drop rows

Training is the same path with the whole target as one step: `model.advance` gives the vectors before the output
projection, so that a loss can be joined with that projection.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeGuard, TypeVar, runtime_checkable

from torch import Tensor, nn

from openwork.nn.dropout import Dropout
from openwork.nn.masks import Segments


@runtime_checkable
class State(Protocol):
    """Everything a model knows after the tokens so far; a value that is never changed."""

    def select(self, rows: Tensor) -> "State":
        """The given rows (rows,), in the given order; a row may come several times."""
        ...


# A model is given no states but its own; which class they have is known to the model alone.
StateT = TypeVar("StateT", bound=State)


@runtime_checkable
class StepModel(Protocol[StateT]):
    """What a search needs."""

    def start(self, source: Tensor, source_lengths: Tensor) -> StateT:
        """Reads source ids (batch, position), padded on the right, with their lengths (batch,)."""
        ...

    def step(self, tokens: Tensor, state: StateT) -> tuple[Tensor, StateT]:
        """Takes token ids (rows, positions); gives logits (rows, positions, vocabulary) of each next token."""
        ...


@runtime_checkable
class AttendingModel(StepModel[StateT], Protocol[StateT]):
    """A step model that can also give its attention to the source; such a step is slower, so it is another method.

    Models without attention have no such method.
    """

    def attend(self, tokens: Tensor, state: StateT) -> tuple[Tensor, Tensor, StateT]:
        """As `step`, with weights (rows, positions, source) between the two: each adds up to 1 over the source.

        They are those of the last attention to the source, the mean of its heads.
        """
        ...


@runtime_checkable
class ChoosingModel(StepModel[StateT], Protocol[StateT]):
    """A step model that can also say which tokens are best, faster than its logits can be searched from outside."""

    def best(self, logits: Tensor, added: Tensor, count: int) -> tuple[Tensor, Tensor, Tensor]:
        """Of its logits (rows, vocabulary) with `added` (vocabulary): the `count` highest, their ids, and log Z.

        The highest and their ids (rows, count) come best first, of equals the lower id first; log Z (rows, 1) makes
        log-probabilities of them, and is not finite where the logits give no distribution.
        """
        ...


@runtime_checkable
class Continuations(Protocol):
    """The hypotheses for one sentence, which grow by a token at each call."""

    def extend(
        self, tokens: Sequence[int], parents: Sequence[int], values: Sequence[float]
    ) -> tuple[list[float], list[int], list[float]]:
        """The log-probabilities of the best continuations of each hypothesis, their tokens, and log Z of each.

        `tokens`: the last token of each hypothesis; `parents`: the places that the rest of each had in the call before;
        `values`: their log-probabilities. All hypotheses have as many continuations: the first comes first, each with
        the best first, of equals the lower id.
        """
        ...


@runtime_checkable
class ContinuingModel(StepModel[StateT], Protocol[StateT]):
    """A step model that can extend the hypotheses for one sentence itself, faster than step by step from outside."""

    def continuations(self, source: Tensor, length: Tensor, beam: int, count: int) -> Continuations | None:
        """For a source (1, position) with its length (1,); None where it cannot.

        At most `beam` hypotheses go on, each has the `count` best continuations without symbols that never come.
        """
        ...


@runtime_checkable
class GreedyModel(StepModel[StateT], Protocol[StateT]):
    """A step model that can do the greedy search itself, faster than step by step from outside."""

    def greedy_targets(
        self, source: Tensor, source_lengths: Tensor, limits: Tensor, given_up: Callable[[], Collection[int]]
    ) -> tuple[Tensor, Tensor] | None:
        """Each sentence's target, by the most probable token at each step; None where the model cannot.

        Targets (sentence, place) begin with the start symbol, and have at most `limits` (sentence,) tokens after it;
        what follows the end symbol or the limit is padding. With their log-probabilities (sentence,): minus infinity
        where there is no way to go on, or where the sentence is among those `given_up`, which is asked after each step.
        """
        ...


class SequenceModel(nn.Module, ABC, Generic[StateT]):
    """A model that can be trained: it gives the vectors before the output projection, and the weight of that.

    `output`, a parameter, is the matrix of the projection; with tied weights it is an embedding's own. `bias`, a
    parameter or None, is added to the logits.
    """

    output: Tensor
    bias: nn.Parameter | None
    continues: bool = False
    """Whether a target continues its source, so that one may be empty and `maximum_length` is for both together."""

    @abstractmethod
    def start(self, source: Tensor, source_lengths: Tensor) -> StateT:
        """Reads source ids (batch, position), padded on the right, with their lengths (batch,)."""

    @abstractmethod
    def advance(self, tokens: Tensor, state: StateT) -> tuple[Tensor, StateT]:
        """Takes token ids (rows, positions); gives vectors (rows, positions, width) and the next state."""

    @property
    def maximum_length(self) -> int | None:
        """The most tokens, end symbol included, that a source or a target may have; None: any number."""
        return None

    @property
    def maximum_source_length(self) -> int | None:
        """The same of a source alone."""
        return self.maximum_length

    @property
    def weighs_tokens(self) -> bool:
        """Whether its attention, where it has one, has a weight for each token, which can be shown."""
        return True

    @property
    def zero_rows(self) -> Sequence[tuple[nn.Parameter, int]]:
        """Weights with a row of zeros that training leaves so, and the number of that row."""
        return ()

    @property
    def output_weight(self) -> Tensor:
        """The matrix (vocabulary, width) that turns those vectors into logits."""
        return self.output

    @property
    def output_bias(self) -> Tensor | None:
        """What is added to the logits (vocabulary); None: nothing."""
        return getattr(self, "bias", None)

    def project(self, hidden: Tensor) -> Tensor:
        """Logits (..., vocabulary) of vectors (..., width)."""
        return nn.functional.linear(hidden, self.output_weight, self.output_bias)

    def step(self, tokens: Tensor, state: StateT) -> tuple[Tensor, StateT]:
        """Takes token ids (rows, positions); gives logits (rows, positions, vocabulary) of each next token."""
        hidden, state = self.advance(tokens, state)
        return self.project(hidden), state

    def forward(self, source: Tensor, source_lengths: Tensor, target_input: Tensor) -> Tensor:
        """Vectors (batch, position, width) for a whole target at once (teacher forcing)."""
        return self.advance(target_input, self.start(source, source_lengths))[0]


class Seq2SeqModel(SequenceModel[StateT]):
    """Reads a source with the encoder; the decoder predicts the token after each target token.

    `tables`: the source's and the target's embedding, and the output matrix. `positions`: added to both embeddings.
    """

    def __init__(
        self,
        tables: tuple[Any, Any, Tensor],
        encoder: Any,
        decoder: Any,
        dropout: float,
        positions: Sequence[Any] = (),
    ) -> None:
        super().__init__()
        self.source_embedding, self.target_embedding, self.output = tables
        if positions:
            self.source_positions, self.target_positions = positions
        self.embedding_dropout = Dropout(dropout)
        self.encoder = encoder
        self.decoder = decoder


@dataclass(frozen=True)
class Packed:
    """Token ids (1, position) of sentences one after another in one row, and where each begins."""

    tokens: Tensor
    segments: Segments


# What only some models can do is a class that they inherit from, and not a protocol: whether a protocol is met would be
# found by looking for members, and Python has changed how it looks (3.12 no longer sees the buffers of a module).


class PackingModel(ABC):
    """A sequence model that also reads packed rows; what it gives is what it gives for padded ones."""

    @abstractmethod
    def packing_problem(self) -> str | None:
        """Why it cannot with the options that it was built with; None: it can."""

    @abstractmethod
    def forward_packed(self, source: Packed, target_input: Packed) -> Tensor:
        """Vectors (1, position, width) for whole targets at once; as many sources as targets, in the same order."""


class EncodingModel(ABC):
    """A model that has a vector for each token of a source before anything is written or predicted."""

    @abstractmethod
    def encode(self, source: Tensor, source_lengths: Tensor) -> Tensor:
        """Vectors (batch, position, width) of ids (batch, source); some put a symbol before each source."""


class MaskedModel(ABC):
    """A sequence model that learns to restore masked pieces of its source.

    `mask_piece` is the id of the piece that replaces a masked one; `begins` (vocabulary,) says for each piece of the
    source's vocabulary whether it begins a word.
    """

    mask_piece: int
    begins: Tensor


class NextTokenModel(ABC):
    """A sequence model that reads a text and predicts each of its tokens from those on one side of it."""

    @property
    @abstractmethod
    def is_bidirectional(self) -> bool:
        """Whether each token is predicted a second time, from those behind it."""


def can_attend(model: StepModel[Any]) -> TypeGuard[AttendingModel[Any]]:
    """Whether the model says where it attends; an ensemble, whether all of its members do."""
    can = callable(getattr(model, "attend", None)) and getattr(model, "weighs_tokens", True)
    return can and all(map(can_attend, getattr(model, "members", ())))


def can_choose(model: StepModel[Any]) -> TypeGuard[ChoosingModel[Any]]:
    """Whether the model says which tokens are best."""
    return callable(getattr(model, "best", None))


def can_continue(model: StepModel[Any]) -> TypeGuard[ContinuingModel[Any]]:
    """Whether the model may extend the hypotheses for one sentence itself."""
    return callable(getattr(model, "continuations", None))


def can_be_greedy(model: StepModel[Any]) -> TypeGuard[GreedyModel[Any]]:
    """Whether the model may do the greedy search itself."""
    return callable(getattr(model, "greedy_targets", None))


def count_weights(model: nn.Module) -> int:
    """Weights of the model, those that are shared counted once."""
    return sum(parameter.numel() for parameter in model.parameters())
