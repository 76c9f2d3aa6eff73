"""What can be chosen about a search. No torch here, so that help and checks are instant."""

from pydantic import Field, model_validator

from openwork.base.config import Settings


class DecodingSettings(Settings):
    """How translations are searched for; the defaults are the paper's (section 6.1)."""

    beam: int = Field(default=4, ge=1, description="hypotheses kept per sentence; 1 is greedy search")
    length_penalty: float = Field(
        default=0.6, ge=0, description="alpha: 0 ranks by probability alone, more favours longer"
    )
    extra_length: int = Field(
        default=50, ge=0, description="a target has at most this many tokens more than its source"
    )
    maximum_length: int = Field(default=1024, ge=1, description="no target has more tokens than this")
    best: int = Field(default=1, ge=1, description="translations returned per sentence, best first; at most beam")
    patience: float = Field(
        default=1.0, ge=1, description="a sentence is done when it has patience x beam finished hypotheses; 1 is usual"
    )

    @model_validator(mode="after")
    def _best_within_beam(self) -> "DecodingSettings":
        if self.best > self.beam:
            raise ValueError(f"best = {self.best} needs a beam of at least {self.best}; beam is {self.beam}")
        return self
