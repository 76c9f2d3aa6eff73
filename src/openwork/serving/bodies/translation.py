"""Bodies of openwork's own routes."""

from pydantic import BaseModel, ConfigDict, Field

from openwork.serving.bodies.typed import Text
from openwork.serving.options import TextConstraints, TranslationOptions

MOST_ALTERNATIVES = 16
MOST_TEXTS = 100  # of each kind that a translation must have or not have
LONGEST_POSITION = 10_000
NEXT_PIECES = 5  # are listed where `best` says no number


class TranslationRequest(BaseModel):
    """One text or several; lines of a text are translated one by one."""

    model_config = ConfigDict(extra="forbid")
    text: Text | list[Text]
    source: Text | None = Field(None, description="language of the texts, such as en; none: any")
    target: Text | None = Field(None, description="language of the translations; none: any")
    bundle: Text | None = Field(None, description="name of a bundle, in place of languages")
    best: int = Field(1, ge=1, le=MOST_ALTERNATIVES, description="translations of each line, of texts of one line")
    prefix: Text = Field("", description="how each translation begins")
    required: list[Text] = Field([], max_length=MOST_TEXTS, description="texts that each translation must contain")
    forbidden: list[Text] = Field([], max_length=MOST_TEXTS, description="texts that no translation may contain")
    terms: dict[Text, Text] = Field(
        {}, max_length=1000, description="a glossary: what the translation of a line with the term must contain"
    )
    explain: bool = Field(False, description="which parts come from which, and how probable each is; of one line")
    position: int | None = Field(
        None, ge=0, le=LONGEST_POSITION,
        description=f"list the likeliest pieces after so many of the translation, {NEXT_PIECES} or best; of one line",
    )  # fmt: skip
    stream: bool = Field(False, description="send parts as they are found, as server-sent events; of one line")

    @property
    def texts(self) -> list[str]:
        return [self.text] if isinstance(self.text, str) else self.text

    @property
    def options(self) -> TranslationOptions:
        """Of what is not streamed."""
        listed = 0 if self.position is None else self.best if self.best > 1 else NEXT_PIECES
        return TranslationOptions(
            self.best, align=self.explain, explain=self.explain, position=self.position or 0, next_pieces=listed
        )

    @property
    def constraints(self) -> TextConstraints:
        return TextConstraints(self.prefix, tuple(self.required), tuple(self.forbidden))

    def problem(self) -> str:
        """What does not go together; empty where all does."""
        is_one_line = not any("\n" in text for text in self.texts)
        if self.stream and (len(self.texts) != 1 or not is_one_line or self.best != 1):
            return "stream is for one line, and its best translation"
        if self.stream and (self.explain or self.position is not None):
            return "stream does not go with explain and position"
        if not is_one_line and (self.explain or self.position is not None):
            return "explain and position are for texts of one line"
        return ""


class RankedText(BaseModel):
    """A translation of a line, and what it is ranked by."""

    text: str
    score: float
    log_probability: float
    finished: bool = Field(description="it ends with the end symbol, not at the length limit")


class NextPiece(BaseModel):
    """A piece that could come next, and the best translation that goes on with it."""

    piece: str
    probability: float
    text: str


class AlignedText(BaseModel):
    """Which pieces of a text those of its translation come from; places are (first character, the one after the last).

    A row of weights is for a piece of the translation, and has one for each piece of the source. Without attention to
    the source, or for texts that are too long, all are empty but the probabilities.
    """

    source: list[tuple[int, int]]
    target: list[tuple[int, int]]
    weights: list[list[float]]


class ExplainedText(BaseModel):
    """An alignment, and the log-probability (nats) of each piece, the end symbol last."""

    pieces: list[str]
    log_probabilities: list[float | None]
    alignment: AlignedText


class TranslatedText(BaseModel):
    """The best translation of a text, and others of it; of several lines joined, without what a line alone has."""

    text: str
    score: float | None = None
    log_probability: float | None = None
    finished: bool = True
    cut: bool = Field(False, description="the source was too long and lost its end")
    missing: list[str] = Field([], description="placeholders of the source that the translation lacks")
    problem: str = Field("", description="why there is no translation")
    flags: list[str] = Field([], description="reasons not to trust it (docs/guard.md)")
    alternatives: list[RankedText] = []
    explanation: ExplainedText | None = None
    next_pieces: list[NextPiece] = []


class TranslationAnswer(BaseModel):
    """A translation for each text, in their order."""

    bundle: str
    translations: list[TranslatedText]


class StateAnswer(BaseModel):
    """Whether the server takes requests."""

    status: str


class BundleAnswer(BaseModel):
    """A translator that is served; a language is empty where the bundle does not say it."""

    name: str
    source: str
    target: str
