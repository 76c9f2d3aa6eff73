"""The settings of the sections [training] and [fine_tuning]. No torch here, so that help and checks are instant."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from openwork.base.config import Settings
from openwork.base.errors import RuleError
from openwork.base.fields import option
from openwork.base.limits import BATCHES, CHECKPOINTS, FACTOR, LINES, RATIO, THREADS, UPDATES

UpdateCount = Annotated[int, Field(ge=1, le=UPDATES)]
Updates = Annotated[int, Field(ge=0, le=UPDATES)]
Share = Annotated[float, Field(ge=0, lt=1)]
Factor = Annotated[float, Field(gt=0, le=FACTOR)]
Weight = Annotated[float, Field(ge=0, le=FACTOR)]
ThreadCount = Annotated[int, Field(ge=1, le=THREADS)]

OptimiserName = Literal["adam", "adamw", "sgd", "adagrad", "adafactor", "muon"]


class TrainingSettings(Settings):
    """How a model is trained; the defaults of Adam are the paper's (section 5.3)."""

    seed: int = option(1, "every random choice of the run follows from it", ge=0, lt=2**32)
    steps: UpdateCount = option(100_000, "updates of the weights, at most")
    accumulate: int = option(1, "batches whose gradients make one update", ge=1, le=BATCHES)
    schedule: Literal["paper", "inverse-square-root", "cosine", "linear", "slanted-triangular", "constant"] = option(
        "paper",
        "paper: rate from width and step (equation 3); the others rise to learning_rate, and then do as "
        "they are called",
    )
    learning_rate: Factor = option(1e-3, "peak rate of every schedule but the paper's")
    lowest_rate: Weight = option(0.0, "rate that cosine and linear fall to")
    slant: float = option(32.0, "slanted-triangular: how many times its lowest rate the peak is", gt=1, le=RATIO)
    schedule_scale: Factor = option(1.0, "factor on the paper's schedule")
    warmup: UpdateCount = option(4000, "updates in which the rate rises linearly")
    cooldown: Updates = option(0, "last updates, in which the rate also falls linearly to 0")
    layer_groups: tuple[str, ...] = option(
        (),
        "weights that learn at rates and from updates of their own: the last layers first, each group as "
        'names with spaces between, such as "output bias pooler"; what no group names is one more, the last',
    )
    layer_decay: float = option(
        1.0, "what the rate of each group is divided by to give that of the next", ge=1, le=FACTOR
    )
    unfreeze_every: Updates = option(
        0, "updates after which one more of layer_groups begins to learn; 0: all from the first"
    )
    optimiser: OptimiserName = option(
        "adam",
        "adam is the paper's; muon learns more from each update; adafactor's rate is relative to the weights' size",
    )
    beta1: Share = option(0.9, "Adam: decay of the mean of the gradients")
    beta2: Share = option(0.98, "Adam: decay of the mean of their squares")
    epsilon: Factor = option(1e-9, "Adam and AdaGrad: added to the divisor")
    weight_decay: Share = option(0.0, "adamw: share of each weight, times the rate, that an update takes away")
    momentum: Share = option(0.9, "sgd: what remains of earlier gradients an update")
    matrix_rate: Factor = option(4.0, "muon: rate of the matrices of linear layers, times that of all other weights")
    label_smoothing: Share = option(0.1, "epsilon_ls: probability spread over the vocabulary")
    smoothing_form: Literal["vocabulary", "others"] = option(
        "vocabulary", "who shares label_smoothing evenly: all V tokens (Szegedy et al. 2016), or the V - 1 wrong ones"
    )
    r_drop: Weight = option(0.0, "alpha of R-Drop: weight of the divergence of two passes that differ in dropout")
    ema: Share = option(0.0, "decay an update of a moving average of the weights; 0: none is kept")
    clip_norm: float = option(1.0, "greatest norm of an update's gradient; 0: no clipping", ge=0, le=RATIO)
    precision: Literal["auto", "float32", "bfloat16"] = option(
        "auto", "type of the matrix products; auto measures which is faster here"
    )
    threads: ThreadCount | None = option(
        None,
        "threads of a processor; by itself as many as there are cores. Where several share a worker they wait for the "
        "slowest: those are as many as there are cores that no other program uses when the run begins",
    )
    workers: ThreadCount | None = option(
        None,
        "parts of every batch, each computed by a thread of its own, those of all processes together; by "
        "itself as many as there are cores, on a GPU 1",
    )
    sharding: Literal["none", "optimiser", "full"] = option(
        "none",
        "what several processes divide between them instead of keeping it whole: nothing, the optimiser's "
        "state, or also weights and gradients (FSDP2)",
    )
    layout: Literal["auto", "padded", "packed"] = option(
        "auto", "a batch's sentences padded to one length, or packed into one row; auto packs them on a GPU"
    )
    mask_share: float = option(0.15, "of a sentence's pieces, those that a model is to restore (task fill)", gt=0, lt=1)
    mask_whole_words: bool = option(False, "mask whole words, all pieces of each, instead of single pieces (task fill)")
    compile: Literal["auto", "on", "off"] = option(
        "auto",
        "compile the layers of encoder and decoder while training; auto does on a GPU that does not replay passes as "
        "graphs",
    )
    prefetch: int | None = option(
        None, "batches prepared ahead by a thread beside; 2 on a GPU, 0 on a CPU", ge=0, le=BATCHES
    )
    validate_every: UpdateCount = option(500, "updates between validations; each also saves a checkpoint")
    validation_sentences: int = option(
        1000, "validation sentences that are translated for the score; 0: loss only", ge=0, le=LINES
    )
    metric: Literal["loss", "bleu", "chrf", "exact", "score"] = option(
        "bleu", "validation figure that says which checkpoint is best; score: accuracy or F1 of labels"
    )
    patience: UpdateCount = option(10, "validations without a better figure after which training stops")
    average: int = option(
        5, "checkpoints in a mean; it becomes the model if its loss is lower; 1: no mean", ge=1, le=CHECKPOINTS
    )
    log_every: UpdateCount = option(50, "updates between records and plain log lines")
    tensorboard: bool = option(False, "also write the curves for TensorBoard, into the run's folder tensorboard")

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


