"""Marian's tokenizers: pieces by SentencePiece, and their ids from a vocabulary beside it.

A folder of Hugging Face's MarianTokenizer holds source.spm, target.spm and vocab.json (with separate vocabularies also
target_vocab.json). A text may begin with the language wanted, as ">>fra<<", which is one piece.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from openwork.base.errors import DataError
from openwork.text.external import ExternalTokenizer, Marks
from openwork.text.external.library import checked_ids, read_json
from openwork.text.external.sentence_piece import SentencePieceTokenizer, read_sentence_piece
from openwork.text.tokenizer import Pieces

UNKNOWN, END, PAD = "<unk>", "</s>", "<pad>"
SPACE = "▁"


def read_marian(model: Path, vocabulary: Path) -> "MarianTokenizer":
    """The tokenizer of one side: its .spm file and its vocabulary."""
    pieces, content = read_sentence_piece(model), read_json(vocabulary)
    try:
        return MarianTokenizer(pieces, checked_pieces(content))
    except ValueError as error:
        raise not_a_vocabulary(vocabulary, str(error)) from error


def not_a_vocabulary(path: Path, why: str) -> DataError:
    return DataError(
        f"{path}: this is not a vocabulary of Marian's",
        why=why,
        hint="name the folder with vocab.json or vocab.yml, source.spm and target.spm of one model",
        code="D104",
    )


def checked_pieces(content: Any) -> dict[str, int]:
    """Pieces and their ids; ValueError unless each has its own, and one is for unknown pieces."""
    ids = checked_ids(content)
    if len(set(ids.values())) < len(ids):
        raise ValueError("several pieces have one id")
    if UNKNOWN not in ids:
        raise ValueError(f"it has no {UNKNOWN}")
    return ids


class MarianTokenizer(ExternalTokenizer):
    """SentencePiece's pieces under the vocabulary's ids; a piece that the vocabulary lacks is unknown."""

    form = "marian"

    def __init__(self, pieces: SentencePieceTokenizer, vocabulary: Mapping[str, int]) -> None:
        self.pieces = pieces
        self.ids = dict(vocabulary)
        self._names = {number: name for name, number in self.ids.items()}
        self.kind = f"external Marian over {pieces.kind.removeprefix('external ')}"
        self.vocabulary_size: int = max(self._names) + 1
        self.numbers = sorted(self._names)
        # Targets start with the padding symbol, which has no other meaning in a text.
        self.marks = Marks(pad=self.ids.get(PAD), unknown=self.ids[UNKNOWN], end=self.ids.get(END))

    @classmethod
    def from_content(cls, content: str) -> "MarianTokenizer":
        parts = json.loads(content)
        return cls(SentencePieceTokenizer.from_content(parts["pieces"]), checked_pieces(parts["vocabulary"]))

    def content(self) -> str:
        return json.dumps({"pieces": self.pieces.content(), "vocabulary": self.ids}, ensure_ascii=False)

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        return [self.encode_pieces(text).ids for text in texts]

    def encode_pieces(self, text: str) -> Pieces:
        language = self._language(text)
        rest = self.pieces.encode_pieces(text[len(language) :])
        names = [language] * bool(language) + rest.pieces
        offsets = [(0, len(language))] * bool(language)
        offsets += [(begin + len(language), end + len(language)) for begin, end in rest.offsets]
        return Pieces([self.ids.get(name, self.ids[UNKNOWN]) for name in names], names, offsets)

    def decode(self, ids: list[int]) -> str:
        """The pieces side by side; the space of the first one goes."""
        symbols = {PAD, UNKNOWN, END}
        names = [name for number in ids if (name := self.piece(number)) not in symbols]
        return "".join(names).replace(SPACE, " ").strip()

    def piece(self, number: int) -> str:
        if number not in self._names:
            raise ValueError(f"id {number} is not in the vocabulary of {len(self._names)} pieces")
        return self._names[number]

    @staticmethod
    def _language(text: str) -> str:
        """The language that a text begins with, such as ">>fra<<"; empty if none."""
        end = text.find("<<")
        return text[: end + 2] if text.startswith(">>") and end > 0 else ""
