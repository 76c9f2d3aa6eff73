"""Back-translation: sentences of the target language get sources that a model writes (Sennrich et al. 2016).

The model translates in the other direction than the one that is to be trained. Sampled sources teach more than those of
a beam where there are many pairs (Edunov et al. 2018); a tag says which sources are of this kind, so that the training
can tell them apart (Caswell et al. 2019).
"""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from openwork.base.messages import msg
from openwork.inference.guard import loops
from openwork.inference.settings import TranslationPrecision
from openwork.runs.synthetic.pairs import UNUSABLE, ModelOutput, NewPair
from openwork.runs.synthetic.translated import SyntheticPlan
from openwork.text.languages import plain_words

RATIO = 3.0  # words of one side for one of the other
LEAST_WORDS = 8  # of both sides together: shorter texts may have any ratio


def back_translation_plan(
    bundles: Sequence[Path], options: Mapping[str, Any], tag: str, precision: TranslationPrecision
) -> SyntheticPlan:
    """`options`: of the search, over the bundle's; `tag`: put before each source, "" for none."""
    choose = partial(back_translated, tag=tag)
    return SyntheticPlan(tuple(bundles), dict(options), precision, choose, {"tag": tag, "direction": "back"})


def back_translated(found: ModelOutput, tag: str = "") -> NewPair:
    """The pair of the model's text, as the source, and the sentence, as the target; or why there is none."""
    if not found.usable:
        return NewPair(problem=UNUSABLE)
    text, sentence = found.usable[0], found.sentence
    words = plain_words(text), plain_words(sentence)
    if loops(words[0]) and not loops(words[1]):
        return NewPair(problem=msg("a word or phrase is repeated again and again"))
    if words[0] == words[1]:
        return NewPair(problem=msg("the translation is a copy of the sentence"))
    shorter, longer = sorted(map(len, words))
    if shorter + longer >= LEAST_WORDS and longer > RATIO * shorter:
        return NewPair(problem=msg("one side has more than three times the words of the other"))
    return NewPair(f"{tag} {text}" if tag else text, sentence)
