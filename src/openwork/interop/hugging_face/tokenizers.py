"""Tokenizers in Hugging Face's folders: imports Marian's, exports and imports openwork's.

An exported file is one of the library `tokenizers`, which openwork's run on, with the end symbol after each text.
Hugging Face then takes "</s>" in a text for the symbol itself, and knows no placeholders.
"""

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from tokenizers import AddedToken
from tokenizers import Tokenizer as LibraryTokenizer
from tokenizers.processors import TemplateProcessing

from openwork.base.errors import BundleError, ConfigError
from openwork.base.symbols import SYMBOL_IDS
from openwork.interop.exports import NO_TOKENIZER, hugging_face_keeps, hugging_face_runs
from openwork.interop.vocabulary import Vocabulary
from openwork.text.external import ExternalTokenizer
from openwork.text.external.adapted import AdaptedTokenizer
from openwork.text.external.library import HuggingFaceTokenizer, read_json
from openwork.text.external.marian import read_marian
from openwork.text.external.reading import own_tokenizer, read_tokenizer
from openwork.text.forms import unwrapped
from openwork.text.pair import TokenizerPair
from openwork.text.pieces.learnt import LearntTokenizer
from openwork.text.tokenizer import SYMBOLS, Tokenizer

TOKENIZER, TOKENIZER_CONFIG = "tokenizer.json", "tokenizer_config.json"
Frame = Literal["translation", "prompt", "classified"]
# The symbols around a text, and around a second one as well, in the library's own words.
FRAMES: dict[Frame, tuple[str, str]] = {
    "translation": ("$A end", "$A end $B:1"),
    "prompt": ("start $A", "start $A $B"),
    "classified": ("start $A end", "start $A end $B:1 end:1"),
}
NEEDED = {SYMBOL_IDS.pad: SYMBOLS.pad, SYMBOL_IDS.start: SYMBOLS.start, SYMBOL_IDS.end: SYMBOLS.end}


def write_framed(folder: Path, tokenizer: Tokenizer, frame: Frame, mask: int | None = None) -> Vocabulary:
    """Writes the tokenizer's two files; returns the ids of its pieces there.

    `mask` is openwork's id of the mask. ConfigError for a tokenizer that the library does not run.
    """
    library, vocabulary = _library(folder, unwrapped(tokenizer))
    symbols = {
        role: (str(library.id_to_token(number)), number)
        for role, own in (("pad", 0), ("unk", 1), ("start", 2), ("end", 3), ("mask", mask))
        if own is not None and (number := vocabulary.external[own]) is not None
    }
    single, pair = (
        [re.sub("^(start|end)", lambda found: symbols[found[1]][0], part) for part in row.split()]
        for row in FRAMES[frame]
    )
    used = [symbols[role] for role in ("start", "end") if role in FRAMES[frame][1]]
    library.post_processor = TemplateProcessing(single=single, pair=pair, special_tokens=used)
    (folder / TOKENIZER).write_text(library.to_str(pretty=True), encoding="utf-8")
    (folder / TOKENIZER_CONFIG).write_text(json.dumps(_config(frame, symbols), indent=1), encoding="utf-8")
    return vocabulary


def _library(folder: Path, tokenizer: Tokenizer) -> tuple[LibraryTokenizer, Vocabulary]:
    if hugging_face_keeps(tokenizer):
        tokenizer.save(folder / TOKENIZER)
        library = LibraryTokenizer.from_file(str(folder / TOKENIZER))
        return library, Vocabulary(tuple(range(tokenizer.vocabulary_size)))
    if not hugging_face_runs(tokenizer):
        raise ConfigError(
            "this bundle's tokenizer cannot be written in Hugging Face's form",
            why=NO_TOKENIZER,
            hint="use the bundle with openwork",
            code="C099",
        )
    assert isinstance(tokenizer, AdaptedTokenizer) and isinstance(tokenizer.external, HuggingFaceTokenizer)
    library = LibraryTokenizer.from_str(tokenizer.external.content())
    external = list(tokenizer.theirs)
    for own, name in NEEDED.items():
        if external[own] is None:
            external[own] = _added(library, name)
    return library, Vocabulary(tuple(external))


def _added(library: LibraryTokenizer, name: str) -> int:
    """The id of a new symbol, under a name that no piece has."""
    known = library.get_vocab()
    while name in known:
        name = f"<{name}>"
    library.add_special_tokens([AddedToken(name, special=True)])
    number = library.token_to_id(name)
    assert number is not None
    return number


def _config(frame: Frame, symbols: dict[str, tuple[str, int]]) -> dict[str, Any]:
    roles = {"pad": "pad", "unk": "unk", "start": "bos", "end": "eos"}
    inputs = ["input_ids", "attention_mask"]
    if frame == "classified":
        roles |= {"start": "cls", "end": "sep", "mask": "mask"}
        inputs.append("token_type_ids")
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        **{f"{roles[role]}_token": name for role, (name, _) in symbols.items() if role in roles},
        "padding_side": "left" if frame == "prompt" else "right",  # a prompt ends its row
        "clean_up_tokenization_spaces": False,
        "model_input_names": inputs,
    }


def symbol_ids(vocabulary: Vocabulary) -> dict[str, int | None]:
    """Hugging Face's ids of the symbols, by their names in configurations."""
    pad, _, start, end, *_ = vocabulary.external
    return {"pad_token_id": pad, "bos_token_id": start, "eos_token_id": end}


def never_written(vocabulary: Vocabulary) -> Sequence[int]:
    """Hugging Face's ids of the symbols that no text of openwork holds, except one that is also the end."""
    end = vocabulary.external[SYMBOL_IDS.end]
    found = (vocabulary.external[number] for number in SYMBOL_IDS.forbidden)
    return [number for number in found if number is not None and number != end]


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
        hint="read the model alone with openwork.interop.hugging_face.bart.read_hugging_face, and give it ids",
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
    try:
        return own_tokenizer(json.dumps(content))
    except ValueError as error:
        raise BundleError(
            f"{folder / TOKENIZER}: not a tokenizer of openwork",
            why=str(error),
            hint="export the bundle again, or fetch the folder again",
            code="B029",
        ) from error


def write_tokenizers(folder: Path, tokenizers: TokenizerPair) -> None:
    """`AutoTokenizer.from_pretrained(folder)` gives the shared one, of two `folder/source` and `folder/target`."""
    places = {folder: tokenizers.source}
    if not tokenizers.shared:
        places = {folder / SIDES[0]: tokenizers.source, folder / SIDES[1]: tokenizers.target}
    for place, tokenizer in places.items():
        if not hugging_face_keeps(tokenizer):
            raise ConfigError(
                "a tokenizer from a file cannot be written in Hugging Face's form",
                why="its own ids are others than the model's",
                hint="write the model alone with openwork.interop.hugging_face.bart.write_model_files",
                code="C032",
            )
        place.mkdir(exist_ok=True)
        write_framed(place, tokenizer, "translation")
