"""What was done to a document, and which of its texts a person should look at."""

from dataclasses import dataclass
from typing import Any

from openwork.base.messages import msg

SHOWN = 10  # doubtful texts in the short form


@dataclass(frozen=True)
class Doubt:
    """A text whose translation is not safe, and why; `near`: an entry of the memory that is like it, and how much."""

    place: str
    source: str
    translation: str
    reasons: tuple[str, ...]
    near: tuple[str, str, float] | None = None

    def to_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {"place": self.place, "source": self.source, "translation": self.translation}
        found["reasons"] = list(self.reasons)
        if self.near is not None:
            found["near"] = dict(zip(("source", "target", "similarity"), self.near, strict=True))
        return found


@dataclass(frozen=True)
class DocumentReport:
    """Counts of a document's texts.

    Attributes:
        texts: all of them.
        kept: those that stay as they are: translated already, or without a letter.
        remembered: those that the memory knows.
        failed: those without a translation, which stay as they are.
        sentences: different sentences that the model translated.
        doubts: translations that are not safe, in the order of the document.
    """

    texts: int
    kept: int
    remembered: int
    failed: int
    sentences: int
    doubts: tuple[Doubt, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        counts = {key: getattr(self, key) for key in ("texts", "kept", "remembered", "failed", "sentences")}
        return counts | {"doubts": [doubt.to_json() for doubt in self.doubts]}

    def lines(self) -> list[str]:
        """For reading: the counts, and the first doubtful texts."""
        found = [
            msg(
                f"{self.texts:,} texts: {self.remembered:,} from the memory, {self.kept:,} kept as they are, "
                f"{self.failed:,} without a translation; {self.sentences:,} different sentences translated"
            )
        ]
        if self.doubts:
            found.append(msg(f"{len(self.doubts):,} to look at:"))
        for doubt in self.doubts[:SHOWN]:
            found.append(f"{doubt.place}: {', '.join(doubt.reasons)}: {doubt.source} -> {doubt.translation}")
        if len(self.doubts) > SHOWN:
            found.append(msg(f"... and {len(self.doubts) - SHOWN:,} more; --json shows all"))
        return found
