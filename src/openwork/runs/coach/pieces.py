"""Checks of the texts and of how they are cut into pieces."""

import unicodedata

from openwork.base.messages import msg
from openwork.base.phrases import AsIs, Joined
from openwork.checks.check import NotApplicable
from openwork.runs.coach.trial import Observation, Trial, seen
from openwork.runs.preflight.coverage import remedy_of, unknown_ids
from openwork.text.languages import plain_words
from openwork.text.tokenizer import Tokenizer

SAMPLE = 1000  # pairs
SAME = 0.98  # least share of the lines that must come back
UNKNOWN, UNKNOWN_WORDS = 0.02, 0.2  # greatest share of unknown pieces; the latter where pieces are whole words
BYTES = 0.05  # the same of bytes, with which nothing is lost
FEWEST, MOST = 0.5, 5.0  # pieces a word
EQUAL = 0.5  # greatest share of pairs whose sides are the same text


def _sides(trial: Trial) -> list[tuple[Tokenizer, list[str], list[list[int]]]]:
    """Each side's tokenizer, some of its lines, and their pieces."""
    few, (source, target) = trial.pairs[:SAMPLE], (trial.tokenizers.source, trial.tokenizers.target)
    sides = (source, [pair.source for pair in few]), (target, [pair.target for pair in few])
    return [(tokenizer, lines, tokenizer.encode_batch(lines)) for tokenizer, lines in sides]


def comes_back(trial: Trial) -> Observation:
    """Text -> pieces -> text. Lines with unknown pieces are left to the next check."""
    shares = []
    for tokenizer, lines, rows in _sides(trial):
        whole = [(text, ids) for text, ids in zip(lines, rows, strict=True) if tokenizer.unknown_id not in ids]
        if whole:
            shares.append(sum(_plain(tokenizer.decode(ids)) == _plain(text) for text, ids in whole) / len(whole))
    if not shares:
        raise NotApplicable("every line has pieces that are unknown")
    return seen(min(shares) >= SAME, f"{min(shares):.1%} of the lines come back", f"at least {SAME:.0%}")


def few_unknown(trial: Trial) -> Observation:
    """Pieces that the vocabulary does not have, or bytes of characters that it lacks; of the side that has more."""
    found = []
    for tokenizer, _, rows in _sides(trial):
        ids = [number for row in rows for number in row]
        bad, lost = unknown_ids(tokenizer), tokenizer.unknown_id in ids
        share = sum(number in bad for number in ids) / max(len(ids), 1)
        most = UNKNOWN_WORDS if tokenizer.kind == "words" else UNKNOWN if lost else BYTES
        found.append((share / most, share, most, lost))
    _, share, most, lost = max(found)
    if lost or not share:
        return seen(share <= most, f"{share:.1%} of the pieces are unknown", f"at most {most:.0%}")
    said = msg(f"{share:.1%} of the pieces are bytes of characters without a piece")
    if share > most and (remedy := remedy_of(trial.settings.text, trial.pairs)):
        said = Joined(said, AsIs("; "), f"more characters get a piece of their own with {remedy}")
    return seen(share <= most, said, f"at most {most:.0%}")


def pieces_a_word(trial: Trial) -> Observation:
    """How finely text is cut; a word is what is counted when words are compared (Chinese: a character)."""
    rates = []
    for tokenizer, lines, rows in _sides(trial):
        if tokenizer.kind == "characters":
            raise NotApplicable("each piece is a character, as wanted")
        words = sum(len(plain_words(text)) for text in lines)
        if words:
            rates.append(sum(map(len, rows)) / words)
    if not rates:
        raise NotApplicable("the texts have no words")
    worst = max(rates, key=lambda rate: max(rate / MOST, FEWEST / rate))
    return seen(FEWEST <= worst <= MOST, f"{worst:.2f} pieces a word", f"from {FEWEST:g} to {MOST:g} pieces")


def sides_differ(trial: Trial) -> Observation:
    """Source and target are not the same text, as when one file is named twice."""
    if trial.settings.data.corpus is not None or trial.settings.data.mix:
        raise NotApplicable("a corpus with a name is what it is")
    few = trial.pairs[:SAMPLE]
    share = sum(_plain(pair.source) == _plain(pair.target) for pair in few) / len(few)
    return seen(share <= EQUAL, f"{share:.1%} of the pairs have the same text twice", f"at most {EQUAL:.0%}")


def _plain(text: str) -> str:
    """Without the differences that an external tokenizer may make: case, forms of characters, runs of spaces."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
