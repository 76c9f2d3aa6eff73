"""GPT-2's vocab.json and merges.txt: byte-level pieces by id, and the merges in their order.

Radford et al., "Language Models are Unsupervised Multitask Learners" (2019), section 2.2.
"""

from pathlib import Path

from tokenizers import AddedToken, decoders, models, pre_tokenizers
from tokenizers import Tokenizer as LibraryTokenizer

from openwork.base.errors import DataError
from openwork.text.external.library import MOST_IDS, HuggingFaceTokenizer, is_text, read_bounded_lines, read_json

VOCABULARY, MERGES = "vocab.json", "merges.txt"
_SYMBOLS = ("<|endoftext|>", "<s>", "</s>", "<pad>", "<unk>", "<mask>")


def read_gpt2(vocabulary: Path, merges: Path) -> HuggingFaceTokenizer:
    """The byte-level tokenizer of the two files."""
    ids = _read_vocabulary(vocabulary)
    pairs = _read_merges(merges, ids)
    library = LibraryTokenizer(models.BPE(ids, pairs))
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    library.decoder = decoders.ByteLevel()
    library.add_special_tokens([AddedToken(name, special=True) for name in _SYMBOLS if name in ids])
    return HuggingFaceTokenizer(library)


def _read_vocabulary(path: Path) -> dict[str, int]:
    content = read_json(path)
    fits = isinstance(content, dict) and all(type(n) is int and 0 <= n < MOST_IDS for n in content.values())
    if not fits or not content or not is_text("".join(content)):
        raise DataError(
            f"{path}: this is not GPT-2's vocabulary",
            why="it is no table of pieces with their numbers",
            hint=f"name the {VOCABULARY} that belongs to {MERGES}",
            code="D100",
        )
    return content


def _read_merges(path: Path, ids: dict[str, int]) -> list[tuple[str, str]]:
    pairs = []
    for number, line in enumerate(read_bounded_lines(path), start=1):
        if not line or (number == 1 and line.startswith("#version")):
            continue
        left, _, right = line.partition(" ")
        missing = [piece for piece in (left, right, left + right) if piece not in ids]
        if not left or not right or " " in right or missing:
            raise DataError(
                f"{path}:{number}: this is no merge of two pieces of the vocabulary",
                why=f"{missing[0]!r} is not in {VOCABULARY}" if left and right and missing else f"the line is {line!r}",
                hint="a line holds two pieces with a space between; the two files must belong together",
                code="D101",
            )
        pairs.append((left, right))
    return pairs
