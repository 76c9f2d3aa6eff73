"""The table of checks, and a function that runs all of them on a bundle."""

from collections.abc import Sequence
from pathlib import Path

from openwork.base.errors import OpenworkError
from openwork.base.phrases import Joined
from openwork.bundles.bundle import Bundle, load_bundle
from openwork.bundles.folder import find_bundle, read_manifest
from openwork.checks import keeping, searches, translating, ways
from openwork.checks.check import Check, CheckResult, Status, error_reason, run_checks
from openwork.checks.context import VerifyContext

# Checks that a model must pass before its searches, and faster ways to compute it, can be checked.
STEPS = ("finite", "future", "cached", "branches")
SOUND = (*STEPS, "batch", "padding", "kernels", "half-precision")

FILES = Joined("the files are complete and unchanged")
# Each check comes after those named in its `after`.
CHECKS: tuple[Check, ...] = (
    Check("finite", "every number is finite", ways.finite),
    Check("future", "the future is masked", ways.future, ("finite",)),
    Check("cached", "cached = uncached", ways.cached, ("finite", "future")),
    Check("branches", "two continuations of a state = each alone", ways.branched, ("finite",)),
    Check("batch", "batch = single", ways.batched, ("finite",)),
    Check("padding", "padding changes nothing", ways.padded, ("finite",)),
    Check("kernels", "fast kernel = reference", ways.kernels, ("finite",)),
    Check("half-precision", "bfloat16 = float32, nearly", ways.half_precision, ("finite",)),
    Check("prepared", "prepared for inference = as trained", ways.prepared, SOUND),
    Check("eight-bits", "int8 = float32, nearly", translating.eight_bits, (*SOUND, "prepared")),
    Check("compiled-step", "the compiled int8 step = its formula", translating.compiled_step, (*SOUND, "prepared")),
    Check("shortlist", "a shortlist = the rest forbidden", translating.shortlisted, (*SOUND, "prepared")),
    Check("draft", "greedy search with a draft = without", translating.drafted, (*SOUND, "prepared")),
    Check("compiled", "compiled = eager", ways.compiled, ("finite",)),
    Check("scores", "a search's scores = rescored", searches.rescored, (*STEPS, "batch", "padding")),
    Check("beam", "a beam of full width = exhaustive", searches.exhaustive, (*STEPS, "scores")),
    Check("written-again", "written and read again = the same", keeping.written_again, ("finite",)),
    Check("fewer-bits", "files in fewer bits = rounded", keeping.in_fewer_bits, ("finite", "written-again")),
    Check("golden", "golden examples are unchanged", keeping.golden),
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
        skipped = (CheckResult(one.name, one.title, Status.SKIPPED, reason=reason) for one in (*CHECKS, *further))
        return [files, *skipped]
    return [CheckResult("files", FILES, Status.PASSED), *verify_bundle(bundle, compiling=compiling, further=further)]


def verify_bundle(bundle: Bundle, *, compiling: bool = False, further: Sequence[Check] = ()) -> list[CheckResult]:
    """Runs the checks on a bundle in memory."""
    bundle.model.eval()
    return run_checks((*CHECKS, *further), VerifyContext(bundle, compiling))
