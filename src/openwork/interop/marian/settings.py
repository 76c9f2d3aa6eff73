"""Settings of a Transformer in Marian's words, and those of the search."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, cast

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from openwork import __version__
from openwork.base.errors import BundleError
from openwork.base.messages import msg
from openwork.decoding.settings import DecodingSettings
from openwork.interop.exports import MARIAN_EPSILON
from openwork.models.settings import TransformerSettings, Tying

LONGEST_FACTOR = 10  # tokens of a target for each of its source
# What openwork has of options with several values. Dropout ("d") does nothing in a trained model.
KNOWN: Mapping[str, tuple[str, ...]] = {
    "type": ("transformer",),
    "transformer-decoder-autoreg": ("self-attention",),
    "transformer-ffn-activation": ("relu", "swish"),
    "transformer-ffn-depth": ("2",),
    "transformer-decoder-ffn-depth": ("0", "2"),
    "transformer-decoder-dim-ffn": ("0",),
    "transformer-no-projection": ("false",),
    "transformer-no-affine": ("false",),
    "transformer-no-bias": ("false",),
    "transformer-rnn-projection": ("false",),
    "transformer-pool": ("false",),
    "transformer-alibi-shift": ("false",),
    "transformer-disable-position-embeddings": ("false",),
    "transformer-train-position-embeddings": ("false",),
    "transformer-attention-mask": ("default",),
    "factors-dim-emb": ("0",),
    "lemma-dim-emb": ("0",),
    "ulr": ("false",),
}
# Operations before and after each sub-layer and after the stack -> where the norm stands.
NORMS: Mapping[tuple[str, str, str], Literal["post", "pre"]] = {("", "an", ""): "post", ("n", "a", "n"): "pre"}


COMPARED = (1, 12)
"""The version whose pre-norm was compared: earlier ones may leave keys and values of self-attention without a norm.

Its scores of given translations are the bundle's (tests/parity/test_marian.py). Its search finds others: from the
second token on it forms the decoder's keys and values without the norm that they have had in training.
"""


class MarianSettings(BaseModel):
    """The keys that say what a model is; all values are texts."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    encoder_layers: int = Field(alias="enc-depth", ge=1, le=1000)
    decoder_layers: int = Field(alias="dec-depth", ge=1, le=1000)
    width: int = Field(alias="dim-emb", ge=1)
    heads: int = Field(alias="transformer-heads", ge=1)
    feedforward_width: int = Field(alias="transformer-dim-ffn", ge=1)
    activation: Literal["relu", "swish"] = Field("swish", alias="transformer-ffn-activation")
    before: str = Field("", alias="transformer-preprocess")
    after: str = Field("dan", alias="transformer-postprocess")
    at_the_end: str = Field("", alias="transformer-postprocess-top")
    after_embeddings: str = Field("d", alias="transformer-postprocess-emb")
    version: str = ""
    tied_layers: list[str] = Field([], alias="transformer-tied-layers")
    tied_all: bool = Field(False, alias="tied-embeddings-all")
    tied_target: bool = Field(False, alias="tied-embeddings")
    tied_sources: bool = Field(False, alias="tied-embeddings-src")
    no_output_bias: bool = Field(False, alias="output-omit-bias")
    vocabularies: tuple[int, int] = Field(alias="dim-vocabs")

    @property
    def tying(self) -> Tying:
        """Embeddings that only the two sides share are held twice."""
        if self.tied_all or (self.tied_target and self.tied_sources):
            return "three-way"
        return "target" if self.tied_target else "none"


def read_settings(content: Mapping[str, Any], path: Path) -> MarianSettings:
    """The settings; BundleError for a model with parts that openwork has not."""
    for key, known in KNOWN.items():
        if (value := content.get(key, known[0])) not in known:
            raise unsupported(path, key, value, " or ".join(known))
    try:
        found = MarianSettings.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        raise unsupported(path, ".".join(map(str, first["loc"])), first.get("input"), first["msg"]) from error
    if found.tied_layers:
        raise unsupported(path, "transformer-tied-layers", " ".join(found.tied_layers), "none")
    return found


