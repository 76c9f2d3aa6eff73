"""Which word the heads of an encoder look at: the attention weights of a model's own forward pass, word by word."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from openwork.inspection.recorder import Recorder
from openwork.inspection.trace import Step
from openwork.inspection.tracing import trace_forward
from openwork.models.interfaces import SequenceModel
from openwork.study.documents.pronoun_sentences import Sentence
from openwork.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class PronounReader:
    """A model that reads sentences of words; in its texts `separator` stands between the words."""

    model: SequenceModel
    tokenizer: Tokenizer
    separator: str

    def text(self, sentence: Sentence) -> str:
        """The sentence as the model is given it."""
        return self.separator.join(sentence.words)

    def forward(self, sentence: Sentence, target: Sequence[int], names: Sequence[str]) -> list[Step]:
        """The steps of a forward pass with these ids, and their names, as the decoder's input."""
        pieces, end = self.tokenizer.encode_pieces(self.text(sentence)), self.tokenizer.end_id
        recorder = Recorder({"source": [*pieces.pieces, self.tokenizer.piece(end)], "target": names})
        trace_forward(self.model, recorder, [*pieces.ids, end], target)
        return recorder.steps

    def looks(self, sentence: Sentence) -> np.ndarray:
        """How much of its attention each word gives to each: (layer, head, word, word).

        Of a word of several pieces, weights are added up where it is looked at, and averaged where it looks.
        """
        start = self.tokenizer.start_id
        steps = self.forward(sentence, [start], [self.tokenizer.piece(start)])
        weights = np.stack([step.value for step in steps if is_encoders(step)])
        shares = self._shares(sentence)
        return shares / shares.sum(1, keepdims=True) @ weights @ shares.T

    def _shares(self, sentence: Sentence) -> np.ndarray:
        """How much of each piece's letters belongs to each word: (word, piece); the end symbol belongs to none.

        A piece may hold a space as well, which counts for nothing.
        """
        offsets = self.tokenizer.encode_pieces(self.text(sentence)).offsets
        letters, begin = np.zeros((len(sentence.words), len(offsets) + 1)), 0
        for row, word in zip(letters, sentence.words, strict=True):
            end = begin + len(word)
            row[:-1] = [max(0, min(end, last) - max(begin, first)) for first, last in offsets]
            begin = end + len(self.separator)
        return letters / np.maximum(letters.sum(0), 1)


def is_encoders(step: Step) -> bool:
    """Whether these are the weights of an encoder layer."""
    return step.name.startswith("encoder.") and step.name.endswith("self_attention.weights")


def first_of_all(looks: np.ndarray, query: int, key: int) -> np.ndarray:
    """(layer, head): whether of all words but itself the query looks most at the key."""
    others = np.delete(looks[:, :, query], query, axis=-1)
    return looks[:, :, query, key] >= others.max(-1)


def have_heads_of_their_own(found: np.ndarray) -> bool:
    """Whether each relation can be given a head that no other has; found: (relation, head), what each head shows."""

    def given(relation: int, taken: frozenset[int]) -> bool:
        if relation == len(found):
            return True
        free = (head for head in np.flatnonzero(found[relation]).tolist() if head not in taken)
        return any(given(relation + 1, taken | {head}) for head in free)

    return given(0, frozenset())
