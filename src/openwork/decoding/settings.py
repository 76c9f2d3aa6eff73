"""What can be chosen about a search. No torch here, so that help and checks are instant."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from openwork.base.config import Settings
from openwork.base.errors import RuleError
from openwork.base.fields import option
from openwork.base.limits import EXPONENT, FACTOR, HYPOTHESES, LENGTH, SAMPLES, SEED

LengthRule = Literal["paper", "power"]


class DecodingSettings(Settings):
    """How translations are searched for, or drawn; the defaults are the paper's (section 6.1)."""

    beam: int = option(4, "hypotheses kept per sentence; 1 is greedy search", ge=1, le=HYPOTHESES)
    length_penalty: float = option(0.6, "alpha: 0 ranks by probability alone, more favours longer", ge=0, le=EXPONENT)
    length_rule: LengthRule = option("paper", "length penalty; paper: ((5 + length) / 6)^alpha, power: length^alpha")
    extra_length: int = option(50, "a target has at most this many tokens more than its source", ge=0, le=LENGTH)
    maximum_length: int = option(1024, "no target has more tokens than this", ge=1, le=LENGTH)
    best: int = option(1, "translations returned per sentence, best first; at most beam", ge=1, le=HYPOTHESES)
    patience: float = option(
        1.0, "a sentence is done when it has patience x beam finished hypotheses; 1 is usual", ge=1, le=FACTOR
    )
    stopping: Literal["enough", "no-better"] = option(
        "enough", "when a sentence is done; enough: as patience says, no-better: and no live hypothesis is better"
    )
    unfinished: Literal["last", "ranked"] = option(
        "last", "targets cut off by the length limit; last: only where none ended, ranked: by their scores"
    )
    coverage_penalty: float = option(
        0.0, "beta: above 0 lowers the score of targets that leave source tokens out, by the attention", ge=0, le=FACTOR
    )
    no_repeat: int = option(0, "no sequence of so many tokens comes twice in a target; 0: any may", ge=0, le=LENGTH)
    minimum_length: int = option(
        0, "no target has fewer tokens than this, if its length limit lets it", ge=0, le=LENGTH
    )
    repetition_penalty: float = option(
        1.0, "factor of the log-probability of a token that the target already has", ge=1, le=FACTOR
    )
    groups: int = option(1, "parts of the beam that avoid each other (diverse beam search)", ge=1, le=HYPOTHESES)
    diversity: float = option(
        0.5, "lowers a token's log-probability, once for each earlier group's hypothesis with it", ge=0, le=FACTOR
    )
    samples: int = option(0, "translations drawn at random per sentence; 0 searches instead", ge=0, le=SAMPLES)
    temperature: float = option(1.0, "of sampling: below 1 draws the probable more often", gt=0, le=FACTOR)
    top_k: int = option(0, "sampling draws among so many most probable tokens; 0: all", ge=0, le=LENGTH)
    top_p: float = option(1.0, "sampling draws among the fewest tokens whose probabilities add up to this", gt=0, le=1)
    seed: int = option(0, "of sampling: the same seed draws the same for a sentence", ge=0, le=SEED)
    minimum_bayes_risk: Literal["none", "chrf", "bleu"] = option(
        "none", "ranks hypotheses by how well the others agree with them, in this metric"
    )
    prefix: str = option("", "text that every translation begins with")
    required: tuple[str, ...] = option((), "texts that every translation holds")
    forbidden: tuple[str, ...] = option((), "texts that no translation holds, not even in a word")

    @property
    def hypotheses(self) -> int:
        """How many are made for each sentence."""
        return self.samples or self.beam

    @model_validator(mode="after")
    def _keys_go_together(self) -> "DecodingSettings":
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


TokenId = Annotated[int, Field(ge=0, lt=LENGTH)]


class TranscriptSettings(Settings):
    """The symbols before and in the texts of Whisper, and the tokens that its search leaves out.

    Radford et al. 2023, section 2.3 and figure 1: start of transcript, language, task, no timestamps; all as ids.
    """

    languages: dict[str, TokenId] = Field(default={}, description="the symbol of each language, such as de")
    language: str | None = Field(default=None, description="the language of sounds; none: it is detected")
    tasks: dict[str, TokenId] = Field(default={}, description="the symbols of the tasks transcribe and translate")
    task: Literal["transcribe", "translate"] = Field(default="transcribe", description="the task of all texts")
    opening: tuple[TokenId, ...] = Field(default=(), description="what all texts begin with, in place of these two")
    no_timestamps: TokenId | None = Field(default=None, description="the symbol before a text without timestamps")
    timestamps: TokenId | None = Field(default=None, description="the id of 0 s; each id after it is 0.02 s later")
    latest_start: TokenId | None = Field(default=None, description="the latest first timestamp, in steps of 0.02 s")
    suppressed: tuple[TokenId, ...] = Field(default=(), description="tokens that no text has")
    suppressed_first: tuple[TokenId, ...] = Field(default=(), description="tokens that no text begins with")
