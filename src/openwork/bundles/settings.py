"""The settings of a bundle, and the tokenizers of its task. No torch here."""

from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any, Protocol

from pydantic import Field
from safetensors import SafetensorError, safe_open

from openwork.base.config import Layer, Settings, build, read_written_file
from openwork.base.errors import BundleError, ConfigError
from openwork.base.regular_files import check_regular
from openwork.base.sources import SourceEncoder
from openwork.base.tasks import Task, task_of
from openwork.bundles.folder import CONFIG, WEIGHTS
from openwork.decoding.settings import DecodingSettings, TranscriptSettings
from openwork.models.families import ModelSettings
from openwork.signals.bins import Bins
from openwork.signals.mel import SoundFrames
from openwork.signals.patches import PicturePatches
from openwork.signals.settings import PictureSettings, SeriesSettings, SoundSettings
from openwork.text.forms import SegmentPairTokenizer, WordLevelTokenizer, unwrapped
from openwork.text.pair import TokenizerPair
from openwork.text.pieces.alphabet import Again
from openwork.text.tokenizer import Tokenizer


class BundleSettings(Settings):
    """The settings that are needed to use the weights."""

    model: ModelSettings
    picture: PictureSettings | None = Field(default=None, description="how pictures are prepared")
    sound: SoundSettings | None = Field(default=None, description="how sounds are prepared")
    series: SeriesSettings | None = Field(default=None, description="how series are prepared")
    decoding: DecodingSettings = DecodingSettings()
    transcript: TranscriptSettings | None = Field(default=None, description="the symbols of Whisper's texts")
    source_language: str | None = Field(default=None, description="language of the source, such as en")
    target_language: str | None = Field(default=None, description="language of the target, such as de")


def read_bundle_settings(current: Path, folder: Path) -> tuple[BundleSettings, Layer]:
    """The settings of a bundle from `whole_bundle`, and the layer of its file; errors name `folder`.

    BundleError for an invalid file, and for a model with more layers than weights.
    """
    try:
        layer = read_written_file(current / CONFIG)
        settings = build(BundleSettings, layer.mapping, layer.origins)
    except ConfigError as error:
        raise BundleError(
            f"{folder}: its {CONFIG} is not understood",
            why=error.what,
            hint="copy the bundle again; what openwork train wrote is not meant to be edited",
            code="B040",
        ) from error
    _check_layers(settings, _names_of_weights(current / WEIGHTS), folder)
    return settings, layer


def _check_layers(settings: BundleSettings, weights: Collection[str], folder: Path) -> None:
    """BundleError for more layers than tensors: each layer has weights of its own."""
    layers = (number for name, number in settings.model.model_dump().items() if name.endswith("layers"))
    if max(layers, default=0) > len(weights):
        raise BundleError(
            f"{folder}: these weights belong to another model",
            why="it has more layers than they have",
            hint="copy the bundle again; what openwork train wrote is not meant to be edited",
            code="B059",
        )


def _names_of_weights(path: Path) -> Collection[str]:
    try:
        check_regular([path])
        with safe_open(path, framework="np") as weights:
            return weights.keys()
    except (OSError, SafetensorError) as error:
        raise BundleError(
            f"{path}: damaged or not a safetensors file",
            why=str(error),
            hint="copy the whole folder again",
            code="B061",
        ) from error


_SOURCE_TOKENIZERS: dict[str, Callable[..., Any]] = {
    "tag": WordLevelTokenizer.of,
    "classify": SegmentPairTokenizer.of,
    "answer": lambda tokenizer: SegmentPairTokenizer.of(WordLevelTokenizer.of(tokenizer)),
}


def vocabulary_lines(lines: Iterable[str], task: Task) -> Iterable[str]:
    """Lines to learn a vocabulary from, with spaces as the task's tokenizer sees them; as often readable as `lines`."""
    if task not in ("tag", "answer"):
        return lines
    return Again(lambda: (f" {' '.join(line.split())}" for line in lines))  # the first word has a space before it too


class _Encoding(Protocol):
    """The settings of a run or of a bundle."""

    @property
    def model(self) -> Any: ...
    @property
    def picture(self) -> PictureSettings | None: ...
    @property
    def sound(self) -> SoundSettings | None: ...
    @property
    def series(self) -> SeriesSettings | None: ...


def load_tokenizers(folder: Path, settings: _Encoding) -> TokenizerPair:
    """The tokenizers in the folder of a run or bundle, as its task needs them; sources that are no text need none."""
    return bins_checked(
        tokenizers_for_task(TokenizerPair.load(folder, encoder_of(settings)), task_of(settings.model)), settings, folder
    )


def bins_checked(tokenizers: TokenizerPair, settings: _Encoding, place: Path) -> TokenizerPair:
    """The same tokenizers; BundleError where their pieces are not the bins of [series]."""
    if settings.series is not None and getattr(tokenizers.target, "names", []) != Bins(settings.series).names:
        raise BundleError(
            f"{place}: its pieces are not the bins of [series]",
            hint="leave series.bins and series.limit out: a model keeps those that it was trained with",
            code="B080",
        )
    return tokenizers


def encoder_of(settings: _Encoding) -> SourceEncoder | None:
    """What reads sources that are no text; None for texts, whose tokenizer is a file."""
    if settings.sound is not None:
        return SoundFrames(settings.sound)
    return None if settings.picture is None else PicturePatches(settings.picture)


def tokenizers_for_task(tokenizers: TokenizerPair, task: Task) -> TokenizerPair:
    """The tokenizers with a source tokenizer that splits words or segments as the task needs."""
    if task not in _SOURCE_TOKENIZERS or not isinstance(tokenizers.encoder, Tokenizer):
        return tokenizers
    return TokenizerPair(_SOURCE_TOKENIZERS[task](unwrapped(tokenizers.source)), tokenizers.target)
