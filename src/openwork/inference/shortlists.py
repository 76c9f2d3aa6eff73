"""Shortlists as files: made from the pairs that a bundle was trained on, or others like them, and read again."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from openwork.base.errors import BundleError, DataError
from openwork.base.files import atomic_write_bytes
from openwork.base.outputs import check_file
from openwork.base.symbols import SYMBOL_IDS
from openwork.bundles.bundle import load_bundle
from openwork.data.corpora import catalogue as corpora
from openwork.data.pairs import encoded_pairs
from openwork.data.readers.parallel import read_parallel
from openwork.decoding.shortlist import Shortlist
from openwork.text.lexicon import learn_lexicon
from openwork.text.pair import TokenizerPair

MOST_PAIRS = 500_000  # that are looked at
LARGEST_FILE = 1 << 30
ALWAYS, TABLE, FINGERPRINT = "always", "table", "tokenizers"


@dataclass(frozen=True)
class Sizes:
    """`each`: translations of a source piece; `common`: pieces that may always come."""

    each: int = 16
    common: int = 100


def write_shortlist(
    path: Path,
    bundle: Path,
    source: Path | None,
    target: Path | None,
    corpus: str | None,
    sizes: Sizes,
    say: Callable[[str], None],
) -> Shortlist:
    """Learns which pieces translate which from the pairs of two files or of a corpus; DataError if there are none.

    UsageError for a place where another file is, or that lies in the bundle; an older shortlist is replaced.
    """
    check_file(path, is_shortlist, (bundle, source, target))
    tokenizers = load_bundle(bundle).tokenizers
    if corpus is None and (source is None or target is None):
        raise DataError(
            "name a corpus, or a source and a target file",
            hint="give --corpus NAME, or --source FILE and --target FILE",
            code="D095",
        )
    if corpus is not None:
        pairs = corpora.load(corpus, "train")
    else:
        assert source is not None
        assert target is not None
        pairs = read_parallel(source, target)
    encoded = [pair for pair in islice(encoded_pairs(pairs, tokenizers), MOST_PAIRS) if all(pair)]
    if not encoded:
        raise DataError(
            "there are no pairs to learn from", hint="give text that has something on both sides", code="D097"
        )
    say(f"learning from {len(encoded):,} pairs which pieces translate which")
    made = make_shortlist(encoded, tokenizers, sizes)
    told = {FINGERPRINT: tokenizers.fingerprint}
    atomic_write_bytes(path, save({ALWAYS: made.always, TABLE: made.table.to(torch.int32)}, told))
    return made


def make_shortlist(pairs: list[tuple[list[int], list[int]]], tokenizers: TokenizerPair, sizes: Sizes) -> Shortlist:
    """From pairs of ids: the best of each source piece, and besides them the commonest of the target."""
    written = np.concatenate([np.asarray(target, np.int64) for _, target in pairs])
    counts = np.bincount(written, minlength=tokenizers.target.vocabulary_size)
    common = np.argsort(-counts, kind="stable")[: sizes.common]
    symbols = range(SYMBOL_IDS.end + 1)
    first, last = tokenizers.target.first_placeholder, tokenizers.target.placeholders
    always = {*symbols, *common[counts[common] > 0].tolist(), *range(first, first + last)}
    table = learn_lexicon(pairs).best(tokenizers.source.vocabulary_size, sizes.each)
    return Shortlist(torch.tensor(sorted(always)), torch.from_numpy(table), tokenizers.shared)


def is_shortlist(path: Path) -> bool:
    """Whether the file is one of ours, for whatever vocabularies."""
    try:
        with safe_open(path, "pt") as file:
            return FINGERPRINT in (file.metadata() or {}) and set(file.keys()) == {ALWAYS, TABLE}
    except (OSError, SafetensorError):
        return False


def read_shortlist(path: Path, tokenizers: TokenizerPair) -> Shortlist:
    """The shortlist of a file; BundleError if it is damaged or of other vocabularies."""
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise BundleError(f"{path}: too large for a shortlist", hint="openwork shortlist makes one", code="B049")
        with safe_open(path, "pt") as file:
            told = file.metadata() or {}
            always, table = file.get_tensor(ALWAYS), file.get_tensor(TABLE)
    except OSError as error:
        raise BundleError(
            f"{path}: cannot be read",
            why=error.strerror or str(error),
            hint="check that it is a file, and that you may read it",
            code="B001",
        ) from error
    except SafetensorError as error:
        raise BundleError(
            f"{path}: damaged or not a shortlist", hint="openwork shortlist makes one", code="B050"
        ) from error
    if told.get(FINGERPRINT) != tokenizers.fingerprint:
        raise BundleError(
            f"{path}: this shortlist is of other vocabularies than the bundle's",
            hint="openwork shortlist makes one for this bundle",
            code="B051",
        )
    if not _fits(always, table, tokenizers):
        raise BundleError(f"{path}: damaged or not a shortlist", hint="openwork shortlist makes one", code="B050")
    return Shortlist(always.long(), table.long(), tokenizers.shared)


def _fits(always: Tensor, table: Tensor, tokenizers: TokenizerPair) -> bool:
    """Whether all are ids of these vocabularies, each where it belongs."""
    if always.is_floating_point() or table.is_floating_point() or always.dim() != 1 or table.dim() != 2:
        return False
    symbols = list(range(SYMBOL_IDS.end + 1))
    if always[: len(symbols)].tolist() != symbols or not table.numel():
        return False
    size = tokenizers.target.vocabulary_size
    within = int(table.min()) >= -1 and max(int(always.max()), int(table.max())) < size and int(always.min()) >= 0
    return within and table.shape[0] == tokenizers.source.vocabulary_size
