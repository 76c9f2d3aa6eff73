"""Bodies of the route /v1/attention."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from openwork.serving.bodies.typed import Text
from openwork.serving.options import AttentionOptions

MOST_LAYERS = 1000
LONGEST_POSITION = 10_000
Number = Annotated[float, Field(allow_inf_nan=False)]


class NamedHead(BaseModel):
    """A head of the model; layer and head count from 0."""

    model_config = ConfigDict(extra="forbid")
    kind: Literal["encoder", "decoder", "cross"]
    layer: int = Field(ge=0, le=MOST_LAYERS)
    head: int = Field(ge=0, le=MOST_LAYERS)


class AttentionRequest(BaseModel):
    """A line to translate."""

    model_config = ConfigDict(extra="forbid")
    text: Text = Field(description="one line")
    source: Text | None = Field(None, description="its language, such as en; none: any")
    target: Text | None = Field(None, description="language of the translation; none: any")
    bundle: Text | None = Field(None, description="name of a bundle, in place of languages")
    translation: Text | None = Field(None, description="one line, in place of the bundle's own translation")
    without: NamedHead | None = Field(None, description="translate again without a head, whose output is zero")
    why: bool = Field(False, description="what explains the translation, by several methods; at most 127 pieces a side")
    position: int | None = Field(
        None,
        ge=0,
        le=LONGEST_POSITION,
        description="with why, also what explains this piece of the translation, from 0",
    )

    @property
    def options(self) -> AttentionOptions:
        head = self.without
        removed = None if head is None else (head.kind, head.layer, head.head)
        return AttentionOptions(self.translation, removed, self.why, self.position)


class SourcePiece(BaseModel):
    """A piece that the encoder reads; `start` and `end` are characters of the text, null for a symbol."""

    text: str
    start: int | None
    end: int | None
    special: bool


class TargetPiece(BaseModel):
    """A position of the decoder: what it reads, and what it predicts, with the characters of the translation."""

    input: str
    predicted: str
    start: int | None
    end: int | None
    special: bool
    logProbability: float | None = Field(description="of the predicted piece, in nats")


class HeadWeights(BaseModel):
    """All heads of a layer, counted from 0."""

    kind: Literal["encoder", "decoder", "cross"]
    layer: int
    heads: int
    rows: int
    columns: int
    weights: str = Field(description="base64 of little-endian 16-bit shares of 65,535, by head, row and column")


class HeadNumbers(BaseModel):
    """A head's entropy (nats) and distance (positions), its mean weight at offsets -1, 0 and +1, and its largest."""

    kind: Literal["encoder", "decoder", "cross"]
    layer: int
    head: int
    entropy: Number
    distance: Number
    before: Number
    same: Number
    after: Number
    largest: Number


class WrittenWeights(BaseModel):
    """Weights of each row, as `HeadWeights` writes those of one head."""

    rows: int
    columns: int
    weights: str


class FlowAnswer(BaseModel):
    """Attention flow to each source piece, from encoder outputs and from target positions; null: see flowReason."""

    encoder: WrittenWeights | None
    cross: WrittenWeights | None


class RolloutAnswer(BaseModel):
    """Attention through all layers of the encoder (Abnar and Zuidema 2020)."""

    encoder: WrittenWeights
    cross: WrittenWeights
    flow: FlowAnswer
    flowReason: str = Field(description="why flows are left out; empty where they are not")


class ChangedTranslation(NamedHead):
    """The bundle's own translation with all heads, and that without one, with its log-probability in nats."""

    original: str
    translation: str
    logProbability: Number


class MethodScores(BaseModel):
    """How much each source piece counts by a method."""

    method: str
    scores: list[Number]


class AttributionAnswer(BaseModel):
    """What explains the mean of all positions, or one; `value` and `baseline` in nats."""

    position: int | None
    value: Number
    baseline: Number = Field(description="the same with zero vectors for the source, where integrated gradients begin")
    steps: int
    methods: list[MethodScores]
    leftOut: dict[str, str] = Field(description="why a method is missing")


class CurveAnswer(BaseModel):
    """The log-probability (nats) of the translation when so many source pieces are gone, in the order of a method."""

    method: str
    order: list[int]
    removed: list[int]
    logProbabilities: list[Number]
    area: Number = Field(description="mean log-probability; the lower, the better the order")


class DeletionAnswer(BaseModel):
    """The curves of all methods, the mean of random orders last."""

    replacement: str
    seeds: int
    curves: list[CurveAnswer]


class AttentionAnswer(BaseModel):
    """A text, its translation, and the weights of all layers and heads; the last four only where they were asked for."""

    source: str
    translation: str
    sourcePieces: list[SourcePiece]
    targetPieces: list[TargetPiece]
    maps: list[HeadWeights]
    facts: list[HeadNumbers]
    rollout: RolloutAnswer | None = Field(description="null where the encoder has no weights between pieces")
    without: ChangedTranslation | None = None
    attributions: AttributionAnswer | None = None
    positionAttributions: AttributionAnswer | None = None
    deletion: DeletionAnswer | None = None
