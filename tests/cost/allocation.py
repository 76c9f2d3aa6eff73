"""How much memory a piece of work needs at its fullest moment, by the framework's own account of what it allocates."""

from collections.abc import Callable

from torch.profiler import ProfilerActivity, profile


def peak_allocation(work: Callable[[], object]) -> int:
    """Bytes above those at the beginning, on a CPU and in this thread alone."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as recorded:
        work()
    assert recorded.profiler is not None and recorded.profiler.kineto_results is not None
    changes = [event for event in recorded.profiler.kineto_results.events() if event.name() == "[memory]"]
    taken = most = 0
    for change in sorted(changes, key=lambda event: event.start_ns()):
        taken += change.nbytes()
        most = max(most, taken)
    return most
