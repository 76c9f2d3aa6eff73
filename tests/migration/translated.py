"""What the tests of the migration share: a text translated, and its verdicts by option."""

from pathlib import Path
from typing import Any

from openwork.migration.draft import Verdict
from openwork.migration.translation import ConfigTranslation, translate_configuration

SAMPLES = Path(__file__).parent / "samples"


def translate(folder: Path, text: str, name: str, toolkit: str | None = None, **environment: str) -> ConfigTranslation:
    """A text as a file of this name, translated."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return translate_configuration(path, toolkit, environment)


def verdict(translation: ConfigTranslation, shown: str) -> Verdict:
    """The verdict of the option that is written like this; exactly one has it."""
    (found,) = [finding for finding in translation.findings if finding.option.shown == shown]
    return found.verdict


def note(translation: ConfigTranslation, shown: str) -> str:
    (found,) = [finding for finding in translation.findings if finding.option.shown == shown]
    return found.note


def value(translation: ConfigTranslation, key: str) -> Any:
    """What the run file comes to, under a key such as "model.width"."""
    settings: Any = translation.settings
    for part in key.split("."):
        settings = getattr(settings, part)
    return settings
