"""Which split an example belongs to where its origin does not say: decided by its content, so that none is in two."""

from collections.abc import Iterator, Sequence
from hashlib import blake2b

from openwork.data.records import Pair

SPLITS = ("train", "valid", "test")


def split_of(content: str, parts: int = 10) -> str:
    """train, valid or test in the proportion (parts - 2) : 1 : 1, from a hash of `content` alone."""
    part = int.from_bytes(blake2b(content.encode(), digest_size=8).digest(), "big") * parts >> 64
    return {parts - 2: "valid", parts - 1: "test"}.get(part, "train")


def divide(pairs: Sequence[Pair], split: str, parts: int = 10) -> Iterator[Pair]:
    """The pairs of one split of a corpus that has none, in their order.

    Two pairs that share a source or a target go to the same split, and so do those that share one with either of them:
    no sentence stands on both sides. A group of pairs is placed by the first of its sources in the order of the
    alphabet. Deterministic, whatever the order of the pairs.
    """
    groups = _groups(pairs)
    first: dict[int, str] = {}
    for pair, group in zip(pairs, groups, strict=True):
        first[group] = min(first.get(group, pair.source), pair.source)
    chosen = {group for group, source in first.items() if split_of(source, parts) == split}
    return (pair for pair, group in zip(pairs, groups, strict=True) if group in chosen)


def _groups(pairs: Sequence[Pair]) -> list[int]:
    """A number for each pair, the same for pairs that hang together (union-find over the sentences)."""
    parents = list(range(len(pairs)))

    def root(index: int) -> int:
        while parents[index] != index:
            parents[index] = index = parents[parents[index]]  # halves the way for the next time
        return index

    seen: dict[tuple[int, str], int] = {}
    for index, pair in enumerate(pairs):
        for side, sentence in enumerate(pair):
            other = seen.setdefault((side, sentence), index)
            parents[root(index)] = root(other)
    return [root(index) for index in range(len(pairs))]
