"""Reads tokenizers, openwork's own and external ones: a file's name and content say which it is.

BERT's vocab.txt has one piece a line (Devlin et al. 2019). Whether text is lower-cased is not in the file: it is in
tokenizer_config.json next to it, and where that is missing, a vocabulary without a capital letter is taken to be of
lower-cased text. GPT-2 has byte-level pieces by id in vocab.json, and the merges in their order in merges.txt (Radford
et al. 2019, section 2.2).
"""

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, decoders, models, normalizers, pre_tokenizers, processors
from tokenizers import Tokenizer as LibraryTokenizer

from openwork.base.errors import BundleError, DataError
from openwork.base.files import open_binary
from openwork.base.regular_files import check_downloaded, read_regular
from openwork.text.external import ExternalTokenizer
from openwork.text.external.adapted import FORMAT, FORMS, AdaptedTokenizer
from openwork.text.external.library import (
    MOST_BYTES,
    HuggingFaceTokenizer,
    checked_ids,
    read_bounded,
    read_bounded_lines,
    read_json,
)
from openwork.text.external.sentence_piece import read_sentence_piece
from openwork.text.external.untrusted import panics_as_errors
from openwork.text.pieces.kinds import TARGET_KINDS
from openwork.text.pieces.learnt import LearntTokenizer
from openwork.text.tokenizer import Tokenizer

UNKNOWN, START, END, PAD, MASK = "[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"
VOCABULARY, MERGES = "vocab.json", "merges.txt"
_SYMBOLS = ("<|endoftext|>", "<s>", "</s>", "<pad>", "<unk>", "<mask>")


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
        settings = json.loads(read_regular((path.parent / "tokenizer_config.json").resolve(), MOST_BYTES))
        if isinstance(settings, dict) and isinstance(settings.get("do_lower_case"), bool):
            return settings["do_lower_case"]
    return not any(name != name.lower() for name in names if not name.startswith("["))


def read_gpt2(vocabulary: Path, merges: Path) -> HuggingFaceTokenizer:
    """The byte-level tokenizer of the two files."""
    ids = _read_vocabulary(vocabulary)
    read_bounded(merges)  # its own faults
    try:
        with panics_as_errors():
            library = LibraryTokenizer(models.BPE.from_file(str(vocabulary), str(merges)))
    except Exception as error:  # the library raises plain Exception for whatever it does not like
        raise DataError(
            f"{merges}: these are not the merges of {vocabulary.name}",
            why=str(error),
            hint="a line holds two pieces of the vocabulary with a space between; the two files must belong together",
            code="D101",
        ) from error
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    library.decoder = decoders.ByteLevel()
    library.add_special_tokens([AddedToken(name, special=True) for name in _SYMBOLS if name in ids])
    return HuggingFaceTokenizer(library)


def _read_vocabulary(path: Path) -> dict[str, int]:
    try:
        if ids := checked_ids(read_json(path)):
            return ids
        raise ValueError("it is empty")
    except ValueError as error:
        raise DataError(
            f"{path}: this is not GPT-2's vocabulary",
            why=str(error),
            hint=f"name the {VOCABULARY} that belongs to {MERGES}",
            code="D100",
        ) from error


# What a folder is searched for, and how it is read: the first that is there.
IN_FOLDERS: dict[str, Callable[[Path], "ExternalTokenizer | Tokenizer"]] = {
    "tokenizer.json": lambda path: _read_json(path),
    "spiece.model": read_sentence_piece,
    "sentencepiece.bpe.model": read_sentence_piece,
    "tokenizer.model": read_sentence_piece,
    "vocab.txt": read_bert,
    VOCABULARY: lambda path: read_gpt2(path, path.parent / MERGES),
}
BY_ENDING = {
    ".model": read_sentence_piece,
    ".spm": read_sentence_piece,
    ".txt": read_bert,
    ".json": IN_FOLDERS["tokenizer.json"],
}
NAMES = "tokenizer.json, BERT's vocab.txt, GPT-2's vocab.json with merges.txt, or a SentencePiece .model"


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
                hint=f"name {NAMES}",
                code="D105",
            )
        return IN_FOLDERS[found.name](found)
    if path.name == MERGES:
        return read_gpt2(path.parent / VOCABULARY, path)
    if read := IN_FOLDERS.get(path.name) or BY_ENDING.get(path.suffix):
        return read(path)
    with open_binary(path):
        pass  # a path that cannot be read is refused for that
    raise DataError(f"{path}: the form of the tokenizer is not known by this name", hint=f"name {NAMES}", code="D106")


