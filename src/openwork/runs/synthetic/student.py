"""The settings of a student that are not given: its shape and vocabulary, from its teacher."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from openwork.bundles.bundle import Bundle
from openwork.bundles.folder import whole_bundle
from openwork.cost.budget import fitted
from openwork.cost.cost import cost_of
from openwork.models.families import ModelSettings
from openwork.models.settings import TransformerSettings

SHARE = 0.25  # of the teacher's operations
DROPOUT = 0.1  # a teacher writes the same of like sentences, so there is less to overfit


def student_of(teacher: ModelSettings, sizes: tuple[int, int], share: float = SHARE) -> dict[str, Any]:
    """The section [model] of a student with this share of the teacher's operations for a target token.

    The encoder keeps its layers and the decoder has one: the encoder reads a sentence once, the decoder is computed for
    each token in turn (Kasai et al. 2021). The width follows from the share. A teacher that is no Transformer has a
    Transformer of three layers and one as its student.
    """
    is_transformer = isinstance(teacher, TransformerSettings)
    shape = teacher if is_transformer else TransformerSettings(
        width=256, feedforward_width=1024, heads=4, encoder_layers=3, decoder_layers=3, norm="pre",
        tying="three-way" if sizes[0] == sizes[1] else "target",
    )  # fmt: skip
    shallow = shape.model_copy(update={"decoder_layers": 1})
    most = share * cost_of(teacher, *sizes).forward_flops
    found = fitted(shallow, lambda settings: cost_of(settings, *sizes).forward_flops, most, "student", stretch=False)
    return {**found.model_dump(mode="json", exclude_none=True), "dropout": DROPOUT}


def vocabulary_of(folder: Path, bundle: Bundle) -> dict[str, Any]:
    """The section [text] of a student that has its teacher's vocabulary."""
    current = whole_bundle(folder)
    if bundle.tokenizers.shared:
        return {"shared": True, "source_file": str(current / "tokenizer.json")}
    files = {f"{side}_file": str(current / f"{side}.tokenizer.json") for side in ("source", "target")}
    return {"shared": False, **files}


def languages_of_bundle(bundle: Bundle) -> Mapping[str, str]:
    """The keys of [data] that name the languages, as far as the bundle knows them."""
    known = {"source_language": bundle.settings.source_language, "target_language": bundle.settings.target_language}
    return {key: value for key, value in known.items() if value is not None}
