"""The tokenizers of both sides of a model, shared or one each; the source may have what reads no text in its place."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from pathlib import Path
from typing import Any

from openwork.base.errors import BundleError, UsageError
from openwork.base.sources import SourceEncoder
from openwork.text.external.adapted import AdaptedTokenizer
from openwork.text.external.reading import load_tokenizer, read_tokenizer
from openwork.text.pieces.alphabet import Again, read_twice
from openwork.text.pieces.kinds import TARGET_KINDS
from openwork.text.placeholders import (
    Encode,
    Restored,
    Spans,
    encode_protected,
    protect,
    protect_like,
    protect_pair,
    restore,
    without_placeholders,
)
from openwork.text.settings import TextSettings
from openwork.text.tokenizer import Tokenizer

EncodeSource = Callable[[Sequence[str]], list[Any]]  # of ids, or of numbers where a source is no text

_SHARED = "tokenizer.json"
_SOURCE = "source.tokenizer.json"
_TARGET = "target.tokenizer.json"


@dataclass(frozen=True)
class TokenizerPair:
    """Source and target; where the vocabulary is shared, both are the same object."""

    encoder: SourceEncoder
    target: Tokenizer

    @property
    def source(self) -> Tokenizer:
        """The tokenizer of the source; UsageError where sources are no text."""
        if not isinstance(self.encoder, Tokenizer):
            raise UsageError(
                "the sources of this model are no text, and this is for texts",
                why="it reads rows of numbers, such as the pixels of pictures, which have no pieces",
                hint="openwork classify, transcribe, evaluate, verify and info are for it",
                code="U111",
            )
        return self.encoder

    @property
    def sizes(self) -> tuple[int, int]:
        """The size of what a position of the source holds, and that of the target's vocabulary."""
        return self.encoder.size, self.target.vocabulary_size

    @property
    def shared(self) -> bool:
        return self.encoder is self.target

    @property
    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits that tell these vocabularies from all others."""
        both = f"{self.encoder.fingerprint} {self.target.fingerprint} {self.shared}"
        return hashlib.sha256(both.encode()).hexdigest()[:16]

    @property
    def placeholders(self) -> int:
        """How many placeholders of a sentence are kept as they are."""
        return min(getattr(self.encoder, "placeholders", 0), self.target.placeholders)

    def encode_sources(self, texts: Sequence[Any]) -> list[tuple[Any, Spans]]:
        """For each text to be translated its ids, and the placeholders that its translation must get back.

        A source that is no text has numbers in place of ids, and no placeholders.
        """
        if not isinstance(self.encoder, Tokenizer):
            return [(numbers, ()) for numbers in self.encoder.encode_batch(texts)]
        sentences = [protect(text, self.placeholders) for text in texts]
        ids = encode_protected(self.source, sentences, self.source.encode_batch)
        return [(row, sentence.spans) for row, sentence in zip(ids, sentences, strict=True)]

    def encode_target(self, text: str, spans: Spans) -> list[int]:
        """The ids of a translation, or of a part of one; `spans` are its source's placeholders."""
        return encode_protected(self.target, [protect_like(text, spans)], self.target.encode_batch)[0]

    def encode_pairs(
        self, sources: Sequence[Any], targets: Sequence[str], encoders: tuple[EncodeSource, Encode] | None = None
    ) -> Iterator[tuple[Any, list[int]]]:
        """The ids of sentences and their translations; placeholders that occur on both sides become the same piece.

        A source that is no text has numbers in place of ids. `encoders`: other ways than `encode_batch` to read
        each side.
        """
        most = self.placeholders
        encode_source, encode_target = encoders or (self.encoder.encode_batch, self.target.encode_batch)
        if not isinstance(self.encoder, Tokenizer):
            return zip(encode_source(sources), encode_target(targets), strict=True)
        pairs = [protect_pair(source, target, most) for source, target in zip(sources, targets, strict=True)]
        return zip(
            encode_protected(self.source, [source for source, _ in pairs], encode_source),
            encode_protected(self.target, [target for _, target in pairs], encode_target),
            strict=True,
        )

    def decode_target(self, ids: Iterable[int], spans: Spans = ()) -> Restored:
        """The translation that the ids say, with its source's placeholders, each at most once.

        It is one line, whatever the model writes: line breaks would shift all the lines after it.
        """
        if not self.target.placeholders:
            restored = Restored(self.target.decode(ids), spans)
        else:
            runs = groupby(ids, key=self.target.placeholder_number)
            restored = restore((self.target.decode(run) if number is None else number for number, run in runs), spans)
        return Restored(" ".join(restored.text.splitlines()), restored.missing)

    def save(self, folder: Path | str) -> None:
        """Write `tokenizer.json`, or `source.tokenizer.json` and `target.tokenizer.json`, into the folder.

        What reads sources that are no text has no file: it follows from the settings.
        """
        folder = Path(folder)
        files = {_SHARED: self.encoder} if self.shared else {_SOURCE: self.encoder, _TARGET: self.target}
        files = {name: one for name, one in files.items() if isinstance(one, Tokenizer)}
        for name, tokenizer in files.items():
            tokenizer.save(folder / name)
        for stale in {_SHARED, _SOURCE, _TARGET} - files.keys():
            (folder / stale).unlink(missing_ok=True)

    @classmethod
    def load(cls, folder: Path | str, encoder: SourceEncoder | None = None) -> "TokenizerPair":
        """Read what `save` wrote; `BundleError` if there is none, or both kinds at once.

        `encoder`: what reads the sources, where they are no text.
        """
        folder = Path(folder)
        shared = (folder / _SHARED).is_file()  # no pipe or device, which might never end
        separate = (folder / _SOURCE).is_file() or (folder / _TARGET).is_file()
        if shared == separate:
            raise BundleError(
                f"{folder}: the folder holds a shared tokenizer and separate ones"
                if shared
                else f"{folder}: the folder holds no tokenizer",
                why=f"either {_SHARED} is needed, or {_SOURCE} and {_TARGET}",
                hint="copy the whole bundle again",
                code="B054" if shared else "B005",
            )
        if shared:
            tokenizer = load_tokenizer(folder / _SHARED)
            return cls(tokenizer, tokenizer)
        return cls(encoder or load_tokenizer(folder / _SOURCE), load_tokenizer(folder / _TARGET))


