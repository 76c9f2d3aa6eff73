"""Whether a model reaches every position of the sentences that it is to learn from. Learned positions may not."""

import numpy as np

from openwork.base.errors import ConfigError
from openwork.data.store import TokenStore


def check_reach(longest: int | None, train: TokenStore, valid: TokenStore, *, continues: bool = False) -> None:
    """Before the first update: ConfigError that counts the pairs with a sentence of more than `longest` tokens.

    `continues`: source and target are one sentence, with one end symbol.
    """
    if longest is None:
        return
    for kind, store in (("training", train), ("validation", valid)):
        both = np.add if continues else np.maximum
        lengths = both(store.source_lengths, store.target_lengths) + 1  # the end symbol
        beyond = int((lengths > longest).sum())
        if beyond:
            most = int(lengths.max())
            raise ConfigError(
                f"{beyond:,} {kind} pairs have a sentence of more than {longest:,} tokens, where learned positions end",
                why=f"the longest has {most:,} tokens, the end symbol counted",
                hint=f"set model.maximum_length to {most} or more, or drop such pairs with filters.maximum_characters",
                code="C047",
            )
