"""The data of a run: pairs, tokenizers and stores of ids."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path

from openwork.base.errors import BundleError, DataError
from openwork.base.limits import LENGTH
from openwork.base.tasks import task_of
from openwork.bundles.settings import bins_checked, encoder_of, load_tokenizers, tokenizers_for_task, vocabulary_lines
from openwork.data.batching import CorpusMixture
from openwork.data.filters import FilterReport
from openwork.data.pairs import (
    PairSource,
    Sampling,
    Splits,
    check_origins,
    find_splits,
    origins_of,
    read_origins,
    store_pairs,
    write_origins,
)
from openwork.data.records import Pair, are_texts, split_texts
from openwork.data.series import windowed
from openwork.data.store import TokenStore
from openwork.data.targets import check_known, checked
from openwork.runs.file.settings import RunSettings
from openwork.runs.folder import RunFolder
from openwork.runs.tuning import Pretrained
from openwork.signals.bins import Bins
from openwork.text.pair import TokenizerPair, train_pair, with_target
from openwork.text.pieces.words import Labels
from openwork.training.checkpoint import checkpoints

ANY_RATIO = 1e9
GOLDEN_EXAMPLES = 5
Report = Callable[[str], None]


def training_splits(settings: RunSettings) -> Splits:
    """The pairs that a run trains on and validates with. A label may be as short as it likes, and a path as long."""
    filters = settings.filters
    if settings.text.has_labels or settings.sound is not None or settings.series is not None:
        filters = filters.model_copy(update={"maximum_ratio": ANY_RATIO})
    if settings.series is not None:
        filters = filters.model_copy(update={"maximum_characters": LENGTH})
        return find_splits(settings.data, filters, partial(windowed, settings=settings.series))
    return find_splits(settings.data, filters, partial(checked, task=task_of(settings.model)))


@dataclass(frozen=True)
class RunCorpus:
    """The data of a run, ready to use. `examples`: pairs whose sources become examples in the bundle."""

    tokenizers: TokenizerPair
    train: TokenStore
    valid: TokenStore
    train_pairs: PairSource
    valid_pairs: list[Pair]
    examples: list[Pair]
    report: FilterReport
    mixture: CorpusMixture | None = None


def prepare_corpus(
    settings: RunSettings, folder: RunFolder, report: Report, *, started: bool | None = None
) -> RunCorpus:
    """Reads and filters the pairs, learns the vocabulary, tokenises; files in the folder are used again.

    `started`: whether a training depends on what is in the folder, so that other pairs are refused; by itself, whether
    there is a checkpoint.
    """
    splits = training_splits(settings)
    splits.report_to(report)
    if started is None:
        started = bool(checkpoints(folder.checkpoints))
    now = origins_of(splits.parts, splits.valid if settings.data.validation is not None else None)
    before = read_origins(folder.stores) if started else None
    if before is not None:
        check_origins(before, now, folder.path)
    known = before.vocabulary if before is not None else ""
    tokenizers = _tokenizers(settings, folder, splits.train, report, started=started, known=known)
    check_known(splits.valid, tokenizers, report, held_out=settings.data.validation is None)
    report("tokenising")
    store = partial(store_pairs, tokenizers=tokenizers, started=started, report=report)
    text, training = settings.text, settings.training
    sampling = Sampling(text.sampling, text.samplings, training.seed) if text.sampling > 0 else None
    train_store = store(
        folder.stores / "train",
        splits.train,
        sampling=sampling,
        changes=settings.changes,
        placeholder_share=text.placeholder_share if tokenizers.placeholders else 0.0,
    )
    validation_sentences, metric = training.validation_sentences, training.metric
    valid_pairs = list(islice(splits.valid.read(), validation_sentences))
    golden = valid_pairs[:GOLDEN_EXAMPLES]
    if are_texts(valid_pairs):  # without sources there is nothing to translate
        golden = split_texts(splits.valid.read(), GOLDEN_EXAMPLES if valid_pairs else 0)
        valid_pairs = []
    if not valid_pairs and metric != "loss":
        raise DataError(
            f"{splits.valid.description}: the first {validation_sentences:,} sources are blank",
            why=f'training.metric = "{metric}" needs sources to translate',
            hint='give other pairs to validate with, or set training.metric = "loss"',
            code="D125",
        )
    valid_store = store(folder.stores / "valid", splits.valid)
    report(f"validation pairs: {len(valid_store):,} from {splits.valid.description}")
    if not started:
        write_origins(folder.stores, replace(now, vocabulary=tokenizers.fingerprint))
    return RunCorpus(
        tokenizers, train_store, valid_store, splits.train, valid_pairs, golden, splits.report, splits.mixture
    )


def _tokenizers(
    settings: RunSettings, folder: RunFolder, pairs: PairSource, report: Report, *, started: bool, known: str
) -> TokenizerPair:
    """Those of the run if it has `started`; before the first checkpoint the data may still change, so they are learnt.

    `known`: their fingerprint, empty where none was recorded.
    """
    if started:
        try:
            tokenizers = load_tokenizers(folder.tokenizers, settings)
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
    if tokenizers.encoder.numbers is not None:
        report(f"sources: rows of {tokenizers.sizes[0]:,} numbers; vocabulary of the targets: {tokenizers.sizes[1]:,}")
        return tokenizers
    sizes = sorted(set(tokenizers.sizes))
    kind = "shared" if tokenizers.shared else "separate"
    report(f"vocabulary: {' and '.join(f'{size:,}' for size in sizes)} pieces, {kind}")
    return tokenizers


def new_tokenizers(settings: RunSettings, pairs: PairSource, report: Report) -> TokenizerPair:
    """Learnt from the pairs, or read from files, or those of the bundle that the run starts from."""
    tuning = settings.fine_tuning
    encoder = encoder_of(settings)
    if tuning.from_bundle is None and encoder is not None:
        report("learning the labels" if settings.text.has_labels else "learning the vocabulary")
        return with_target(encoder, pairs.side("target"), settings.text)
    if tuning.from_bundle is None and settings.series is not None:
        names = Labels.of(Bins(settings.series).names)
        return TokenizerPair(names, names)
    if tuning.from_bundle is None:
        report("learning the vocabulary")
        sources = vocabulary_lines(pairs.side("source"), task_of(settings.model))
        learnt = train_pair(sources, pairs.side("target"), settings.text)
    else:
        learnt = Pretrained.of(tuning.from_bundle).tokenizers_for(settings, pairs.side("source"), pairs.side("target"))
    return bins_checked(tokenizers_for_task(learnt, task_of(settings.model)), settings, Path(tuning.from_bundle or ""))
