"""The run file as a whole: the one place that knows which sections it has. No torch here."""

from typing import Any

from pydantic import model_validator

from openwork.base.config import Settings
from openwork.base.errors import RuleError
from openwork.base.tasks import task_of
from openwork.data.batching import BatchSettings
from openwork.data.filters import FilterSettings
from openwork.data.settings import DataSettings
from openwork.decoding.settings import DecodingSettings
from openwork.models.families import ModelSettings, of_grid, reads
from openwork.models.settings import ONE_VOCABULARY, TransformerSettings
from openwork.signals.settings import PictureSettings, SeriesSettings, SoundSettings
from openwork.text.settings import TextSettings
from openwork.training.settings import DistillationSettings, FineTuningSettings, TrainingSettings

# Of models that write; others have the score of their task, from 0 to 100.
METRICS = {"generate": ("bleu", "chrf", "exact", "loss"), "language-model": ("loss",)}


class RunSettings(Settings):
    """Everything that a training depends on."""

    data: DataSettings
    text: TextSettings = TextSettings()
    filters: FilterSettings = FilterSettings()
    batches: BatchSettings = BatchSettings()
    picture: PictureSettings | None = None
    sound: SoundSettings | None = None
    series: SeriesSettings | None = None
    model: ModelSettings = TransformerSettings()
    training: TrainingSettings = TrainingSettings()
    fine_tuning: FineTuningSettings = FineTuningSettings()
    distillation: DistillationSettings = DistillationSettings()
    decoding: DecodingSettings = DecodingSettings()

    @property
    def versions(self) -> int:
        """How many versions of the training pairs are kept, which epochs take in turns."""
        if self.text.sampling > 0:
            return self.text.samplings
        return len(self.changes) or 1

    @property
    def changes(self) -> list[dict[str, Any]]:
        """The ways in which each training source is read, as keywords of its encoder."""
        if self.sound is not None:
            return [{"speed": speed} for speed in self.sound.speeds]
        return (
            [{"shift": shift, "is_mirrored": is_mirrored} for shift, is_mirrored in self.picture.views]
            if self.picture is not None
            else []
        )

    @model_validator(mode="after")
    def _tying_fits_vocabularies(self) -> "RunSettings":
        # Two vocabularies of the same size would pass for one when the model is built.
        if self.model.tying in ONE_VOCABULARY and not self.text.shared:
            raise RuleError(
                f'text.shared = false gives each side a vocabulary of its own, and model.tying = "{self.model.tying}" '
                "needs one for both",
                hint='set text.shared = true, or model.tying = "target" where the model has it',
                code="C048",
            )
        return self

    @model_validator(mode="after")
    def _labels_and_metric_fit_the_task(self) -> "RunSettings":
        task, metric = task_of(self.model), self.training.metric
        kind = {"classify": "labels", "tag": "labels", "answer": "positions"}.get(task)
        if kind is not None and self.text.target_kind != kind:
            raise RuleError(
                f'model.task = "{task}" predicts labels, and the targets are cut into pieces of text',
                hint=f'set text.target_kind = "{kind}" and text.shared = false',
                code="C074",
            )
        if task == "embed":
            raise RuleError(
                'model.task = "embed" has nothing to learn: what it gives, the mean of vectors, has no right answer',
                hint='train with task = "fill", or read vectors of texts from a model that was: openwork.Embedder',
                code="C075",
            )
        if metric not in (measured := METRICS.get(task, ("score", "exact", "loss"))):
            raise RuleError(
                f'training.metric = "{metric}" is not measured of model.task = "{task}"',
                hint=f"set training.metric to one of: {', '.join(measured)}",
                code="C076",
            )
        if self.data.is_text and metric != "loss":
            raise RuleError(
                f"a text has no translations, which the metric {metric} needs",
                hint='set training.metric = "loss"',
                code="C087",
            )
        return self

    @model_validator(mode="after")
    def _pictures_fit_the_model(self) -> "RunSettings":
        pictures = any(part.pictures is not None for part in self.data.parts)
        if self.picture is None:
            if pictures or reads(self.model) == "pictures":
                raise RuleError(
                    f'pictures need a model that reads them and a section [picture]; the kind is "{self.model.kind}"',
                    hint='set model.kind = "vit", "cnn" or "captioner", such as by a preset, and give [picture]',
                    code="C147",
                )
            return self
        if reads(self.model) != "pictures":
            raise RuleError(
                f'[picture] is for models of pictures, and the kind "{self.model.kind}" reads {reads(self.model)}',
                hint='leave out the section [picture], or set model.kind = "vit", "cnn" or "captioner"',
                code="C148",
            )
        if self.picture.words is not None and self.model.kind != "captioner":
            raise RuleError(
                f'picture.words are for a model that writes answers, and the kind is "{self.model.kind}"',
                hint='leave picture.words out, or set model.kind = "captioner"',
                code="C162",
            )
        for key, needed in of_grid(self.model.model_dump(), self.picture.grid).items():
            if getattr(self.model, key) != needed:
                raise RuleError(
                    f"model.{key} is {getattr(self.model, key)}, and pictures of {self.picture.patches:,} patches need "
                    f"{needed:,}",
                    hint=f"leave model.{key} out: it follows from [picture]",
                    code="C149",
                )
        return self

    @model_validator(mode="after")
    def _sounds_fit_the_model(self) -> "RunSettings":
        sounds = any(part.sounds is not None for part in self.data.parts)
        if self.sound is None and (sounds or reads(self.model) == "sounds"):
            raise RuleError(
                f'sounds need a model that reads them and a section [sound]; the kind is "{self.model.kind}"',
                hint='set model.kind = "whisper" for sounds, such as the preset whisper-small, and give [sound]',
                code="C156",
            )
        if self.sound is not None and reads(self.model) != "sounds":
            raise RuleError(
                f'[sound] is for models that read sounds, and the kind "{self.model.kind}" reads {reads(self.model)}',
                hint='leave out the section [sound], or set model.kind = "whisper"',
                code="C157",
            )
        return self

    @model_validator(mode="after")
    def _series_fit_the_model(self) -> "RunSettings":
        if self.series is None:
            if any(part.series is not None for part in self.data.parts):
                raise RuleError("series need a section [series]", hint="give one, such as [series] alone", code="C159")
            return self
        if self.model.kind != "decoder" or self.text.kind != "labels":
            raise RuleError(
                "[series] is for a language model whose pieces are bins, "
                f'and these are the kind "{self.model.kind}" and pieces of the kind "{self.text.kind}"',
                hint='set model.kind = "decoder", such as by the preset gpt-small, and leave out text.kind',
                code="C160",
            )
        if self.data.validation is None:
            raise RuleError(
                "windows of one series overlap, so none can be held out for validation",
                hint="set data.valid_corpus, or name one corpus or file of series, which is divided by time",
                code="C161",
            )
        return self

    @model_validator(mode="after")
    def _teachers_fit_the_model(self) -> "RunSettings":
        if self.distillation.teachers and (task_of(self.model) != "generate" or self.data.is_text):
            raise RuleError(
                "distillation.teachers are for models that translate, and this one has another task",
                hint="leave the section [distillation] out",
                code="C164",
            )
        return self

    @property
    def needs_whole_batches(self) -> bool:
        """Whether a sentence's gradients depend on its batch, by batch normalisation: then none is divided."""
        return getattr(self.model, "normalisation", "layer") == "batch"

    @model_validator(mode="after")
    def _whole_batches_where_they_are_needed(self) -> "RunSettings":
        if self.needs_whole_batches and (self.training.workers or 1) > 1:
            raise RuleError(
                f"training.workers = {self.training.workers} divides every batch, and batch normalisation takes its "
                "statistics from whole ones",
                hint='set training.workers = 1; or model.normalisation = "layer", where the model has it',
                code="C092",
            )
        if self.needs_whole_batches and self.training.compile == "on":
            raise RuleError(
                'training.compile = "on" compiles layers, and those with batch normalisation are computed as written',
                hint='set training.compile = "auto"; or model.normalisation = "layer", where the model has it',
                code="C093",
            )
        return self
