"""The settings of the section [fine_tuning] of a run file. No torch here."""

from pydantic import Field, model_validator

from openwork.base.config import Settings
from openwork.base.errors import RuleError


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

    @model_validator(mode="after")
    def _has_a_beginning(self) -> "FineTuningSettings":
        if self.from_bundle is None and (self.new_pieces or self.frozen):
            raise RuleError(
                "new_pieces and frozen are for a training that begins with a bundle",
                hint="set from_bundle, or leave them out",
            )
        return self
