"""Loading a translator: of one bundle, or of several as an ensemble."""

from collections.abc import Sequence
from pathlib import Path

from openwork.base.errors import BundleError, UsageError
from openwork.bundles.bundle import Bundle, load_bundle
from openwork.decoding.ensemble import Ensemble
from openwork.decoding.settings import DecodingSettings
from openwork.inference.engine import TranslationPrecision
from openwork.inference.shortlists import read_shortlist
from openwork.inference.translator import BatchTranslator


def load_bundles(paths: Sequence[Path]) -> list[Bundle]:
    """Loads bundles; BundleError if their vocabularies differ."""
    bundles = [load_bundle(path) for path in paths]
    for path, bundle in zip(paths[1:], bundles[1:], strict=True):
        _check_vocabulary(path, bundle, str(paths[0]), bundles[0])
    return bundles


def _check_vocabulary(path: Path, bundle: Bundle, name: str, first: Bundle) -> None:
    """BundleError unless the bundle at `path` has the vocabulary of the first one, which has this `name`."""
    if bundle.tokenizers.fingerprint != first.tokenizers.fingerprint:
        raise BundleError(
            f"{path}: its vocabulary is not that of {name}",
            why="models that translate together choose among the same pieces",
            hint="train them on the same data with the same [text] settings, or with --from-bundle",
            code="B048",
        )


def translator_of(
    bundles: Sequence[Bundle],
    decoding: DecodingSettings,
    precision: TranslationPrecision = "float32",
    shortlist: Path | None = None,
    draft: Path | None = None,
) -> BatchTranslator:
    """The translator of one bundle, or of an ensemble: the mean of the bundles' probabilities.

    `shortlist`: a file; the search is limited to its pieces. `draft`: a bundle whose model proposes what greedy search
    checks. UsageError for models that cannot do that, BundleError for a draft of another vocabulary.
    """
    if draft is not None:
        return _drafted(bundles, decoding, precision, shortlist, draft)
    if len(bundles) == 1:
        only = None if shortlist is None else read_shortlist(shortlist, bundles[0].tokenizers)
        made = BatchTranslator(bundles[0].model, bundles[0].tokenizers, decoding, precision=precision, shortlist=only)
        if only is None or made.engine.is_prepared:
            return made
    if shortlist is not None:
        raise UsageError(
            "a shortlist does not go with these models",
            why="it needs one Transformer with the paper's attention, on a processor",
            hint="leave --shortlist out",
            code="U048",
        )
    together = Ensemble([bundle.model for bundle in bundles]).eval()
    return BatchTranslator(together, bundles[0].tokenizers, decoding, precision=precision)


def _drafted(
    bundles: Sequence[Bundle],
    decoding: DecodingSettings,
    precision: TranslationPrecision,
    shortlist: Path | None,
    draft: Path,
) -> BatchTranslator:
    if decoding.beam != 1 or decoding.samples or shortlist is not None or len(bundles) > 1:
        raise UsageError(
            "--draft goes with greedy search by one model",
            why="what a draft proposes is kept where greedy search would have chosen it",
            hint="add --beam 1, and leave out --samples, --shortlist and further bundles; or leave --draft out",
            code="U178",
        )
    small = load_bundle(draft)
    _check_vocabulary(draft, small, "the model", bundles[0])
    return BatchTranslator(bundles[0].model, bundles[0].tokenizers, decoding, precision=precision, draft=small.model)
