"""From a record of what ran when to what the time of the updates was spent on. No torch here.

The group of an operator follows, in this order, from its name if it is a matrix product; from the place in the model
where it was called, and for the backward pass the place of the forward operator that it is the gradient of; from its
own name. An operator often calls others; a moment belongs to the innermost. Where several threads compute at once, it
is divided evenly among what they do. So the parts add up to the time that has passed, and what no group claims is the
rest: Python between the operators, and waiting for other threads.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import Literal, NamedTuple, get_args

Group = Literal[
    "matrix products", "attention", "softmax and loss", "normalisation", "dropout", "copies and casts",
    "sums and activations", "embedding", "clipping and optimiser", "waiting for data", "Python and the rest",
]  # fmt: skip
GROUPS: tuple[Group, ...] = get_args(Group)
REST: Group = "Python and the rest"

# The name that a place has among the recorded operators; `MODEL` is the model as a whole, which is no group.
PREFIX = "openwork: "
MODEL, UPDATE = f"{PREFIX}model", f"{PREFIX}update"
DATA, LOSS = f"{PREFIX}waiting for data", f"{PREFIX}softmax and loss"
# Classes of modules whose operators belong together wherever they stand. Kept by name: models are not known here.
MODULES: dict[str, Group] = {
    "Dropout": "dropout",
    "LayerNorm": "normalisation",
    "RMSNorm": "normalisation",
    "BatchNorm": "normalisation",
    "TokenEmbedding": "embedding",
    "SinusoidalPositions": "embedding",
    "SplitSinusoids": "embedding",
    "LearnedPositions": "embedding",
    "MultiHeadAttention": "attention",
    "AdditiveAttention": "attention",
    "MultiStepAttention": "attention",
}
OPTIMISER = "Optimizer."  # how the framework calls what an optimiser does

PRODUCTS = (
    "mm", "addmm", "_addmm_activation", "linear", "mv", "dot", "mkldnn_linear", "mkldnn_rnn_layer", "_int_mm",
    "mkldnn_rnn_layer_backward", "lstm", "_thnn_fused_lstm_cell", "_thnn_fused_lstm_cell_backward_impl",
)  # fmt: skip
OPERATORS: dict[Group, tuple[str, ...]] = {
    "attention": (
        "bmm", "baddbmm", "scaled_dot_product_attention", "_scaled_dot_product_flash_attention_for_cpu",
        "_scaled_dot_product_flash_attention_for_cpu_backward", "_scaled_dot_product_flash_attention",
        "_scaled_dot_product_flash_attention_backward", "_scaled_dot_product_efficient_attention",
        "_scaled_dot_product_efficient_attention_backward", "_scaled_dot_product_cudnn_attention",
        "_scaled_dot_product_cudnn_attention_backward", "_scaled_dot_product_fused_attention_overrideable",
    ),
    "softmax and loss": (
        "_softmax", "_softmax_backward_data", "_log_softmax", "_log_softmax_backward_data", "logsumexp", "amax",
        "gather", "scatter_add_", "exp", "exp_", "log",
    ),
    "normalisation": (
        "native_layer_norm", "native_layer_norm_backward", "_fused_rms_norm", "_fused_rms_norm_backward", "rsqrt",
    ),
    "dropout": ("random_", "bernoulli_", "native_dropout", "native_dropout_backward", "ge"),
    "copies and casts": (
        "copy_", "_to_copy", "clone", "contiguous", "cat", "_cat", "stack", "index_select", "index", "index_put_",
        "fill_", "zero_", "_foreach_copy_", "repeat", "constant_pad_nd",
    ),
    "sums and activations": (
        "add", "add_", "sub", "sub_", "mul", "mul_", "div", "div_", "sum", "mean", "relu", "relu_", "clamp_min", "tanh",
        "threshold_backward", "gelu", "gelu_backward", "silu", "silu_backward", "sigmoid", "sigmoid_backward",
        "tanh_backward", "masked_fill", "masked_fill_", "where", "index_add_", "addcmul", "addcmul_", "neg", "pow",
    ),
    "embedding": ("embedding", "embedding_dense_backward", "embedding_backward", "sin", "cos"),
    "clipping and optimiser": (
        "_fused_adam_", "_fused_adamw_", "_foreach_norm", "_foreach_mul_", "_foreach_add_", "_foreach_lerp_",
        "linalg_vector_norm", "lerp_",
    ),
}  # fmt: skip
COMPILED: dict[str, Group] = {"NormOfSum": "normalisation", "DroppedSum": "dropout"}  # in no module of their own
_NAMED: dict[str, Group] = {
    **{f"aten::{name}": group for group, names in OPERATORS.items() for name in names},
    **{f"{name}{which}": group for name, group in COMPILED.items() for which in ("", "Backward")},
}
_PRODUCTS = frozenset(["openwork::product", *(f"aten::{name}" for name in PRODUCTS)])
_COPIES = frozenset(f"aten::{name}" for name in OPERATORS["copies and casts"])


def place_named(name: str) -> str | None:
    """The place that a recorded event opens: a label's, the optimiser's; None where it opens none."""
    if name.startswith(OPTIMISER):
        return f"{PREFIX}clipping and optimiser"
    return name if name.startswith(PREFIX) else None


def group_of(name: str, place: str | None, around: Group) -> Group:
    """The group of the operator `name`, called in `place` by an operator of the group `around`.

    Copies in an attention are copies: they tell what it costs to bring its input into another form.
    """
    if place_named(name) is not None:
        return "waiting for data" if place == DATA else REST  # Python, between the operators
    if name in _PRODUCTS:
        return "matrix products"
    inside = None if place is None else place.removeprefix(PREFIX)
    if inside in GROUPS and not (inside == "attention" and name in _COPIES):
        return inside
    return _NAMED.get(name, around)


class Event(NamedTuple):
    """An operator that ran, in microseconds.

    Args:
        number: joins a forward operator to its gradient; -1 where it has none.
        forward_thread: of a gradient, the thread of its forward operator; else 0.
        on_device: microseconds on a GPU of what this operator asked for there.
    """

    name: str
    thread: int
    start: float
    end: float
    number: int = -1
    forward_thread: int = 0
    on_device: float = 0.0


class Division(NamedTuple):
    """Seconds of each group and, within it, of each operator; `threads` compute at once, while any does, on average."""

    operators: Mapping[Group, Mapping[str, float]]
    total: float
    threads: float

    def seconds(self, group: Group) -> float:
        """What a group took; the rest is what no other took."""
        if group == REST:
            return max(0.0, self.total - sum(self.seconds(other) for other in GROUPS if other != REST))
        return sum(self.operators.get(group, {}).values(), 0.0)

    def share(self, group: Group) -> float:
        """Of all the time, from 0 to 1."""
        return self.seconds(group) / self.total


class _Running(NamedTuple):
    """An event that has started, and where it belongs."""

    event: Event
    place: str | None
    group: Group


class _Piece(NamedTuple):
    """A time in which a thread was in one operator, and in none that this one called."""

    start: float
    end: float
    of: _Running


def divide(events: Iterable[Event]) -> Division:
    """What the time of all updates was spent on; with a GPU, what ran there."""
    events = sorted(events, key=lambda event: (event.thread, event.start, -event.end))
    threads = [list(own) for _, own in groupby(events, key=lambda event: event.thread)]
    # Twice: where a forward operator was called must be known before that of its gradient, in whatever thread that ran.
    first = [run for own in threads for run in _nested(own, {})[0]]
    forward = [run for run in first if run.event.number >= 0 and not run.event.forward_thread]
    forward.sort(key=lambda run: run.event.start)  # of several with one number, the last is the one
    nested = [_nested(own, {(run.event.thread, run.event.number): run.place for run in forward}) for own in threads]
    spent: dict[Group, dict[str, float]] = {group: defaultdict(float) for group in GROUPS}
    total = sum((event.end - event.start for event in events if event.name == UPDATE), 0.0)
    if any(event.on_device for event in events):
        for run in (run for running, _ in nested for run in running):
            spent[run.group][run.event.name] += run.event.on_device / 1e6
        return Division(spent, total / 1e6, 1.0)
    computing = passed = 0.0
    for start, end, present in _moments([piece for _, pieces in nested for piece in pieces if piece.of.group != REST]):
        for piece in present:
            spent[piece.of.group][piece.of.event.name] += (end - start) / len(present) / 1e6
        computing += (end - start) * len(present)
        passed += end - start
    return Division(spent, total / 1e6, computing / passed if passed else 0.0)


def _nested(
    events: Sequence[Event], known: Mapping[tuple[int, int], str | None]
) -> tuple[list[_Running], list[_Piece]]:
    """The place and the group of each event of a thread, and when each ran itself, and nothing that it called.

    An event belongs to what it was called by, or to what it is the gradient of: `known` has the places of forward
    operators by thread and number.
    """
    around: list[_Running] = []
    found: list[_Running] = []
    pieces: list[_Piece] = []
    at = 0.0

    def ran_until(end: float) -> None:
        nonlocal at
        if around and end > at:
            pieces.append(_Piece(at, end, around[-1]))
        at = max(at, end)

    for event in events:
        while around and around[-1].event.end <= event.start:
            ran_until(around[-1].event.end)
            around.pop()
        ran_until(event.start)
        place, group = (around[-1].place, around[-1].group) if around else (None, REST)
        place = known.get((event.forward_thread, event.number), place) if event.forward_thread else place
        place = place_named(event.name) or place
        found.append(_Running(event, place, group_of(event.name, place, group)))
        around.append(found[-1])
    while around:
        ran_until(around[-1].event.end)
        around.pop()
    return found, pieces


def _moments(pieces: Iterable[_Piece]) -> Iterator[tuple[float, float, list[_Piece]]]:
    """The stretches of time in which the same pieces run, and those pieces."""
    edges = sorted(((at, piece) for piece in pieces for at in (piece.start, piece.end)), key=lambda edge: edge[0])
    present: dict[int, _Piece] = {}
    for (at, piece), (until, _) in pairwise([*edges, *edges[-1:]]):
        if id(piece) not in present:
            present[id(piece)] = piece
        else:
            del present[id(piece)]
        if present and until > at:
            yield at, until, list(present.values())