class DistillationSettings(Settings):
    """A training that also learns the probabilities of teachers (Kim and Rush 2016, section 3.1).

        (1 - share) * loss of the targets + share * -sum over v of p_teacher(v) log p(v)

    Nothing of it happens without `teachers`.
    """

    teachers: tuple[str, ...] = option((), "folders of bundles with the vocabulary of this run; several: an ensemble")
    share: Share = option(0.5, "of the loss, what is the teachers' probabilities; the rest is that of the targets")
    top: int = option(
        8,
        "how many of a token's largest probabilities are kept; they are made to add up to 1",
        ge=1,
        le=256,
    )


class FineTuningSettings(Settings):
    """A training that goes on from a trained system; nothing of it happens without `from_bundle`."""

    from_bundle: str | None = option(
        None, "folder of the bundle whose weights, vocabulary and sizes the training begins with"
    )
    new_pieces: int = option(0, "pieces that each vocabulary gains from the new sentences, at most", ge=0, le=1_000_000)
    frozen: tuple[str, ...] = option(
        (), 'weights that stay as they are, by name, such as "encoder" or "decoder.layers.0.*"'
    )

    keep_zeros: bool = option(
        False, "what is zero in the bundle's matrices stays zero, as after openwork prune --weights"
    )
    quantise: Literal["int4"] | None = option(
        None, "the type that matrices are rounded to in every pass, and in the bundle (quantisation-aware training)"
    )
    low_rank: int = option(
        0, "rank of the adapters that learn in place of all weights (LoRA); 0: none, 8 is usual", ge=0, le=4096
    )
    low_rank_parts: tuple[str, ...] = option(
        ("*.query", "*.value"),
        'linear layers that get adapters, by name, such as "decoder" or "*.cross_attention.*"',
        min_length=1,
    )
    low_rank_scale: Factor = option(1.0, "what an adapter's output is multiplied by; alpha / rank in the paper")

    @model_validator(mode="after")
    def _has_a_beginning(self) -> "FineTuningSettings":
        asked = self.new_pieces or self.frozen or self.low_rank or self.keep_zeros or self.quantise
        if self.from_bundle is None and asked:
            raise RuleError(
                "new_pieces, frozen, keep_zeros, quantise and low_rank are for a training that begins with a bundle",
                hint="set from_bundle, or leave them out",
                code="C043",
            )
        if self.low_rank and self.keep_zeros:
            raise RuleError(
                "keep_zeros and low_rank do not go together: adapters add something to every weight of a layer",
                hint="leave one of them out",
                code="C168",
            )
        if self.low_rank and self.quantise:
            raise RuleError(
                "quantise and low_rank do not go together: adapters are added to the weights before these are rounded",
                hint="leave one of them out",
                code="C169",
            )
        return self
