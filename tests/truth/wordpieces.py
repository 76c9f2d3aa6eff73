"""WordPiece by its description (Devlin et al. 2019; Schuster and Nakajima 2012), and a vocabulary as large as BERT's.

The pieces are random letters: no word that a test asks for was put there, so each answer has to be looked for.
"""

import random
import re
import unicodedata
from functools import cache

MARKS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
SIZE = 30_522  # pieces of bert-base-uncased
LETTERS = "etaoinshrdlucmfwypvbgkjqxz"
SIGNS = "!\"#$%&'()*+,-./:;<=>?@[]_{}"
LONGEST_WORD = 100


@cache
def vocabulary() -> tuple[str, ...]:
    """Marks, signs, digits, letters and pieces of two to nine letters, frequent letters more often, in a random order.

    One letter begins no word, and another continues none: words with them may be unknown as a whole.
    """
    draw = random.Random(14)
    frequencies = [1 / rank for rank in range(1, len(LETTERS) + 1)]
    found = {*MARKS, *SIGNS, *"0123456789", *LETTERS[:-1], *(f"##{letter}" for letter in LETTERS[1:])}
    while len(found) < SIZE:
        piece = "".join(draw.choices(LETTERS, frequencies, k=draw.choice((2, 3, 3, 4, 4, 5, 6, 7, 8, 9))))
        found.add(draw.choice(("", "##")) + piece)
    return tuple(draw.sample(sorted(found), SIZE))


def texts() -> list[str]:
    """Sentences, and words joined from the vocabulary's own pieces, some with capitals, accents or no piece."""
    draw, stems = random.Random(15), [name for name in vocabulary() if name.isalpha()]
    tails = [name.removeprefix("##") for name in vocabulary() if name.startswith("##")]
    lines = [
        "Hello, how are you doing?",
        "The Frenchman ate 🥖: [MASK] [CLS]",
        "ÀÉÎÕÜ ñandú ZEBRA",
        "e" * 101,
        "t\tt  t",
        "",
    ]
    for _ in range(100):
        words = ["".join([draw.choice(stems), *draw.choices(tails, k=draw.randrange(4))]) for _ in range(8)]
        words[0], words[1], words[2] = words[0].title(), words[1].upper(), words[2].replace("e", "é")
        words[3] += draw.choice(SIGNS)
        words[4] = draw.choice(("z", "爱", "½", "e" * 101)) + words[4]
        lines.append(" ".join(words))
    return lines


def word_pieces(word: str, known: frozenset[str]) -> list[str]:
    """From the left always the longest piece; the whole word is unknown where there is none."""
    if len(word) > LONGEST_WORD:
        return ["[UNK]"]
    found, begin = [], 0
    while begin < len(word):
        candidates = (("##" if begin else "") + word[begin:end] for end in range(len(word), begin, -1))
        piece = next((candidate for candidate in candidates if candidate in known), None)
        if piece is None:
            return ["[UNK]"]
        found.append(piece)
        begin += len(piece.removeprefix("##") if begin else piece)
    return found


def words_of(text: str) -> list[str]:
    """Small letters without accents, cut at spaces; punctuation and Chinese characters are words of their own."""
    plain = "".join(c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn").lower()
    return re.findall(r"[!-/:-@\[-`{-~\u4e00-\u9fff]|[^\s!-/:-@\[-`{-~\u4e00-\u9fff]+", plain)


def framed(text: str) -> list[str]:
    """The pieces of a text between [CLS] and [SEP]; a mark that stands in the text is that mark."""
    known = frozenset(vocabulary())
    parts = re.split(rf"({'|'.join(map(re.escape, MARKS))})", text)
    inside = [
        piece
        for part in parts
        for piece in ([part] if part in MARKS else (p for word in words_of(part) for p in word_pieces(word, known)))
    ]
    return ["[CLS]", *inside, "[SEP]"]
