"""Settings of the Transformer, and of its decoder and its encoder alone. No torch here, so that help is instant."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from openwork.base.config import Settings
from openwork.base.errors import RuleError
from openwork.base.fields import option
from openwork.base.limits import LENGTH, DropRate, LayerCount
from openwork.models.layer_settings import LayerSettings

Tying = Annotated[
    Literal["three-way", "target", "none"],
    option(
        ...,
        "which of source embedding, target embedding and output matrix are one",
        values={
            "three-way": "all three (Vaswani et al. 2017, section 3.4)",
            "target": "target embedding and output matrix (Press and Wolf 2017)",
            "none": "each its own",
        },
    ),
]

LanguageTying = Annotated[
    Literal["three-way", "embeddings"],
    option(
        ...,
        "what is one besides the embeddings of prompt and continuation, which always are",
        values={
            "three-way": "the output matrix as well (Press and Wolf 2017; Radford et al. 2019, GPT-2)",
            "embeddings": "nothing: the output matrix is its own (Touvron et al. 2023, LLaMA)",
        },
    ),
]

ONE_VOCABULARY = ("three-way", "embeddings")
"""The choices that take one vocabulary for source and target."""


PAPER = "Vaswani et al. 2017, section"
GPT = "Radford et al. 2018 (GPT), section"
BERT = "Devlin et al. 2019, section"
VIT = "Dosovitskiy et al. 2021, section"
WHISPER = "Radford et al. 2023 (Whisper), section"


class _Stacks(Settings):
    kind: Literal["transformer"] = "transformer"
    encoder_layers: LayerCount = option(6, "N of the encoder", f"{PAPER} 3.1")
    decoder_layers: LayerCount = option(6, "N of the decoder", f"{PAPER} 3.1")
    tying: Tying = "three-way"
    start_vector: Literal["learned", "zeros"] = option(
        "learned",
        "what the decoder reads before the first token: learned is the paper's",
        values={
            "learned": "the embedding of a start symbol (Vaswani et al. 2017, figure 1)",
            "zeros": "zeros, which stay zeros in training (the authors' own tensor2tensor; Marian)",
        },
    )


class TransformerSettings(LayerSettings, _Stacks):
    """The encoder-decoder of the paper; the defaults are its base model."""


class _Stack(Settings):
    kind: Literal["decoder"] = "decoder"
    layers: LayerCount = option(12, "layers, each of masked self-attention and a feed-forward network", f"{GPT} 4.1")
    tying: LanguageTying = "three-way"
    separate_prompt: bool = option(
        False, "a start symbol after the prompt too, so that the model sees where the prompt ends", f"{GPT} 3.3"
    )


class DecoderSettings(LayerSettings, _Stack):
    """The decoder of the paper without an encoder: it continues what it has read (Radford et al. 2018, GPT)."""

    @model_validator(mode="after")
    def _sees_no_later_token(self) -> "DecoderSettings":
        if self.attention_pattern == "low-rank":
            raise RuleError(
                "low-rank attention mixes all tokens of a text, and a language model must not see later ones",
                hint='set attention_pattern = "window" or "blocks"',
                code="C154",
            )
        return self


Count = Annotated[int, Field(ge=0, le=LENGTH)]
EncoderTask = Literal["classify", "tag", "fill", "answer", "embed"]


class _Head(Settings):
    kind: Literal["encoder"] = "encoder"
    task: EncoderTask = option(
        "classify",
        "what the model predicts of a source",
        values={
            "classify": "one label, from the vector of the start symbol (Devlin et al. 2019, figure 4 a and b)",
            "tag": "one label for each token that begins a word (Devlin et al. 2019, figure 4 d)",
            "fill": "the source with its masked pieces restored (Devlin et al. 2019, section 3.1)",
            "answer": "the first and the last word of an answer in the source (Devlin et al. 2019, figure 4 c)",
            "embed": "a vector for the whole, the mean of its tokens' (Reimers and Gurevych 2019)",
        },
    )
    layers: LayerCount = option(12, "L: layers of the encoder", f"{BERT} 3")
    segments: Count = option(
        0,
        "learned vectors for the segments of a source, each closed by an end symbol; 0: none, BERT has 2",
        f"{BERT} 3",
    )
    mask_piece: Count = option(
        1, "the id of the piece that replaces a masked one (fill); by default 1, the unknown symbol", f"{BERT} 3.1"
    )

    @property
    def tying(self) -> Literal["three-way", "none"]:
        """Pieces of the source are predicted by the matrix of the embedding; labels have their own matrix."""
        return "three-way" if self.task in ("fill", "embed") else "none"


class PictureModelSettings(Settings):
    """What all models share that read a picture and predict its class."""

    @property
    def task(self) -> Literal["classify"]:
        """What the model predicts of a picture: one label."""
        return "classify"

    @property
    def tying(self) -> Literal["none"]:
        """Numbers have no embeddings that could be the labels' matrix too."""
        return "none"

    @property
    def reads(self) -> Literal["pictures"]:
        """What its sources are; the other families read text."""
        return "pictures"


