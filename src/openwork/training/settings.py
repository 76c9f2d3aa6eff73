"""The settings of the sections [training] and [fine_tuning]. No torch here, so that help and checks are instant."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from openwork.base.config import Settings
from openwork.base.errors import RuleError
from openwork.base.limits import BATCHES, CHECKPOINTS, FACTOR, LINES, RATIO, THREADS, UPDATES

UpdateCount = Annotated[int, Field(ge=1, le=UPDATES)]
Updates = Annotated[int, Field(ge=0, le=UPDATES)]
Share = Annotated[float, Field(ge=0, lt=1)]
Factor = Annotated[float, Field(gt=0, le=FACTOR)]
Weight = Annotated[float, Field(ge=0, le=FACTOR)]

OptimiserName = Literal["adam", "adamw", "sgd", "adagrad", "adafactor"]


class TrainingSettings(Settings):
    """How a model is trained; the defaults of Adam are the paper's (section 5.3)."""

    seed: int = Field(default=1, ge=0, lt=2**32, description="every random choice of the run follows from it")
    steps: UpdateCount = Field(default=100_000, description="updates of the weights, at most")
    accumulate: int = Field(default=1, ge=1, le=BATCHES, description="batches whose gradients make one update")
    schedule: Literal["paper", "inverse-square-root", "cosine", "linear", "slanted-triangular", "constant"] = Field(
        default="paper",
        description="paper: rate from width and step (equation 3); the others rise to learning_rate, and then do as "
        "they are called",
    )
    learning_rate: Factor = Field(default=1e-3, description="peak rate of every schedule but the paper's")
    lowest_rate: Weight = Field(default=0.0, description="rate that cosine and linear fall to")
    slant: float = Field(
        default=32.0, gt=1, le=RATIO, description="slanted-triangular: how many times its lowest rate the peak is"
    )
    schedule_scale: Factor = Field(default=1.0, description="factor on the paper's schedule")
    warmup: UpdateCount = Field(default=4000, description="updates in which the rate rises linearly")
    cooldown: Updates = Field(default=0, description="last updates, in which the rate also falls linearly to 0")
    layer_groups: tuple[str, ...] = Field(
        default=(),
        description="weights that learn at rates and from updates of their own: the last layers first, each group as "
        'names with spaces between, such as "output bias pooler"; what no group names is one more, the last',
    )
    layer_decay: float = Field(
        default=1.0, ge=1, le=FACTOR, description="what the rate of each group is divided by to give that of the next"
    )
    unfreeze_every: Updates = Field(
        default=0, description="updates after which one more of layer_groups begins to learn; 0: all from the first"
    )
    optimiser: OptimiserName = Field(
        default="adam", description="adam is the paper's; the rate of adafactor is relative to the weights' size"
    )
    beta1: Share = Field(default=0.9, description="Adam: decay of the mean of the gradients")
    beta2: Share = Field(default=0.98, description="Adam: decay of the mean of their squares")
    epsilon: Factor = Field(default=1e-9, description="Adam and AdaGrad: added to the divisor")
    weight_decay: Share = Field(
        default=0.0, description="adamw: share of each weight, times the rate, that an update takes away"
    )
    momentum: Share = Field(default=0.9, description="sgd: what remains of earlier gradients an update")
    label_smoothing: Share = Field(default=0.1, description="epsilon_ls: probability spread over the vocabulary")
    smoothing_form: Literal["vocabulary", "others"] = Field(
        default="vocabulary",
        description="who shares label_smoothing evenly: all V tokens (Szegedy et al. 2016), or the V - 1 wrong ones",
    )
    r_drop: Weight = Field(
        default=0.0, description="alpha of R-Drop: weight of the divergence of two passes that differ in dropout"
    )
    ema: Share = Field(default=0.0, description="decay an update of a moving average of the weights; 0: none is kept")
    clip_norm: float = Field(
        default=1.0, ge=0, le=RATIO, description="greatest norm of an update's gradient; 0: no clipping"
    )
    precision: Literal["auto", "float32", "bfloat16"] = Field(
        default="auto", description="type of the matrix products; auto measures which is faster here"
    )
    workers: int | None = Field(
        default=None,
        ge=1,
        le=THREADS,
        description="parts of every batch, each computed by a thread of its own, those of all processes together; by "
        "itself as many as there are cores, on a GPU 1",
    )
    sharding: Literal["none", "optimiser", "full"] = Field(
        default="none",
        description="what several processes divide between them instead of keeping it whole: nothing, the optimiser's "
        "state, or also weights and gradients (FSDP2)",
    )
    layout: Literal["auto", "padded", "packed"] = Field(
        default="auto",
        description="a batch's sentences padded to one length, or packed into one row; auto packs them on a GPU",
    )
    mask_share: float = Field(
        default=0.15, gt=0, lt=1, description="of a sentence's pieces, those that a model is to restore (task fill)"
    )
    mask_whole_words: bool = Field(
        default=False, description="mask whole words, all pieces of each, instead of single pieces (task fill)"
    )
    compile: Literal["auto", "on", "off"] = Field(
        default="auto", description="compile the layers of encoder and decoder while training; auto does on a GPU"
    )
    prefetch: int | None = Field(
        default=None,
        ge=0,
        le=BATCHES,
        description="batches prepared ahead by a thread beside; 2 on a GPU, 0 on a CPU",
    )
    validate_every: UpdateCount = Field(
        default=500, description="updates between validations; each also saves a checkpoint"
    )
    validation_sentences: int = Field(
        default=1000, ge=0, le=LINES, description="validation sentences that are translated for the score; 0: loss only"
    )
    metric: Literal["loss", "bleu", "chrf", "exact", "score"] = Field(
        default="bleu",
        description="validation figure that says which checkpoint is best; score: accuracy or F1 of labels",
    )
    patience: UpdateCount = Field(
        default=10, description="validations without a better figure after which training stops"
    )
    average: int = Field(
        default=5,
        ge=1,
        le=CHECKPOINTS,
        description="checkpoints in a mean; it becomes the model if its loss is lower; 1: no mean",
    )
    log_every: UpdateCount = Field(default=50, description="updates between records and plain log lines")
    tensorboard: bool = Field(
        default=False, description="also write the curves for TensorBoard, into the run's folder tensorboard"
    )

    @model_validator(mode="after")
    def _rules_hold(self) -> "TrainingSettings":
        if self.cooldown > self.steps:
            raise RuleError(
                f"cooldown ({self.cooldown}) cannot be longer than the run ({self.steps} steps)",
                hint="set cooldown lower, or steps higher",
                code="C066",
            )
        if self.lowest_rate > self.learning_rate:
            raise RuleError(
                f"lowest_rate ({self.lowest_rate:g}) is above learning_rate ({self.learning_rate:g}), "
                "from which the schedule falls",
                hint="set it lower, or leave it out",
                code="C067",
            )
        if not self.layer_groups and (self.layer_decay != 1 or self.unfreeze_every):
            raise RuleError(
                "layer_decay and unfreeze_every are for groups of layers, and layer_groups names none",
                hint="name the parts of the model in layer_groups, the last layers first, or leave them out",
                code="C096",
            )
        if any(not group.split() for group in self.layer_groups):
            raise RuleError(
                "a group of layer_groups is empty",
                hint="give it the name of a part, or leave the group out",
                code="C097",
            )
        last = self.unfreeze_every * len(self.layer_groups) + 1
        if last > self.steps:
            raise RuleError(
                f"the last group of layers would begin to learn at update {last:,}, and the run has {self.steps:,}",
                hint="set unfreeze_every lower, or steps higher",
                code="C098",
            )
        if self.weight_decay and self.optimiser != "adamw":
            raise RuleError(
                f"weight_decay has no effect with the optimiser {self.optimiser}",
                hint='set optimiser = "adamw", or leave weight_decay out',
                code="C068",
            )
        if self.metric != "loss" and self.validation_sentences == 0:
            raise RuleError(
                f"the metric {self.metric} needs translations, and validation_sentences is 0",
                hint='set validation_sentences, or metric = "loss"',
                code="C069",
            )
        return self


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
    low_rank_scale: Factor = Field(
        default=1.0, description="what an adapter's output is multiplied by; alpha / rank in the paper"
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
