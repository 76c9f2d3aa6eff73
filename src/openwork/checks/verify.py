"""The checks in one table, and all of them carried out on a bundle."""

from collections.abc import Sequence
from pathlib import Path

from openwork.base.errors import OpenworkError
from openwork.bundles.bundle import Bundle, load_bundle
from openwork.bundles.folder import read_manifest
from openwork.bundles.search import find_bundle
from openwork.checks.check import Check, CheckResult, Status, error_reason, examine
from openwork.checks.engines import compiled, half_precision, kernels, prepared
from openwork.checks.keeping import golden, written_again
from openwork.checks.plain_search import searched
from openwork.checks.searches import exhaustive, rescored
from openwork.checks.subject import VerifyContext
from openwork.checks.translating import compiled_step, eight_bits, shortlisted
from openwork.checks.ways import batched, branched, cached, finite, future, padded

# What a model must hold before ways of computing it faster can be compared with it.
SOUND = ("finite", "future", "cached", "branches", "batch", "padding", "kernels", "half-precision")

# A check stands below those that it is `after`.
CHECKS: tuple[Check, ...] = (
    Check("finite", "every number is finite", finite),
    Check("future", "no peek at the future", future, ("finite",)),
    Check("cached", "cached = uncached", cached, ("finite", "future")),
    Check("branches", "two continuations of a state = each alone", branched, ("finite",)),
    Check("batch", "batch = single", batched, ("finite",)),
    Check("padding", "padding does not matter", padded, ("finite",)),
    Check("kernels", "fast kernel = reference", kernels, ("finite",)),
    Check("half-precision", "bfloat16 = float32, nearly", half_precision, ("finite",)),
    Check("prepared", "put to work = as trained", prepared, SOUND),
    Check("eight-bits", "int8 = float32, nearly", eight_bits, (*SOUND, "prepared")),
    Check("compiled-step", "the compiled int8 step = its formula", compiled_step, (*SOUND, "prepared")),
    Check("shortlist", "a shortlist = the rest forbidden", shortlisted, (*SOUND, "prepared")),
    Check("compiled", "compiled = eager", compiled, ("finite",)),
    Check("search", "a search = the plain algorithm", searched),
    Check(
        "scores",
        "a search's scores = rescored",
        rescored,
        ("finite", "future", "cached", "branches", "batch", "padding", "search"),
    ),
    Check(
        "beam",
        "a beam of full width = exhaustive",
        exhaustive,
        ("finite", "future", "cached", "branches", "search", "scores"),
    ),
    Check("written-again", "written and read again = the same", written_again, ("finite",)),
    Check("golden", "golden examples = what they were", golden),
)


def verify(path: Path, *, compiling: bool = False, further: Sequence[Check] = ()) -> list[CheckResult]:
    """All checks of a bundle's folder, or of a run's. One that cannot be loaded has failed the first of them.

    `further`: checks of floors above, after the others.
    """
    folder = find_bundle(path)
    read_manifest(folder)
    try:
        bundle = load_bundle(folder)
    except OpenworkError as error:
        return [_files(Status.FAILED, error_reason(error)), *map(_not_loaded, (*CHECKS, *further))]
    return [_files(Status.PASSED), *verify_bundle(bundle, compiling=compiling, further=further)]


def verify_bundle(bundle: Bundle, *, compiling: bool = False, further: Sequence[Check] = ()) -> list[CheckResult]:
    """The checks of a bundle that is in memory already."""
    bundle.model.eval()
    subject = VerifyContext(bundle, compiling)
    done: dict[str, CheckResult] = {}
    for check in (*CHECKS, *further):
        done[check.name] = examine(check, subject, done)
    return list(done.values())


def _files(status: Status, reason: str = "") -> CheckResult:
    return CheckResult("files", "the files are whole, and those that were written", status, reason=reason)


def _not_loaded(check: Check) -> CheckResult:
    return CheckResult(check.name, check.title, Status.SKIPPED, reason=_not_loaded_reason())


def _not_loaded_reason() -> str:
    return "the bundle cannot be loaded"
