"""Exports tokenizers for Hugging Face's library: their file, and the symbols that it puts around a text.

openwork's own tokenizers keep their ids. One that was read from a file of the library gets its own ids back; a symbol
that it lacks and a model needs is added after them.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from tokenizers import AddedToken
from tokenizers import Tokenizer as LibraryTokenizer

from openwork.base.errors import ConfigError
from openwork.base.symbols import SYMBOL_IDS
from openwork.interop.exports import NO_TOKENIZER, hugging_face_keeps, hugging_face_runs
from openwork.interop.vocabulary import Vocabulary
from openwork.text.external.adapted import AdaptedTokenizer
from openwork.text.external.library import HuggingFaceTokenizer
from openwork.text.forms import unwrapped
from openwork.text.symbols import SYMBOLS
from openwork.text.tokenizer import Tokenizer

TOKENIZER, TOKENIZER_CONFIG = "tokenizer.json", "tokenizer_config.json"
Frame = Literal["translation", "prompt", "classified"]
# A row: a text A, a second one B, and symbols; a number is the segment of what it follows.
FRAMES: dict[Frame, tuple[list[str], list[str]]] = {
    "translation": (["A", "end"], ["A", "end", "B 1"]),
    "prompt": (["start", "A"], ["start", "A", "B"]),
    "classified": (["start", "A", "end"], ["start", "A", "end", "B 1", "end 1"]),
}
NEEDED = {SYMBOL_IDS.pad: SYMBOLS.pad, SYMBOL_IDS.start: SYMBOLS.start, SYMBOL_IDS.end: SYMBOLS.end}


def write_framed(folder: Path, tokenizer: Tokenizer, frame: Frame, mask: int | None = None) -> Vocabulary:
    """Writes the tokenizer's two files; returns the ids of its pieces there.

    `mask` is openwork's id of the mask. ConfigError for a tokenizer that the library does not run.
    """
    content, vocabulary = _content(folder, unwrapped(tokenizer))
    library = LibraryTokenizer.from_str(json.dumps(content))
    symbols = {
        role: (str(library.id_to_token(number)), number)
        for role, own in (("pad", 0), ("unk", 1), ("start", 2), ("end", 3), ("mask", mask))
        if own is not None and (number := vocabulary.external[own]) is not None
    }
    content["post_processor"] = _template(frame, symbols)
    (folder / TOKENIZER).write_text(json.dumps(content, ensure_ascii=False, indent=1), encoding="utf-8")
    (folder / TOKENIZER_CONFIG).write_text(json.dumps(_config(frame, symbols), indent=1), encoding="utf-8")
    return vocabulary


def _content(folder: Path, tokenizer: Tokenizer) -> tuple[dict[str, Any], Vocabulary]:
    if hugging_face_keeps(tokenizer):
        tokenizer.save(folder / TOKENIZER)
        content = json.loads((folder / TOKENIZER).read_text(encoding="utf-8"))
        return content, Vocabulary(tuple(range(tokenizer.vocabulary_size)))
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
    return json.loads(library.to_str()), Vocabulary(tuple(external))


def _added(library: LibraryTokenizer, name: str) -> int:
    """The id of a new symbol, under a name that no piece has."""
    known = library.get_vocab()
    while name in known:
        name = f"<{name}>"
    library.add_special_tokens([AddedToken(name, special=True)])
    number = library.token_to_id(name)
    assert number is not None
    return number


def _template(frame: Frame, symbols: dict[str, tuple[str, int]]) -> dict[str, Any]:
    single, pair = FRAMES[frame]
    used = [symbols[role] for role in ("start", "end") if any(part.split()[0] == role for part in pair)]
    return {
        "type": "TemplateProcessing",
        "single": [_part(part, symbols) for part in single],
        "pair": [_part(part, symbols) for part in pair],
        "special_tokens": {name: {"id": name, "ids": [number], "tokens": [name]} for name, number in used},
    }


def _part(part: str, symbols: dict[str, tuple[str, int]]) -> dict[str, Any]:
    what, *segment = part.split()
    name, number = symbols[what][0] if what in symbols else what, int(segment[0]) if segment else 0
    return {"SpecialToken" if what in symbols else "Sequence": {"id": name, "type_id": number}}


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
