"""How many tokens a text has, about: from its bytes and what the workers counted, so that no tokenizer need run.

The process that speaks HTTP must know how much waits before it accepts more, and must refuse the rest cheaply.
"""

LONGEST = 80_000  # bytes that are counted; a model reads only the beginning of a longer text
KINDS = 3  # of texts, by the bytes of a character: Latin, Greek and Cyrillic, and the scripts of the rest
LEAST = 0.125  # tokens of a byte: however cheap the texts of the last minutes, those of an attacker may not be
WEIGHT = 0.02  # of the newest text in the moving average


class TokenEstimate:
    """The tokens of a byte, for each kind of text, as a moving average of the texts that were translated.

    It starts with one token a character, which is more than tokenizers make of usual texts.
    """

    def __init__(self) -> None:
        self._ratios = [1 / kind for kind in range(1, KINDS + 1)]
        self._counts = [1] * KINDS

    def tokens(self, text: str) -> int:
        """With the end symbol."""
        kind, size = _measured(text)
        return 1 + round(self._ratios[kind] * size)

    def learn(self, text: str, tokens: int) -> None:
        """Notes how many tokens a text has, the end symbol included."""
        kind, size = _measured(text)
        if size and size < LONGEST:
            self._counts[kind] += 1
            weight = max(1 / self._counts[kind], WEIGHT)
            self._ratios[kind] += weight * (max((tokens - 1) / size, LEAST) - self._ratios[kind])


def _measured(text: str) -> tuple[int, int]:
    """The kind of a text, and its bytes."""
    if text.isascii():
        return 0, min(len(text), LONGEST)
    size = len(text.encode())
    return min(KINDS, round(size / len(text))) - 1, min(size, LONGEST)