class _NumbersToText(Settings):
    """What models share that read numbers and write a text."""

    tying: Annotated[
        Literal["target", "none"],
        option(
            "target",
            "which matrices are one; sources of numbers have no embeddings",
            values={"target": "target embedding and output matrix (Press and Wolf 2017)", "none": "each its own"},
        ),
    ]


class _Captions(_NumbersToText):
    kind: Literal["captioner"] = "captioner"
    encoder_layers: LayerCount = option(6, "layers of the encoder, which reads patches", f"{VIT} 3.1")
    decoder_layers: LayerCount = option(6, "layers of the decoder, which writes", f"{PAPER} 3.1")

    @property
    def reads(self) -> Literal["pictures"]:
        """What its sources are; the other families read text or sounds."""
        return "pictures"


class CaptionSettings(LayerSettings, _Captions):
    """A Transformer whose encoder reads a picture as a sequence of patches and whose decoder writes its text."""

    @model_validator(mode="after")
    def _reads_pictures_of_any_size(self) -> "CaptionSettings":
        _check_any_length(self)
        return self


def _check_any_length(settings: LayerSettings) -> None:
    """RuleError for attention with weights for each position, of which sources of numbers have any number."""
    if settings.attention_pattern == "low-rank":
        raise RuleError(
            "low-rank attention has weights for each position, and the model bounds no source of pictures or sounds",
            hint='set attention_pattern = "window" or "blocks"',
            code="C158",
        )


class _Speech(_NumbersToText):
    kind: Literal["whisper"] = "whisper"
    encoder_layers: LayerCount = option(4, "layers of the encoder", f"{WHISPER} 2.2")
    decoder_layers: LayerCount = option(4, "layers of the decoder", f"{WHISPER} 2.2")
    masked: DropRate = option(
        0.0,
        "the largest share of a sound's rows, and of its bands, that training hides",
        "Park et al. 2019 (SpecAugment)",
    )

    @property
    def reads(self) -> Literal["sounds"]:
        """What its sources are; the other families read text or pictures."""
        return "sounds"


class SpeechSettings(LayerSettings, _Speech):
    """Whisper: a Transformer whose encoder reads a sound as rows of numbers, two of them a position."""

    @model_validator(mode="after")
    def _reads_sounds_of_any_length(self) -> "SpeechSettings":
        _check_any_length(self)
        return self


class _Patches(PictureModelSettings):
    kind: Literal["vit"] = "vit"
    layers: LayerCount = option(12, "L: layers of the encoder", f"{VIT} 4.1")
    pooling: Literal["class", "mean"] = option(
        "class",
        "the vector that the label is predicted from",
        values={
            "class": "that of the class token, a learned vector before the patches (Dosovitskiy et al. 2021, 3.1)",
            "mean": "the mean of the patches' vectors (Dosovitskiy et al. 2021, appendix D.3)",
        },
    )


class VisionSettings(LayerSettings, _Patches):
    """The Vision Transformer: an encoder that reads a picture as a sequence of patches and predicts its class."""


class EncoderSettings(LayerSettings, _Head):
    """An encoder that reads in both directions, and a head that predicts something of the source."""
