"""Tokenizers in Hugging Face's folders: imports Marian's, exports and imports openwork's.

An exported file is one of the library `tokenizers`, which openwork's run on, with the end symbol after each text.
Hugging Face then takes "</s>" in a text for the symbol itself, and knows no placeholders.
"""

import json
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from openwork.base.errors import BundleError, ConfigError
from openwork.interop.exports import hugging_face_keeps
from openwork.interop.hugging_face.frames import TOKENIZER, write_framed
from openwork.text.external import ExternalTokenizer
from openwork.text.external.adapted import AdaptedTokenizer
from openwork.text.external.library import read_json
from openwork.text.external.marian import read_marian
from openwork.text.external.reading import load_tokenizer, read_tokenizer
from openwork.text.pair import TokenizerPair
from openwork.text.pieces.learnt import LearntTokenizer
from openwork.text.tokenizer import Tokenizer

SIDES = ("source", "target")
SPM, VOCABULARY, TARGET_VOCABULARY = "{}.spm", "vocab.json", "target_vocab.json"


def read_tokenizers(folder: Path) -> TokenizerPair:
    """Marian's, or those that `write_tokenizers` wrote; BundleError where there are neither."""
    if all((folder / SPM.format(side)).is_file() for side in SIDES) and (folder / VOCABULARY).is_file():
        separate = (folder / TARGET_VOCABULARY).is_file()
        source = read_marian(folder / SPM.format(SIDES[0]), folder / VOCABULARY)
        target = read_marian(folder / SPM.format(SIDES[1]), folder / (TARGET_VOCABULARY if separate else VOCABULARY))
        return TokenizerPair(AdaptedTokenizer(source), AdaptedTokenizer(target))
    if (folder / TOKENIZER).is_file():
        shared = _read_own(folder)
        return TokenizerPair(shared, shared)
    if all((folder / side / TOKENIZER).is_file() for side in SIDES):
        return TokenizerPair(*(_read_own(folder / side) for side in SIDES))
    raise BundleError(
        f"{folder}: no tokenizer that openwork can put before this model",
        why="it reads Marian's source.spm, target.spm and vocab.json, and the tokenizer.json that openwork wrote",
        hint="read the model alone with openwork.interop.hugging_face.reading.read_hugging_face, and give it ids",
        code="B028",
    )


def read_single(folder: Path) -> LearntTokenizer | ExternalTokenizer | Tokenizer:
    """The tokenizer of a model with one vocabulary: openwork's, where one was exported, or an external one."""
    if (folder / TOKENIZER).is_file():
        with suppress(BundleError):
            own = _read_own(folder)
            if isinstance(own, LearntTokenizer):
                return own
    return read_tokenizer(folder)


def _read_own(folder: Path) -> Tokenizer:
    """openwork's tokenizer, without what the export added to the file."""
    content = read_json(folder / TOKENIZER)
    if isinstance(content, dict):
        content["post_processor"] = None
    with TemporaryDirectory() as place:
        plain = Path(place) / TOKENIZER
        plain.write_text(json.dumps(content), encoding="utf-8")
        try:
            return load_tokenizer(plain)
        except BundleError as error:
            raise BundleError(
                f"{folder / TOKENIZER}: not a tokenizer of openwork",
                why=error.why,
                hint="export the bundle again, or fetch the folder again",
                code="B029",
            ) from error


def write_tokenizers(folder: Path, tokenizers: TokenizerPair) -> None:
    """`AutoTokenizer.from_pretrained(folder)` gives the shared one, of two `folder/source` and `folder/target`."""
    if tokenizers.shared:
        _write(folder, tokenizers.source)
        return
    for side, tokenizer in zip(SIDES, (tokenizers.source, tokenizers.target), strict=True):
        (folder / side).mkdir()
        _write(folder / side, tokenizer)


def _write(folder: Path, tokenizer: Tokenizer) -> None:
    if not hugging_face_keeps(tokenizer):
        raise ConfigError(
            "a tokenizer from a file cannot be written in Hugging Face's form",
            why="its own ids are others than the model's",
            hint="write the model alone with openwork.interop.hugging_face.export.write_hugging_face",
            code="C032",
        )
    write_framed(folder, tokenizer, "translation")