def unsupported(path: Path, key: str, value: object, known: str) -> BundleError:
    return BundleError(
        f"{path}: openwork has no such model of Marian",
        why=f"its {key} is {str(value)[:60]!r}, and openwork has {known}",
        hint="import a Transformer with Marian's usual parts, or use this one with Marian",
        code="B084",
    )


def transformer_settings(marian: MarianSettings, path: Path) -> TransformerSettings:
    """The settings of the model that computes the same."""
    operations = cast(
        tuple[str, str, str], tuple(one.replace("d", "") for one in (marian.before, marian.after, marian.at_the_end))
    )
    if operations not in NORMS:
        keys = "transformer-preprocess, -postprocess and -postprocess-top"
        raise unsupported(
            path, keys, " / ".join(one or "none" for one in operations), "none / an / none, and n / a / n"
        )
    norm = NORMS[operations]
    if norm == "pre" and not _is_known(marian.version):
        raise unsupported(path, "version", marian.version, msg("pre-norm as in version 1.12 and later"))
    embeddings = marian.after_embeddings.replace("d", "")
    if embeddings not in ("", "n"):
        raise unsupported(path, "transformer-postprocess-emb", embeddings, "d, n and none")
    try:
        return TransformerSettings(
            encoder_layers=marian.encoder_layers, decoder_layers=marian.decoder_layers, width=marian.width,
            heads=marian.heads, feedforward_width=marian.feedforward_width, feedforward=marian.activation,
            norm=norm, norm_epsilon=MARIAN_EPSILON, positions="split-sinusoidal", start_vector="zeros",
            embedding_norm=embeddings == "n", tying=marian.tying, attention_bias=True,
            output_bias=not marian.no_output_bias,
        )  # fmt: skip
    except ValidationError as error:
        first = error.errors()[0]
        raise unsupported(path, ".".join(map(str, first["loc"])), first.get("input"), first["msg"]) from error


def _is_known(version: str) -> bool:
    """Whether a version such as "v1.12.42 b7be0e964" has been compared, or is later."""
    found = re.match(r"v(\d{1,4})\.(\d{1,4})", version)
    return found is not None and (int(found[1]), int(found[2])) >= COMPARED


def decoding_settings(content: Mapping[str, Any]) -> DecodingSettings:
    """The search of a decoder.yml: its beam, and scores divided by a power of the length."""
    beam, power = int(content.get("beam-size", 12)), float(content.get("normalize", 0))
    return DecodingSettings(beam=beam, length_penalty=power, length_rule="power")


def marian_settings(settings: TransformerSettings, vocabularies: tuple[int, int]) -> dict[str, Any]:
    """The content of a file's settings, the inverse of `transformer_settings`, for a model that Marian has."""
    kinds = {key: yaml.safe_load(known[0]) for key, known in KNOWN.items()}
    return kinds | {
        "version": f"v{COMPARED[0]}.{COMPARED[1]}.0 written by openwork {__version__}",
        "enc-depth": settings.encoder_layers,
        "dec-depth": settings.decoder_layers,
        "dim-emb": settings.width,
        "dim-vocabs": list(vocabularies),
        "transformer-heads": settings.heads,
        "transformer-dim-ffn": settings.feedforward_width,
        "transformer-ffn-activation": settings.feedforward,
        "transformer-preprocess": "",
        "transformer-postprocess": "dan",
        "transformer-postprocess-top": "",
        "transformer-postprocess-emb": "dn" if settings.embedding_norm else "d",
        "transformer-tied-layers": [],
        "tied-embeddings-all": settings.tying == "three-way",
        "tied-embeddings-src": False,
        "tied-embeddings": settings.tying == "target",
        "output-omit-bias": not settings.output_bias,
    }


def search_settings(decoding: DecodingSettings, model: str, vocabularies: Sequence[str]) -> dict[str, Any]:
    """The content of a decoder.yml. Marian's lengths have a bound by a factor, which is wide for short sources."""
    return {
        "relative-paths": True,
        "models": [model],
        "vocabs": list(vocabularies),
        "beam-size": decoding.beam,
        "normalize": decoding.length_penalty,
        "word-penalty": 0,
        "max-length-factor": LONGEST_FACTOR,
        "mini-batch": 32,
        "maxi-batch": 100,
        "maxi-batch-sort": "src",
    }