def _read_json(path: Path) -> ExternalTokenizer | Tokenizer:
    content = read_json(path)
    if isinstance(content, dict) and "model" not in content and all(isinstance(n, int) for n in content.values()):
        return read_gpt2(path, path.parent / MERGES)
    with suppress(BundleError):  # not one of ours
        return load_tokenizer(path)
    try:
        return HuggingFaceTokenizer.from_content(json.dumps(content))
    except ValueError as error:
        raise DataError(
            f"{path}: this is not a tokenizer of the tokenizers library, or it is damaged",
            why=str(error),
            hint="a tokenizer.json has the keys model, pre_tokenizer, normalizer and decoder",
            code="D107",
        ) from error


def load_tokenizer(path: Path | str) -> Tokenizer:
    """Read what `Tokenizer.save` wrote, of whatever kind; `BundleError` for a file that is missing or damaged."""
    try:
        return own_tokenizer(read_bounded(Path(path)).decode())
    except (DataError, ValueError, RecursionError) as error:
        raise BundleError(
            f"{path}: this is not a tokenizer of openwork, or it is damaged",
            why=str(error),
            hint="copy the whole bundle again",
            code="B053",
        ) from error


def own_tokenizer(text: str) -> Tokenizer:
    """The tokenizer of a file that openwork wrote; ValueError with the reason for any other text."""
    content = json.loads(text)
    if isinstance(content, dict) and content.get("format") == FORMAT:
        try:
            return AdaptedTokenizer(FORMS[content["form"]].from_content(content["content"]))
        except (KeyError, TypeError) as error:
            raise ValueError(str(error)) from error
    differences = {kind: _difference(content, kind) for kind in TARGET_KINDS.values()}
    tokenizer, (_, difference) = max(differences.items(), key=lambda item: item[1][0])
    if difference:
        raise ValueError(difference)
    try:
        with panics_as_errors():
            return tokenizer(LibraryTokenizer.from_str(text))
    except Exception as error:  # the library raises plain Exception for whatever it does not like
        raise ValueError(str(error)) from error


def _difference(content: Any, tokenizer: type[LearntTokenizer]) -> tuple[int, str]:
    """How a file differs from those that a kind writes, empty if it does not; and how far it looks like one."""
    skeleton = json.loads(tokenizer.library().to_str())
    model = content.get("model") if isinstance(content, dict) else None
    if not isinstance(model, dict) or model.get("type") != skeleton["model"]["type"]:
        return 0, "it holds no pieces of a kind that openwork learns"
    names = _names(model.get("vocab"))
    if names is None:
        return 1, "it holds no pieces, or their ids have gaps"
    if tuple(names[: len(tokenizer.fixed_names)]) != tokenizer.fixed_names:
        return 2, "its first pieces are not openwork's symbols and bytes"
    ours, theirs = _without_learnt_parts(skeleton), _without_learnt_parts(content)
    different = [part for part in sorted(ours.keys() | theirs.keys()) if ours.get(part) != theirs.get(part)]
    if different:
        return 3, f"its {different[0]} is not openwork's"
    flaw = tokenizer.flaw(model)
    return (4, flaw) if flaw else (5, "")


def _names(vocabulary: Any) -> list[str] | None:
    """The names of the pieces by id; None where there are none, or the ids have gaps."""
    if isinstance(vocabulary, list):
        pairs = [entry for entry in vocabulary if isinstance(entry, list) and len(entry) == 2]
        return [name for name, _ in pairs] if len(pairs) == len(vocabulary) else None
    if not isinstance(vocabulary, dict):
        return None
    names = sorted(vocabulary, key=lambda name: vocabulary[name] if isinstance(vocabulary[name], int) else -1)
    return names if [vocabulary[name] for name in names] == list(range(len(names))) else None


def _without_learnt_parts(content: dict[str, Any]) -> dict[str, Any]:
    """All but the pieces and the merges.

    The pattern that cuts words is ours as well, since a stranger's may take hours; if it ever changes, the earlier ones
    are to be listed here.
    """
    rest = {key: value for key, value in content.items() if key != "version"}
    rest["model"] = {key: value for key, value in rest["model"].items() if key not in ("vocab", "merges")}
    return rest
