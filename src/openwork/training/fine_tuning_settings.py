"""The settings of the section [fine_tuning] of a run file. No torch here."""

from pydantic import Field, model_validator

from openwork.base.config import Settings
from openwork.base.errors import RuleError
from openwork.base.limits import FACTOR


class FineTuningSettings(Settings):
    """A training that goes on from a trained system; nothing of it happens without `from_bundle`."""

    from_bundle: str | None = Field(
        default=None, description="folder of the bundle whose weights, vocabulary and sizes the training begins with"
    )
    new_pieces: int = Field(
        default=0, ge=0, le=1_000_000, description="pieces that each vocabulary gains from the new sentences, at most"
    )
    frozen: tuple[str, ...] = Field(
        default=(), description='weights that stay as they are, by name, such as "encoder" or "decoder.layers.0.*"'
    )

    low_rank: int = Field(
        default=0,
        ge=0,
        le=4096,
        description="rank of the adapters that learn in place of all weights (LoRA); 0: none, 8 is usual",
    )
    low_rank_parts: tuple[str, ...] = Field(
        default=("*.query", "*.value"),
        min_length=1,
        description='linear layers that get adapters, by name, such as "decoder" or "*.cross_attention.*"',
    )
    low_rank_scale: float = Field(
        default=1.0, gt=0, le=FACTOR, description="what an adapter's output is multiplied by; alpha / rank in the paper"
    )

    @model_validator(mode="after")
    def _has_a_beginning(self) -> "FineTuningSettings":
        if self.from_bundle is None and (self.new_pieces or self.frozen or self.low_rank):
            raise RuleError(
                "new_pieces, frozen and low_rank are for a training that begins with a bundle",
                hint="set from_bundle, or leave them out",
                code="C043",
            )
        return self