def train_pair(source_lines: Iterable[str], target_lines: Iterable[str], settings: TextSettings) -> TokenizerPair:
    """Learn the vocabulary of both sides together, or one of the same size for each side.

    The lines are read twice: what can be read only once (an iterator) is kept in memory.
    """
    if settings.shared:
        sides = read_twice(source_lines), read_twice(target_lines)
        source_lines = Again(lambda: chain(*sides))
    source = _learn_or_read(source_lines, settings, settings.kind, settings.source_file)
    return with_target(source, target_lines, settings)


def with_target(source: SourceEncoder, target_lines: Iterable[str], settings: TextSettings) -> TokenizerPair:
    """A source's encoder that is there, and one for the target: the same if the settings share it, else learnt."""
    if settings.shared and isinstance(source, Tokenizer):
        return TokenizerPair(source, source)
    kind = settings.target_kind or settings.kind
    return TokenizerPair(source, _learn_or_read(target_lines, settings, kind, settings.target_file))


def _learn_or_read(lines: Iterable[str], settings: TextSettings, kind: str, file: str | None) -> Tokenizer:
    if file is not None:
        found = read_tokenizer(Path(file))
        return found if isinstance(found, Tokenizer) else AdaptedTokenizer(found)
    if settings.placeholders:  # they are pieces already
        every = read_twice(lines)
        lines = Again(lambda: without_placeholders(every))
    return TARGET_KINDS[kind].learn(
        lines,
        settings.vocabulary_size,
        minimum_frequency=settings.minimum_frequency,
        placeholders=settings.placeholders,
        character_frequency=settings.character_frequency,
    )
