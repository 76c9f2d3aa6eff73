"""The data of a run: pairs, tokenizers and stores of ids."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

from openwork.base.errors import BundleError, DataError
from openwork.base.tasks import task_of
from openwork.bundles.tasks import VocabularyLines, tokenizers_for_task
from openwork.data.batching import CorpusMixture
from openwork.data.filters import FilterReport, FilterSettings
from openwork.data.origins import check_origins, origins_of, read_origins, write_origins
from openwork.data.pairs import PairSource, Sampling, find_splits, store_pairs
from openwork.data.records import Pair, are_texts, split_texts
from openwork.data.settings import DataSettings
from openwork.data.store import TokenStore
from openwork.data.targets import check_known, checked
from openwork.runs.file.settings import RunSettings
from openwork.runs.folder import RunFolder
from openwork.runs.tuning.fine_tuning import Beginning
from openwork.text.pair import TokenizerPair, train_pair
from openwork.training.checkpoint import checkpoints

_ANY_RATIO = 1e9


def wanted_pairs(settings: RunSettings) -> tuple[DataSettings, FilterSettings, Callable[[PairSource], PairSource]]:
    """Which pairs a run wants, what it leaves out, and how each is checked. A label may be as short as it likes."""
    filters = settings.filters
    if settings.text.has_labels:
        filters = filters.model_copy(update={"maximum_ratio": _ANY_RATIO})
    return settings.data, filters, partial(checked, task=task_of(settings.model))


Report = Callable[[str], None]


GOLDEN_EXAMPLES = 5


@dataclass(frozen=True)
class RunCorpus:
    """The data of a run, ready to use. `examples`: pairs whose sources the bundle shows what it makes of."""

    tokenizers: TokenizerPair
    train: TokenStore
    valid: TokenStore
    train_pairs: PairSource
    valid_pairs: list[Pair]
    examples: list[Pair]
    report: FilterReport
    mixture: CorpusMixture | None = None


def prepare_corpus(settings: RunSettings, folder: RunFolder, report: Report) -> RunCorpus:
    """Reads, filters, learns the vocabulary, tokenises; what is there already is used again."""
    splits = find_splits(*wanted_pairs(settings))
    splits.tell(report)
    begun = bool(checkpoints(folder.checkpoints))
    now = origins_of(splits.parts, splits.valid if settings.data.validation is not None else None)
    before = read_origins(folder.stores) if begun else None
    if before is not None:
        check_origins(before, now, folder.path)
    known = before.vocabulary if before is not None else ""
    tokenizers = _tokenizers(settings, folder, splits.train, report, begun=begun, known=known)
    check_known(splits.valid, tokenizers, report, held_out=settings.data.validation is None)
    report("tokenising")
    store = partial(store_pairs, tokenizers=tokenizers, begun=begun, report=report)
    train_store = store(folder.stores / "train", splits.train, sampling=_sampling(settings))
    valid_pairs, golden = _examples(splits.valid, settings.training.validation_sentences)
    metric = settings.training.metric
    if not valid_pairs and metric != "loss":
        raise DataError(
            f"{splits.valid.description}: the first {settings.training.validation_sentences:,} sources are blank",
            why=f'training.metric = "{metric}" needs sources to translate',
            hint='give other pairs to validate with, or set training.metric = "loss"',
            code="D125",
        )
    valid_store = store(folder.stores / "valid", splits.valid)
    report(f"validation pairs: {len(valid_store):,} from {splits.valid.description}")
    if not begun:
        write_origins(folder.stores, replace(now, vocabulary=tokenizers.fingerprint))
    return RunCorpus(
        tokenizers, train_store, valid_store, splits.train, valid_pairs, golden, splits.report, splits.mixture
    )


def _examples(valid: PairSource, count: int) -> tuple[list[Pair], list[Pair]]:
    """The validation pairs to translate, none where they have no sources, and examples for the bundle."""
    pairs = list(islice(valid.read(), count))
    if are_texts(pairs):
        return [], split_texts(valid.read(), GOLDEN_EXAMPLES if pairs else 0)
    return pairs, pairs[:GOLDEN_EXAMPLES]


def _sampling(settings: RunSettings) -> Sampling | None:
    text = settings.text
    return Sampling(text.sampling, text.samplings, settings.training.seed) if text.sampling > 0 else None


def _tokenizers(
    settings: RunSettings, folder: RunFolder, pairs: PairSource, report: Report, *, begun: bool, known: str
) -> TokenizerPair:
    """Those of the run if it has `begun`; before the first checkpoint the data may still change, so they are learnt.

    `known`: their fingerprint, empty where it was not noted.
    """
    if begun:
        try:
            tokenizers = tokenizers_for_task(TokenizerPair.load(folder.tokenizers), task_of(settings.model))
            if not known or tokenizers.fingerprint == known:
                return tokenizers
        except BundleError:
            pass
        report(f"{folder.tokenizers}: the vocabulary is damaged; the same data gives it again")
    folder.tokenizers.mkdir(exist_ok=True)
    tokenizers = new_tokenizers(settings, pairs, report)
    if known and tokenizers.fingerprint != known:
        raise BundleError(
            f"{folder.tokenizers}: the vocabulary of this run is damaged",
            why="learnt again from the same data it has become another one",
            hint="bring this folder back from a copy, or give another --out to begin anew",
            code="B064",
        )
    tokenizers.save(folder.tokenizers)
    sizes = {tokenizers.source.vocabulary_size, tokenizers.target.vocabulary_size}
    kind = "shared" if tokenizers.shared else "separate"
    report(f"vocabulary: {' and '.join(f'{size:,}' for size in sorted(sizes))} pieces, {kind}")
    return tokenizers


def new_tokenizers(settings: RunSettings, pairs: PairSource, report: Report) -> TokenizerPair:
    """Learnt from the pairs, or read from files, or those of the bundle that the run begins with."""
    tuning = settings.fine_tuning
    if tuning.from_bundle is None:
        report("learning the vocabulary")
        sources = VocabularyLines(pairs.side("source"), task_of(settings.model))
        learnt = train_pair(sources, pairs.side("target"), settings.text)
    else:
        learnt = Beginning.of(tuning.from_bundle).tokenizers_for(settings, pairs.side("source"), pairs.side("target"))
    return tokenizers_for_task(learnt, task_of(settings.model))
