"""A vocabulary without the pieces that a corpus does not use. The corpus is cut into the same pieces as before."""

from collections.abc import Callable, Iterable, Mapping
from itertools import islice

from torch import Tensor

from openwork.base.errors import UsageError
from openwork.data.records import Pair
from openwork.models.build import build_model
from openwork.models.families import ModelSettings
from openwork.models.weights import empty_weights, model_weights
from openwork.runs.tuning import is_of_source
from openwork.text.pair import TokenizerPair
from openwork.text.pieces.learnt import LearntTokenizer
from openwork.text.tokenizer import Tokenizer

AT_ONCE = 4096  # pairs


def with_vocabulary(
    settings: ModelSettings,
    weights: Mapping[str, Tensor],
    tokenizers: TokenizerPair,
    pairs: Callable[[], Iterable[Pair]],
) -> tuple[TokenizerPair, dict[str, Tensor]]:
    """The tokenizers with the pieces that the pairs use, and the weights with their rows.

    UsageError for tokenizers of other toolkits, whose pieces cannot be taken away.
    """
    used: tuple[set[int], set[int]] = set(), set()
    remaining = iter(pairs())
    while chunk := list(islice(remaining, AT_ONCE)):
        for rows in tokenizers.encode_pairs([pair.source for pair in chunk], [pair.target for pair in chunk]):
            for ids, row in zip(used, rows, strict=True):
                ids.update(row)
    if tokenizers.shared:
        both = _restricted(tokenizers.source, used[0] | used[1])
        now = TokenizerPair(both, both)
    else:
        now = TokenizerPair(*(_restricted(one, ids) for one, ids in zip(_sides(tokenizers), used, strict=True)))
    rows_of = [_rows(before, after) for before, after in zip(_sides(tokenizers), _sides(now), strict=True)]
    with empty_weights():
        shapes = {name: weight.shape for name, weight in model_weights(build_model(settings, *now.sizes)).items()}
    return now, {
        name: weight if weight.shape == shapes[name] else weight[rows_of[0 if is_of_source(name) else 1]]
        for name, weight in weights.items()
    }


def _sides(tokenizers: TokenizerPair) -> tuple[Tokenizer, Tokenizer]:
    return tokenizers.source, tokenizers.target


def _restricted(tokenizer: Tokenizer, used: set[int]) -> Tokenizer:
    if not isinstance(tokenizer, LearntTokenizer):
        raise UsageError(
            "--vocabulary is for tokenizers that openwork has learnt",
            why="this one came with a model of another toolkit",
            hint="leave --vocabulary out",
            code="U173",
        )
    return tokenizer.restricted(used)


def _rows(before: Tokenizer, now: Tokenizer) -> list[int]:
    """The old id of each piece."""
    assert isinstance(before, LearntTokenizer) and isinstance(now, LearntTokenizer)
    names = sorted(now.ids_of_names, key=now.ids_of_names.__getitem__)
    return [before.ids_of_names[name] for name in names]
