"""What all trained models in memory have in common."""

from pathlib import Path

from openwork.bundles.bundle import Bundle
from openwork.bundles.settings import BundleSettings
from openwork.models.interfaces import count_weights


class TrainedModel:
    """A trained model: the bundle with settings, tokenizers and weights, and its path."""

    def __init__(self, bundle: Bundle, path: Path) -> None:
        self.bundle = bundle
        self.path = path

    @property
    def settings(self) -> BundleSettings:
        """The settings of model and search, and the languages."""
        return self.bundle.settings

    def __repr__(self) -> str:
        languages = [self.settings.source_language, self.settings.target_language]
        named = f", {' to '.join(filter(None, languages))}" if all(languages) else ""
        weights = count_weights(self.bundle.model) / 1e6
        return f"{type(self).__name__}('{self.path}'{named}, {weights:.2f} million weights)"
