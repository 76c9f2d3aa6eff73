"""All parts of the preflight, one after the other: what is cheap and may refuse comes first."""

from datetime import datetime

from openwork.interop.exports import unsupported_exports
from openwork.runs.preflight.coverage import coverages
from openwork.runs.preflight.disk import DiskEstimate, estimate_disk
from openwork.runs.preflight.finish import estimate_finish
from openwork.runs.preflight.longest import beyond_budget, demanding_batches
from openwork.runs.preflight.memory import estimate_memory
from openwork.runs.preflight.report import Preflight
from openwork.runs.preflight.subject import PreflightContext
from openwork.runs.preflight.updates import try_updates
from openwork.runs.preflight.validation import try_validation
from openwork.training.trial import on_trial


def preflight(subject: PreflightContext) -> Preflight:
    """Before the first update: OpenworkError for a plan that cannot be carried out here.

    The training that follows is the same with it and without it, unless batches must be divided for want of memory.
    """
    batches = demanding_batches(subject)
    memory = estimate_memory(subject, batches[0])
    with on_trial(subject.model, subject.optimiser):
        updates = try_updates(subject, batches, memory)
        disk = estimate_disk(subject)
        validation = try_validation(subject)
    tokenizers = subject.tokenizers
    return Preflight(
        batches=tuple(batches),
        beyond=beyond_budget(subject),
        memory=memory,
        updates=updates,
        validation=validation,
        finish=estimate_finish(subject, updates, validation),
        disk=disk,
        coverages=tuple(coverages(subject)),
        closed=unsupported_exports(subject.settings.model, (tokenizers.source, tokenizers.target)),
        begun=datetime.now(),
    )


def preflight_resumed(subject: PreflightContext) -> DiskEstimate:
    """When a run goes on: only what can have changed."""
    return estimate_disk(subject)
