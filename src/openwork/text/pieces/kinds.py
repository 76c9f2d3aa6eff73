"""The kinds of pieces there are, in one table; learning a tokenizer of a kind, and reading one back."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from tokenizers import Tokenizer as LibraryTokenizer

from openwork.base.errors import BundleError
from openwork.text.external.adapted import adapted_from, is_adapted
from openwork.text.external.library import MOST_BYTES
from openwork.text.external.untrusted import panics_as_errors
from openwork.text.labels import Labels, train_labels, train_positions
from openwork.text.pieces.alphabet import COMMON
from openwork.text.pieces.bytelevel import ByteLevel, train_byte_level
from openwork.text.pieces.bytepair import BytePair, train_byte_pair
from openwork.text.pieces.characters import Characters, train_characters
from openwork.text.pieces.learnt import LearntTokenizer
from openwork.text.pieces.unigram import Unigram, train_unigram
from openwork.text.pieces.wordpiece import WordPiece, train_wordpiece
from openwork.text.pieces.words import Words, train_words
from openwork.text.tokenizer import Tokenizer


class Learn(Protocol):
    """Learns a vocabulary from lines, which are read more than once."""

    def __call__(
        self,
        lines: Iterable[str],
        vocabulary_size: int,
        *,
        minimum_frequency: int = 2,
        placeholders: int = 0,
        character_frequency: int = COMMON,
    ) -> LearntTokenizer: ...


class PieceKind(NamedTuple):
    """A way to make pieces of text."""

    tokenizer: type[LearntTokenizer]
    learn: Learn


KINDS: dict[str, PieceKind] = {
    "byte-pair": PieceKind(BytePair, train_byte_pair),
    "byte-level": PieceKind(ByteLevel, train_byte_level),
    "wordpiece": PieceKind(WordPiece, train_wordpiece),
    "unigram": PieceKind(Unigram, train_unigram),
    "characters": PieceKind(Characters, train_characters),
    "words": PieceKind(Words, train_words),
}
TARGET_KINDS: dict[str, PieceKind] = {
    **KINDS,
    "labels": PieceKind(Labels, train_labels),
    "positions": PieceKind(Labels, train_positions),
}
"""What the pieces of a target with a vocabulary of its own may be."""


def load_tokenizer(path: Path | str) -> Tokenizer:
    """Read what `Tokenizer.save` wrote, of whatever kind; `BundleError` for a file that is missing or damaged."""
    path = Path(path)
    try:
        with path.open("rb") as file:
            text = file.read(MOST_BYTES + 1).decode("utf-8")
    except OSError as error:
        raise BundleError(
            f"{path}: the tokenizer cannot be read",
            why=error.strerror or str(error),
            hint="check that the file is there, and that you may read it",
            code="B052",
        ) from error
    except UnicodeDecodeError as error:
        raise _unusable(path, "it is not UTF-8 text") from error
    if len(text) > MOST_BYTES:
        raise _unusable(path, f"it has more than {MOST_BYTES:,} bytes")
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _unusable(path, "it is not whole JSON") from error
    if is_adapted(content):
        try:
            return adapted_from(content)
        except (KeyError, TypeError, ValueError) as error:
            raise _unusable(path, str(error)) from error
    differences = {kind.tokenizer: _difference(content, kind.tokenizer) for kind in TARGET_KINDS.values()}
    tokenizer, (_, difference) = max(differences.items(), key=lambda item: item[1][0])
    if difference:
        raise _unusable(path, difference)
    try:
        with panics_as_errors():
            return tokenizer(LibraryTokenizer.from_str(text))
    except Exception as error:  # the library raises plain Exception for whatever it does not like
        raise _unusable(path, str(error)) from error


def _difference(content: Any, tokenizer: type[LearntTokenizer]) -> tuple[int, str]:
    """How a file differs from those that a kind writes, empty if it does not; and how far it looks like one."""
    skeleton = json.loads(tokenizer.skeleton().to_str())
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


def _unusable(path: Path, why: str) -> BundleError:
    return BundleError(
        f"{path}: this is not a tokenizer of openwork, or it is damaged",
        why=why,
        hint="copy the whole bundle again",
        code="B053",
    )
