"""A search among the few pieces that can translate a batch: learned from pairs, kept in a file, and used.

The output matrix and the softmax over all pieces are a quarter of the work of a small model, and nearly all of it is
for pieces that this sentence cannot need. A lexicon says beforehand which ones it can need (Jean et al. 2015, "On
Using Very Large Target Vocabulary for Neural Machine Translation"): for each source piece its most probable
translations, besides the pieces that are common everywhere, and the source's own, for what is copied.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Int
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from openwork.base.errors import BundleError, DataError
from openwork.base.files import atomic_write_bytes
from openwork.base.outputs import check_file
from openwork.base.regular_files import unreadable
from openwork.base.symbols import SYMBOL_IDS
from openwork.bundles.bundle import load_bundle
from openwork.data.pairs import encoded_pairs, iterate_pairs
from openwork.decoding.scoring import Hypothesis
from openwork.nn.shapes import Source
from openwork.text.lexicon import learn_lexicon
from openwork.text.pair import TokenizerPair


@dataclass(frozen=True)
class Shortlist:
    """`always`: ids that may always come, the symbols first. `table`: those of each source piece, -1 for none."""

    always: Int[Tensor, "common"]
    table: Int[Tensor, "source count"]
    shared: bool  # one vocabulary for both sides, so that a source piece may be copied

    def pieces(self, source: Source) -> Int[Tensor, "pieces"]:
        """The ids that may come in the translations of these sentences, ascending."""
        present = source.unique()
        found = [self.always, self.table.index_select(0, present).flatten()]
        if self.shared:
            found.append(present)
        together = torch.cat(found).unique()
        return together[1:] if int(together[0]) < 0 else together


def in_whole_vocabulary(found: Sequence[Sequence[Hypothesis]], pieces: Int[Tensor, "pieces"]) -> list[list[Hypothesis]]:
    """The same hypotheses with ids of the whole vocabulary."""
    ids = pieces.tolist()
    return [[replace(one, tokens=tuple(ids[place] for place in one.tokens)) for one in each] for each in found]


MOST_PAIRS = 500_000  # that are read
LARGEST_FILE = 1 << 30
ALWAYS, TABLE, FINGERPRINT = "always", "table", "tokenizers"


@dataclass(frozen=True)
class Sizes:
    """`each`: translations of a source piece; `common`: frequent pieces that are always allowed."""

    each: int = 16
    common: int = 100


def write_shortlist(
    path: Path,
    bundle: Path,
    source: Path | None,
    target: Path | None,
    corpus: str | None,
    sizes: Sizes,
    report: Callable[[str], None],
) -> Shortlist:
    """Learns from the pairs of two files or of a corpus which pieces translate which. DataError if there are none.

    UsageError for the path of another file or one in the bundle; an older shortlist is replaced.
    """
    check_file(path, is_shortlist, (bundle, source, target))
    tokenizers = load_bundle(bundle).tokenizers
    pairs = encoded_pairs(iterate_pairs(source, target, corpus, "train"), tokenizers)
    encoded = [pair for pair in islice(pairs, MOST_PAIRS) if all(pair)]
    if not encoded:
        raise DataError(
            "there are no pairs to learn from", hint="give text that has something on both sides", code="D097"
        )
    report(f"learning from {len(encoded):,} pairs which pieces translate which")
    made = make_shortlist(encoded, tokenizers, sizes)
    facts = {FINGERPRINT: tokenizers.fingerprint}
    atomic_write_bytes(path, save({ALWAYS: made.always, TABLE: made.table.to(torch.int32)}, facts))
    return made


def make_shortlist(pairs: list[tuple[list[int], list[int]]], tokenizers: TokenizerPair, sizes: Sizes) -> Shortlist:
    """The shortlist of pairs of ids: the best translations of each source piece, and frequent target pieces."""
    written = np.concatenate([np.asarray(target, np.int64) for _, target in pairs])
    counts = np.bincount(written, minlength=tokenizers.target.vocabulary_size)
    common = np.argsort(-counts, kind="stable")[: sizes.common]
    symbols = range(SYMBOL_IDS.end + 1)
    first, last = tokenizers.target.first_placeholder, tokenizers.target.placeholders
    always = {*symbols, *common[counts[common] > 0].tolist(), *range(first, first + last)}
    table = learn_lexicon(pairs).best(tokenizers.source.vocabulary_size, sizes.each)
    return Shortlist(torch.tensor(sorted(always)), torch.from_numpy(table), tokenizers.shared)


def is_shortlist(path: Path) -> bool:
    """Whether the file is a shortlist, for any vocabularies."""
    try:
        with safe_open(path, "pt") as file:
            return FINGERPRINT in (file.metadata() or {}) and set(file.keys()) == {ALWAYS, TABLE}
    except (OSError, SafetensorError):
        return False


def read_shortlist(path: Path, tokenizers: TokenizerPair) -> Shortlist:
    """Reads a shortlist; BundleError if it is damaged or of other vocabularies."""
    damaged = BundleError(f"{path}: damaged or not a shortlist", hint="openwork shortlist makes one", code="B050")
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise BundleError(f"{path}: too large for a shortlist", hint="openwork shortlist makes one", code="B049")
        with safe_open(path, "pt") as file:
            facts = file.metadata() or {}
            always, table = file.get_tensor(ALWAYS), file.get_tensor(TABLE)
    except OSError as error:
        raise unreadable(path, error) from error
    except SafetensorError as error:
        raise damaged from error
    if facts.get(FINGERPRINT) != tokenizers.fingerprint:
        raise BundleError(
            f"{path}: this shortlist is of other vocabularies than the bundle's",
            hint="openwork shortlist makes one for this bundle",
            code="B051",
        )
    if not _fits(always, table, tokenizers):
        raise damaged
    return Shortlist(always.long(), table.long(), tokenizers.shared)


def _fits(always: Tensor, table: Tensor, tokenizers: TokenizerPair) -> bool:
    """Whether all ids are of these vocabularies, each in its place."""
    if always.is_floating_point() or table.is_floating_point() or always.dim() != 1 or table.dim() != 2:
        return False
    symbols = list(range(SYMBOL_IDS.end + 1))
    if always[: len(symbols)].tolist() != symbols or not table.numel():
        return False
    size = tokenizers.target.vocabulary_size
    within = int(table.min()) >= -1 and max(int(always.max()), int(table.max())) < size and int(always.min()) >= 0
    return within and table.shape[0] == tokenizers.source.vocabulary_size
