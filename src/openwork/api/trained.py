"""What all trained models have."""

import os
from pathlib import Path
from typing import Self

from openwork.api.texts import as_path, reported
from openwork.base.messages import find_language
from openwork.bundles.bundle import Bundle, load_bundle
from openwork.bundles.quantised import StoredType
from openwork.bundles.settings import BundleSettings
from openwork.cost.model_map.family import map_page
from openwork.cost.model_map.maps import map_of
from openwork.inspection.page import in_a_frame
from openwork.models.interfaces import count_weights
from openwork.models.presets import BASE
from openwork.runs.usable import usable_bundle


class TrainedModel:
    """A trained model: the bundle with settings, tokenizers and weights, and its path."""

    def __init__(self, bundle: Bundle, path: Path) -> None:
        self.bundle = bundle
        self.path = path

    @property
    def settings(self) -> BundleSettings:
        """The settings of model and search, and the languages."""
        return self.bundle.settings

    def quantise(self, to: StoredType, *, out: str | os.PathLike[str], progress: bool = False) -> Self:
        """Writes this model with its weights in fewer bits, and loads it.

        Args:
            to: "bfloat16", "int8" or "int4"; the file becomes 2, 4 or 7 times smaller.
            out: the folder of the new bundle.
            progress: say on standard error what it changes.

        UsageError for other types, and for a folder with something else.

        >>> small = translator.quantise("int8", out=folder / "int8")
        >>> type(small) is type(translator)
        True
        """
        from openwork.runs.quantise import quantise_bundle

        quantise_bundle(usable_bundle(self.path), to, as_path(out), reported(progress=progress))
        return self._another(as_path(out))

    def _another(self, path: Path) -> Self:
        """The model of the same kind at another path."""
        return type(self)(load_bundle(usable_bundle(path)), path)

    def __repr__(self) -> str:
        languages = [self.settings.source_language, self.settings.target_language]
        named = f", {' to '.join(filter(None, languages))}" if all(languages) else ""
        weights = count_weights(self.bundle.model) / 1e6
        return f"{type(self).__name__}('{self.path}'{named}, {weights:.2f} million weights)"

    def _repr_html_(self) -> str:
        """The paper's figure for this model, with the weights and operations of each box."""
        own = map_of(self.path.resolve().name, self.settings.model, self.bundle.tokenizers.sizes)
        return in_a_frame(map_page(own, find_language(os.environ), [BASE]))
