"""The names of a tokenizer's pieces, for toolkits that know pieces by their names."""

from openwork.base.errors import BundleError
from openwork.text.pieces.learnt import LearntTokenizer
from openwork.text.tokenizer import Tokenizer


def token_names(tokenizer: Tokenizer) -> list[str]:
    """The tokens by id, as the tokenizer's own file names them; BundleError where two have one name."""
    if isinstance(tokenizer, LearntTokenizer):
        ids = tokenizer.ids_of_names
        return sorted(ids, key=lambda name: ids[name])
    names = [tokenizer.piece(number) for number in range(tokenizer.vocabulary_size)]
    if len(set(names)) < len(names):
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise BundleError(
            "this vocabulary cannot be passed on by the names of its pieces",
            why=f"two of them are named {twice!r}",
            hint="train with a tokenizer whose pieces all have different names",
            code="B033",
        )
    return names
