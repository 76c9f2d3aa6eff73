"""What can be chosen about a search. No torch here, so that help and checks are instant."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, model_validator

from openwork.base.config import Settings
from openwork.base.errors import RuleError
from openwork.base.limits import EXPONENT, FACTOR, HYPOTHESES, LENGTH, SAMPLES, SEED


@dataclass(frozen=True)
class RuleClass:
    """Names, as "module:class", the rule (decoding/rules.py) that does what a setting says.

    By name, because settings are read without torch. Such a line here and its class are all that a new rule takes.
    """

    name: str


LengthRule = Literal["paper", "power"]


class DecodingSettings(Settings):
    """How translations are searched for, or drawn; the defaults are the paper's (section 6.1)."""

    beam: int = Field(default=4, ge=1, le=HYPOTHESES, description="hypotheses kept per sentence; 1 is greedy search")
    length_penalty: float = Field(
        default=0.6, ge=0, le=EXPONENT, description="alpha: 0 ranks by probability alone, more favours longer"
    )
    length_rule: LengthRule = Field(
        default="paper",
        description="what divides a log-probability; paper: ((5 + length) / 6)^alpha, power: length^alpha",
    )
    extra_length: int = Field(
        default=50, ge=0, le=LENGTH, description="a target has at most this many tokens more than its source"
    )
    maximum_length: int = Field(default=1024, ge=1, le=LENGTH, description="no target has more tokens than this")
    best: int = Field(
        default=1, ge=1, le=HYPOTHESES, description="translations returned per sentence, best first; at most beam"
    )
    patience: float = Field(
        default=1.0,
        ge=1,
        le=FACTOR,
        description="a sentence is done when it has patience x beam finished hypotheses; 1 is usual",
    )
    stopping: Literal["enough", "no-better"] = Field(
        default="enough",
        description="when a sentence is done; enough: as patience says, no-better: and no live hypothesis is better",
    )
    unfinished: Literal["last", "ranked"] = Field(
        default="last",
        description="what the length limit cut off is given; last: where nothing ended, ranked: by its score",
    )
    coverage_penalty: float = Field(
        default=0.0,
        ge=0,
        le=FACTOR,
        description="beta: above 0 ranks lower what left source tokens out, by the attention",
    )
    no_repeat: Annotated[int, RuleClass("openwork.decoding.no_repeat:NoRepeat")] = Field(
        default=0, ge=0, le=LENGTH, description="no sequence of so many tokens comes twice in a target; 0: any may"
    )
    minimum_length: Annotated[int, RuleClass("openwork.decoding.minimum_length:MinimumLength")] = Field(
        default=0, ge=0, le=LENGTH, description="no target has fewer tokens than this, if its length limit lets it"
    )
    repetition_penalty: Annotated[float, RuleClass("openwork.decoding.repetition:RepetitionPenalty")] = Field(
        default=1.0,
        ge=1,
        le=FACTOR,
        description="what the log-probability of a token that was there already is multiplied by",
    )
    groups: int = Field(
        default=1, ge=1, le=HYPOTHESES, description="parts of the beam that avoid each other (diverse beam search)"
    )
    diversity: float = Field(
        default=0.5,
        ge=0,
        le=FACTOR,
        description="lowers a token's log-probability, once for each earlier group's hypothesis with it",
    )
    samples: int = Field(
        default=0, ge=0, le=SAMPLES, description="translations drawn at random per sentence; 0 searches instead"
    )
    temperature: float = Field(
        default=1.0, gt=0, le=FACTOR, description="of sampling: below 1 draws the probable more often"
    )
    top_k: int = Field(
        default=0, ge=0, le=LENGTH, description="sampling draws among so many most probable tokens; 0: all"
    )
    top_p: float = Field(
        default=1.0, gt=0, le=1, description="sampling draws among the fewest tokens with this probability together"
    )
    seed: int = Field(default=0, ge=0, le=SEED, description="of sampling: the same seed draws the same for a sentence")
    minimum_bayes_risk: Literal["none", "chrf", "bleu"] = Field(
        default="none", description="ranks hypotheses by how well the others agree with them, in this metric"
    )
    prefix: str = Field(default="", description="text that every translation begins with")
    required: tuple[str, ...] = Field(default=(), description="texts that every translation holds")
    forbidden: tuple[str, ...] = Field(default=(), description="texts that no translation holds, not even in a word")

    @property
    def hypotheses(self) -> int:
        """How many are made for each sentence."""
        return self.samples or self.beam

    def rules(self) -> dict[str, str]:
        """The keys that ask for a rule, all but those that say nothing, and the names of the rules' classes."""
        return {
            key: part.name
            for key, field in type(self).model_fields.items()
            for part in field.metadata
            if isinstance(part, RuleClass) and getattr(self, key) != field.default
        }

    @model_validator(mode="after")
    def _best_within_what_there_is(self) -> "DecodingSettings":
        if self.samples and self.best > self.samples:
            raise RuleError(
                f"best = {self.best} needs at least {self.best} samples, and samples is {self.samples}",
                hint=f"set samples = {self.best}, or best lower",
                code="C022",
            )
        if not self.samples and self.best > self.beam:
            raise RuleError(
                f"best = {self.best} needs a beam of at least {self.best}, and beam is {self.beam}",
                hint=f"set beam = {self.best}, or best lower",
                code="C023",
            )
        if self.minimum_bayes_risk != "none" and self.hypotheses < 2:
            raise RuleError(
                "minimum_bayes_risk chooses among hypotheses", hint="set beam or samples to 2 or more", code="C024"
            )
        return self

    @model_validator(mode="after")
    def _groups_fit_the_beam(self) -> "DecodingSettings":
        if self.beam % self.groups:
            raise RuleError(
                f"groups = {self.groups} must divide the beam into equal parts, and beam is {self.beam}",
                hint=f"set beam to a multiple of {self.groups}, or change groups",
                code="C025",
            )
        if self.groups > 1 and self.coverage_penalty:
            raise RuleError(
                "groups and coverage_penalty do not go together",
                hint="set groups = 1 or coverage_penalty = 0",
                code="C026",
            )
        return self

    @model_validator(mode="after")
    def _sampling_or_searching(self) -> "DecodingSettings":
        if self.samples and (self.groups > 1 or self.coverage_penalty):
            raise RuleError(
                "groups and coverage_penalty belong to beam search",
                hint="set samples = 0, or leave them out",
                code="C027",
            )
        if not self.samples and (self.temperature != 1 or self.top_k or self.top_p < 1):
            raise RuleError(
                "temperature, top_k and top_p belong to sampling", hint="set samples to 1 or more", code="C028"
            )
        if not self.samples and self.coverage_penalty and self.beam == 1:
            raise RuleError(
                "coverage_penalty ranks the hypotheses of a beam", hint="set beam to 2 or more", code="C029"
            )
        return self
