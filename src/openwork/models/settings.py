"""What can be chosen about a Transformer. No torch here, so that help and checks are instant."""

from typing import Literal

from pydantic import Field, model_validator

from openwork.base.config import Settings


class TransformerSettings(Settings):
    """The encoder-decoder of the paper; the defaults are its base model."""

    kind: Literal["transformer"] = "transformer"
    width: int = Field(default=512, ge=1, description="d_model: numbers in the vector of one token")
    encoder_layers: int = Field(default=6, ge=1, description="N of the encoder")
    decoder_layers: int = Field(default=6, ge=1, description="N of the decoder")
    heads: int = Field(default=8, ge=1, description="h: attention heads")
    head_width: int | None = Field(
        default=None, ge=1, description="d_k: width of a head's queries and keys; width / heads"
    )
    value_width: int | None = Field(default=None, ge=1, description="d_v: width of a head's values; width / heads")
    feedforward_width: int = Field(default=2048, ge=1, description="d_ff: width inside the feed-forward network")
    norm: Literal["post", "pre"] = Field(default="post", description="where the layer norm stands: post is the paper's")
    tying: Literal["three-way", "target", "none"] = Field(
        default="three-way", description="which of source embedding, target embedding and output matrix are one"
    )
    attention_bias: bool = Field(default=False, description="biases in the attention's projections; the paper has none")
    dropout: float = Field(default=0.1, ge=0, lt=1, description="P_drop: on sub-layer outputs and on embeddings")
    attention_dropout: float = Field(default=0.0, ge=0, lt=1, description="on attention weights; not in the paper")
    feedforward_dropout: float = Field(
        default=0.0, ge=0, lt=1, description="on the feed-forward's inner units; not in the paper"
    )

    @model_validator(mode="after")
    def _heads_divide_width(self) -> "TransformerSettings":
        if self.width % self.heads and (self.head_width is None or self.value_width is None):
            fitting = [heads for heads in range(1, self.heads + 1) if self.width % heads == 0]
            raise ValueError(
                f"width {self.width} is not divisible by {self.heads} heads; take {fitting[-1]} heads, "
                f"a width of {-(-self.width // self.heads) * self.heads}, or set head_width and value_width"
            )
        return self

    @property
    def key_width(self) -> int:
        """d_k, given or width / heads."""
        return self.head_width or self.width // self.heads

    @property
    def value_head_width(self) -> int:
        """d_v, given or width / heads."""
        return self.value_width or self.width // self.heads
