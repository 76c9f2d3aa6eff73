"""Any tokenizer that the `tokenizers` library can run, with the normalising and cutting that its file says."""

import json
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from tokenizers import AddedToken
from tokenizers import Tokenizer as LibraryTokenizer

from openwork.base.errors import DataError
from openwork.base.files import open_binary, read_lines
from openwork.text.external import ExternalTokenizer, Marks
from openwork.text.external.untrusted import Result, call, check_growth, panics_as_errors
from openwork.text.pieces.bytelevel import shown_signs
from openwork.text.pieces.kinds import ALGORITHMS, model_type
from openwork.text.tokenizer import Pieces, refuse_surrogates
from openwork.text.work import Algorithm, WordWork, shown_work

MOST_BYTES = 256 << 20  # of a file, far above any that is in use
MOST_IDS = 10_000_000  # a library that is given a larger id takes memory for all ids below, and the process dies of it
# The names of pad, unknown, start and end, the usual first.
_SYMBOLS = (
    ("<pad>", "[PAD]", "<|pad|>", "<|endoftext|>"),
    ("<unk>", "[UNK]", "<|unk|>"),
    ("<s>", "[CLS]", "<bos>", "<|startoftext|>", "<|begin_of_text|>", "<|startoftranscript|>", "<|endoftext|>"),
    ("</s>", "[SEP]", "<eos>", "<|endoftext|>", "<|end_of_text|>"),
)


class HuggingFaceTokenizer(ExternalTokenizer):
    """An external tokenizer. Cutting texts off and padding, which a file may ask for, are left out."""

    form = "tokenizers"

    def __init__(self, library: LibraryTokenizer) -> None:
        library.no_truncation()
        library.no_padding()
        self.library = library
        self.vocabulary_size: int = max(library.get_vocab().values(), default=-1) + 1
        if self.vocabulary_size > MOST_IDS:
            raise ValueError(f"a piece has the id {self.vocabulary_size - 1}")
        self._content = json.loads(library.to_str())
        check_growth(self._content)
        model = self._content["model"]
        self._type = model_type(model)
        self._prefix = model.get("continuing_subword_prefix") or ""
        self._suffix = model.get("end_of_word_suffix") or ""
        self.kind = f"external {self._type}"
        known = library.get_vocab()
        self.numbers = sorted(known.values())
        self.marks = Marks(*(next((known[name] for name in names if name in known), None) for names in _SYMBOLS))
        rules = [self._content.get(part) for part in ("normalizer", "pre_tokenizer", "decoder")]
        self._has_patterns = '"Regex"' in json.dumps(rules)
        self._has_signs = '"ByteLevel"' in json.dumps(rules[1:])

    @classmethod
    def from_content(cls, content: str) -> "HuggingFaceTokenizer":
        """From the text of a tokenizer.json."""
        try:
            with panics_as_errors():
                return cls(LibraryTokenizer.from_str(content))
        except Exception as error:  # the library raises plain Exception for whatever it does not like
            raise ValueError(str(error)) from error

    def with_symbols(self, names: Sequence[str]) -> "HuggingFaceTokenizer":
        """This with further special symbols, which get the next ids; no text is decoded to them."""
        library = LibraryTokenizer.from_str(self.content())
        library.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in names])
        return HuggingFaceTokenizer(library)

    def content(self) -> str:
        return self.library.to_str()

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        refuse_surrogates(texts)
        encodings = self._call(lambda: self.library.encode_batch_fast(texts, add_special_tokens=False))
        return [encoding.ids for encoding in encodings]

    def encode_framed(self, text: str) -> list[int]:
        refuse_surrogates([text])
        return self._call(lambda: self.library.encode_batch([text]))[0].ids

    def encode_pieces(self, text: str) -> Pieces:
        refuse_surrogates([text])
        encoding = self._call(lambda: self.library.encode_batch([text], add_special_tokens=False))[0]
        return Pieces(encoding.ids, [self.piece(number) for number in encoding.ids], encoding.offsets)

    def decode(self, ids: list[int]) -> str:
        return self._call(lambda: self.library.decode_batch([ids], skip_special_tokens=True))[0]

    def piece(self, number: int) -> str:
        name = self.library.id_to_token(number)
        if name is None:
            raise ValueError(f"id {number} is outside the vocabulary of {self.vocabulary_size} pieces")
        return self._shown(name)

    def work(self, text: str) -> list[WordWork]:
        """The library's words, with the steps of those that our algorithm cuts into the same pieces.

        No steps lead to a symbol that the text holds, or to pieces that stand for unknown characters or for bytes.
        """
        refuse_surrogates([text])
        encoding = self._call(lambda: self.library.encode_batch([text], add_special_tokens=False))[0]
        found = []
        for _, group in groupby(zip(encoding.word_ids, encoding.ids, strict=True), key=itemgetter(0)):
            pieces = tuple(str(self.library.id_to_token(number)) for _, number in group)
            first, *rest = (piece.removesuffix(self._suffix) for piece in pieces)
            word = first + "".join(piece.removeprefix(self._prefix) for piece in rest)
            work = self._algorithm.work(word)
            found.append(shown_work(work if work.pieces == pieces else WordWork(word, (), (), pieces), self._shown))
        return found

    def _call(self, work: Callable[[], Result]) -> Result:
        """Batches alone let other threads run, so that Ctrl-C is heard; a lone text is a batch of one."""
        return call(work, may_be_slow=self._has_patterns)

    def _shown(self, name: str) -> str:
        return shown_signs(name) if self._has_signs else name

    @cached_property
    def _algorithm(self) -> Algorithm:
        return ALGORITHMS[self._type](self._content["model"])


def read_bounded(path: Path) -> bytes:
    """What a file holds, unpacked; `DataError` where that is more than any tokenizer has."""
    with open_binary(path) as file:
        data = file.read(MOST_BYTES + 1)
    _check_size(path, len(data))
    return data


def read_bounded_lines(path: Path) -> Iterator[str]:
    """The lines of a file, unpacked; `DataError` where they are more than any tokenizer has."""
    size = 0
    for line in read_lines(path):
        size += len(line) + 1
        _check_size(path, size)
        yield line


def _check_size(path: Path, size: int) -> None:
    if size > MOST_BYTES:
        raise DataError(
            f"{path}: too large for a tokenizer",
            why=f"more than {MOST_BYTES:,} bytes",
            hint="name the tokenizer's own file, such as tokenizer.json",
            code="D102",
        )


def read_json(path: Path) -> Any:
    """The content of a JSON file; `DataError` where there is none, or more than any tokenizer has."""
    data = read_bounded(path)
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise DataError(
            f"{path}: the file is not whole JSON", why=str(error), hint="fetch the file again", code="D103"
        ) from error


def checked_ids(content: Any) -> dict[str, int]:
    """A table of pieces with their numbers, as JSON has it; ValueError for anything else."""
    if not isinstance(content, dict) or not all(type(n) is int and 0 <= n < MOST_IDS for n in content.values()):
        raise ValueError("it does not give each piece its id")
    if any("\ud800" <= character <= "\udfff" for character in "".join(content)):  # JSON can write half a pair alone
        raise ValueError("the name of a piece is no Unicode text")
    return content
