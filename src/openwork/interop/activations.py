"""Hugging Face's names of feed-forward activations, as our settings name them. No torch here."""

from collections.abc import Mapping
from typing import Literal

# Of BERT and the BART family; of GPT-2; of LLaMA, whose networks are gated. Theirs -> ours, the usual name first.
HUGGING_FACE_ACTIVATIONS: dict[str, Literal["relu", "gelu", "gelu-tanh", "swish"]] = {
    "relu": "relu", "gelu": "gelu", "gelu_new": "gelu-tanh", "gelu_pytorch_tanh": "gelu-tanh",
    "swish": "swish", "silu": "swish",
}  # fmt: skip
GPT2_ACTIVATIONS = {"gelu_new": "gelu-tanh", "gelu_pytorch_tanh": "gelu-tanh", "gelu": "gelu", "relu": "relu"}
LLAMA_ACTIVATIONS = {"silu": "swiglu", "gelu": "geglu", "relu": "reglu"}


def their_name(ours: str, table: Mapping[str, str]) -> str:
    """The first of their names for one of our activations."""
    return next(theirs for theirs, name in table.items() if name == ours)
