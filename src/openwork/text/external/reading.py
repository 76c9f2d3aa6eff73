"""Which tokenizer a file or folder holds, told by its name and its content."""

import json
from collections.abc import Callable
from pathlib import Path

from openwork.base.errors import BundleError, DataError
from openwork.base.files import open_binary
from openwork.base.regular_files import check_downloaded
from openwork.text.external import ExternalTokenizer
from openwork.text.external.bert import read_bert
from openwork.text.external.gpt2 import MERGES, VOCABULARY, read_gpt2
from openwork.text.external.library import HuggingFaceTokenizer, read_json
from openwork.text.external.sentence_piece import read_sentence_piece
from openwork.text.pieces.kinds import load_tokenizer
from openwork.text.tokenizer import Tokenizer

# What a folder is searched for, and how it is read: the first that is there.
IN_FOLDERS: dict[str, Callable[[Path], "ExternalTokenizer | Tokenizer"]] = {
    "tokenizer.json": lambda path: _read_json(path),
    "spiece.model": read_sentence_piece,
    "sentencepiece.bpe.model": read_sentence_piece,
    "tokenizer.model": read_sentence_piece,
    "vocab.txt": read_bert,
    VOCABULARY: lambda path: read_gpt2(path, path.parent / MERGES),
}
FORMS = "tokenizer.json, BERT's vocab.txt, GPT-2's vocab.json with merges.txt, or a SentencePiece .model"


def read_tokenizer(path: Path) -> ExternalTokenizer | Tokenizer:
    """Our own tokenizer, or somebody else's, from a file or the folder it lies in.

    `DataError` for what is missing, damaged or of no known form, `BundleError` for a folder with links out of it.
    """
    if path.is_dir():
        check_downloaded(path)
        found = next((path / name for name in IN_FOLDERS if (path / name).is_file()), None)
        if found is None:
            raise DataError(
                f"{path}: the folder holds no tokenizer",
                why=f"none of {', '.join(IN_FOLDERS)}",
                hint=f"name {FORMS}",
                code="D105",
            )
        return IN_FOLDERS[found.name](found)
    if path.name in IN_FOLDERS:
        return IN_FOLDERS[path.name](path)
    if path.name == MERGES:
        return read_gpt2(path.parent / VOCABULARY, path)
    match path.suffix:
        case ".model" | ".spm":
            return read_sentence_piece(path)
        case ".txt":
            return read_bert(path)
        case ".json":
            return _read_json(path)
    with open_binary(path):
        pass  # a path that cannot be read is refused for that
    raise DataError(f"{path}: the form of the tokenizer is not known by this name", hint=f"name {FORMS}", code="D106")


def _read_json(path: Path) -> ExternalTokenizer | Tokenizer:
    content = read_json(path)
    if isinstance(content, dict) and "model" not in content and all(isinstance(n, int) for n in content.values()):
        return read_gpt2(path, path.parent / MERGES)
    try:
        return load_tokenizer(path)
    except BundleError:
        pass  # not one of ours
    try:
        return HuggingFaceTokenizer.from_content(json.dumps(content))
    except ValueError as error:
        raise DataError(
            f"{path}: this is not a tokenizer of the tokenizers library, or it is damaged",
            why=str(error),
            hint="a tokenizer.json has the keys model, pre_tokenizer, normalizer and decoder",
            code="D107",
        ) from error
