"""BERT's vocab.txt: one piece a line, the line's number less one its id.

Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding" (2019). Whether text
is lower-cased is not in the file: it is in tokenizer_config.json beside it, and where that is missing, a vocabulary
without a capital letter is taken to be of lower-cased text.
"""

import json
from contextlib import suppress
from pathlib import Path

from tokenizers import AddedToken, decoders, models, normalizers, pre_tokenizers, processors
from tokenizers import Tokenizer as LibraryTokenizer

from openwork.base.errors import BundleError, DataError
from openwork.base.regular_files import read_regular
from openwork.text.external.library import MOST_BYTES, HuggingFaceTokenizer, read_bounded_lines

UNKNOWN, START, END, PAD, MASK = "[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"


def read_bert(path: Path) -> HuggingFaceTokenizer:
    """The WordPiece tokenizer of a vocab.txt."""
    names = list(read_bounded_lines(path))
    if UNKNOWN not in names:
        raise DataError(
            f"{path}: this is not BERT's vocabulary",
            why=f"no line is {UNKNOWN}, the piece for unknown words",
            hint="a vocab.txt has one piece a line, [UNK], [CLS] and [SEP] among them",
            code="D099",
        )
    return HuggingFaceTokenizer(bert_library(names, _is_lower_cased(path, names)))


def bert_library(names: list[str], lower_case: bool) -> LibraryTokenizer:
    """The library's tokenizer of these pieces, as BERT uses it. Of equal pieces the last counts."""
    vocabulary = {name: number for number, name in enumerate(names)}
    library = LibraryTokenizer(models.WordPiece(vocabulary, unk_token=UNKNOWN))
    library.normalizer = normalizers.BertNormalizer(lowercase=lower_case)
    library.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    library.decoder = decoders.WordPiece()
    library.add_special_tokens(
        [AddedToken(n, special=True) for n in (PAD, UNKNOWN, START, END, MASK) if n in vocabulary]
    )
    if START in vocabulary and END in vocabulary:
        library.post_processor = processors.BertProcessing((END, vocabulary[END]), (START, vocabulary[START]))
    return library


def _is_lower_cased(path: Path, names: list[str]) -> bool:
    with suppress(OSError, ValueError, RuntimeError, BundleError):  # the last of a pipe, which might never end
        told = json.loads(read_regular((path.parent / "tokenizer_config.json").resolve(), MOST_BYTES))
        if isinstance(told, dict) and isinstance(told.get("do_lower_case"), bool):
            return told["do_lower_case"]
    return not any(name != name.lower() for name in names if not name.startswith("["))
