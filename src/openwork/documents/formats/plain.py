"""Plain text: each line is a text, and what is before and after its words stays."""

from collections.abc import Sequence
from pathlib import Path

from openwork.documents.document import Document, DocumentSettings, decoded
from openwork.documents.segments import Parts, TranslationUnit, plain


class PlainText:
    """A text file, line by line."""

    def __init__(self, content: bytes, path: Path) -> None:
        self._lines = decoded(content, path).split("\n")
        self._places = [place for place, line in enumerate(self._lines) if line.strip()]

    @property
    def segments(self) -> Sequence[TranslationUnit]:
        return [TranslationUnit((self._lines[place].strip(),), f"line {place + 1}") for place in self._places]

    def written(self, translations: Sequence[Parts | None]) -> bytes:
        lines = list(self._lines)
        for place, translation in zip(self._places, translations, strict=True):
            if translation is not None:
                before, text, after = lines[place].partition(lines[place].strip())
                assert text
                lines[place] = before + plain(translation) + after
        return "\n".join(lines).encode()


def read_plain(content: bytes, path: Path, settings: DocumentSettings) -> Document:
    """A text file."""
    return PlainText(content, path)
