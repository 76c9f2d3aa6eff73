"""Many lines in one call of the library, beside line by line, and beside our own code that shows each merge."""

from random import Random

from openwork.text.pieces.kinds import KINDS
from openwork.text.tokenizer import Tokenizer
from parts.comparison import Comparison

LETTERS = "eeeeetttaaaooiinnsshhrrdlucmwfgypbvk"


def comparisons(scale: int = 16) -> list[Comparison]:
    """Sentences of made-up words, the frequent ones of which are pieces."""
    random = Random(1)
    words = ["".join(random.choices(LETTERS, k=random.randint(2, 9))) for _ in range(100 * scale)]
    weights = [1 / (rank + 1) for rank in range(len(words))]
    lines = [" ".join(random.choices(words, weights, k=12)) for _ in range(50 * scale)]
    return [
        _comparison(name, KINDS[name].learn(lines, 400 + 60 * scale, minimum_frequency=2), lines)
        for name in ("byte-pair", "unigram")
    ]


def _comparison(name: str, tokenizer: Tokenizer, lines: list[str]) -> Comparison:
    pieces = [tokenizer.encode_pieces(line) for line in lines]
    numbers = {piece: number for found in pieces for piece, number in zip(found.pieces, found.ids, strict=True)}

    def step_by_step() -> list[int]:
        return [numbers[piece] for line in lines for word in tokenizer.work(line) for piece in word.pieces]

    return Comparison(
        f"tokenising, {name}",
        f"{len(lines):,} lines of 12 words, a vocabulary of {tokenizer.vocabulary_size:,}",
        {
            "line by line": lambda: [number for line in lines for number in tokenizer.encode(line)],
            "step by step, our own": step_by_step,
            "ours": lambda: [number for row in tokenizer.encode_batch(lines) for number in row],
        },
        tolerance=0.0,
    )
