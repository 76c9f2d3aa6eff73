"""Which part of a training step an operator of the framework belongs to.

Three things tell, in this order: an operator that is a matrix product by its name; the place in the model where it was
called, and for the backward pass the place of the forward operator that it is the gradient of; its own name.
"""

from typing import Literal, get_args

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
_NAMED: dict[str, Group] = {f"aten::{name}": group for group, names in OPERATORS.items() for name in names}
_PRODUCTS = frozenset(f"aten::{name}" for name in PRODUCTS)
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
