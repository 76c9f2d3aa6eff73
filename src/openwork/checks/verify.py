"""The table of checks, and a function that runs all of them on a bundle."""

from collections.abc import Sequence
from pathlib import Path

from openwork.base.errors import OpenworkError
from openwork.base.phrases import Joined
from openwork.bundles.bundle import Bundle, load_bundle
from openwork.bundles.folder import read_manifest
from openwork.bundles.search import find_bundle
from openwork.checks.check import Check, CheckResult, Status, error_reason, run_check
from openwork.checks.context import VerifyContext
from openwork.checks.engines import compiled, half_precision, kernels, prepared
from openwork.checks.keeping import golden, written_again
from openwork.checks.plain_search import searched
from openwork.checks.searches import exhaustive, rescored
from openwork.checks.translating import compiled_step, eight_bits, shortlisted
from openwork.checks.ways import batched, branched, cached, finite, future, padded

# Checks that a model must pass before its searches, and faster ways to compute it, can be checked.
STEPS = ("finite", "future", "cached", "branches")
SOUND = (*STEPS, "batch", "padding", "kernels", "half-precision")

FILES = Joined("the files are complete and unchanged")
# Each check comes after those named in its `after`.
CHECKS: tuple[Check, ...] = (
    Check("finite", "every number is finite", finite),
    Check("future", "the future is masked", future, ("finite",)),
    Check("cached", "cached = uncached", cached, ("finite", "future")),
    Check("branches", "two continuations of a state = each alone", branched, ("finite",)),
    Check("batch", "batch = single", batched, ("finite",)),
    Check("padding", "padding changes nothing", padded, ("finite",)),
    Check("kernels", "fast kernel = reference", kernels, ("finite",)),
    Check("half-precision", "bfloat16 = float32, nearly", half_precision, ("finite",)),
    Check("prepared", "prepared for inference = as trained", prepared, SOUND),
    Check("eight-bits", "int8 = float32, nearly", eight_bits, (*SOUND, "prepared")),
    Check("compiled-step", "the compiled int8 step = its formula", compiled_step, (*SOUND, "prepared")),
    Check("shortlist", "a shortlist = the rest forbidden", shortlisted, (*SOUND, "prepared")),
    Check("compiled", "compiled = eager", compiled, ("finite",)),
    Check("search", "a search = the plain algorithm", searched),
    Check("scores", "a search's scores = rescored", rescored, (*STEPS, "batch", "padding", "search")),
    Check("beam", "a beam of full width = exhaustive", exhaustive, (*STEPS, "search", "scores")),
    Check("written-again", "written and read again = the same", written_again, ("finite",)),
    Check("golden", "golden examples are unchanged", golden),
)


def verify(path: Path, *, compiling: bool = False, further: Sequence[Check] = ()) -> list[CheckResult]:
    """Runs all checks on a bundle or run folder. A bundle that cannot be loaded fails the first one.

    `further`: checks of packages above, run after the others.
    """
    folder = find_bundle(path)
    read_manifest(folder)
    try:
        bundle = load_bundle(folder)
    except OpenworkError as error:
        files = CheckResult("files", FILES, Status.FAILED, reason=error_reason(error))
        reason = Joined("the bundle cannot be loaded")
        checks = (*CHECKS, *further)
        return [files, *(CheckResult(check.name, check.title, Status.SKIPPED, reason=reason) for check in checks)]
    return [CheckResult("files", FILES, Status.PASSED), *verify_bundle(bundle, compiling=compiling, further=further)]


def verify_bundle(bundle: Bundle, *, compiling: bool = False, further: Sequence[Check] = ()) -> list[CheckResult]:
    """Runs the checks on a bundle in memory."""
    bundle.model.eval()
    context = VerifyContext(bundle, compiling)
    done: dict[str, CheckResult] = {}
    for check in (*CHECKS, *further):
        done[check.name] = run_check(check, context, done)
    return list(done.values())
