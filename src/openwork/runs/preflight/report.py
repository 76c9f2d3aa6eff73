"""What the preflight found, in plain lines and as values."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from openwork.base.messages import msg
from openwork.base.phrases import AsIs, Joined
from openwork.runs.plan import duration, size_text
from openwork.runs.preflight.check import Preflight
from openwork.runs.preflight.coverage import Coverage
from openwork.runs.preflight.resources import NEAR

PLACES = {
    ("training", "source"): msg("sources of the training pairs"),
    ("training", "target"): msg("targets of the training pairs"),
    ("validation", "source"): msg("sources of the validation pairs"),
    ("validation", "target"): msg("targets of the validation pairs"),
}


def clock(seconds: float, now: datetime) -> str:
    """When so many seconds are over: the time, and the day if it is not today."""
    end = now + timedelta(seconds=seconds)
    return f"{end:%H:%M}" if end.date() == now.date() else f"{end:%Y-%m-%d %H:%M}"


def preflight_lines(found: Preflight) -> Iterator[str]:
    """For a person: what the run needs, then the warnings."""
    finish, disk, memory = found.finish, found.disk, found.memory
    names = msg("fullest batch"), msg("longest batch")
    for name, batch, seconds in zip(names, found.batches, found.updates.most, strict=False):
        pieces, took = max(batch.source, batch.target), duration(seconds, 2)
        yield Joined(name, AsIs(": "), f"{batch.sentences:,} sentences of up to {pieces:,} pieces, computed in {took}")
    if found.validation.sentences:
        yield msg(
            f"validation: the {found.validation.sentences:,} longest sentences translated; each validation takes "
            f"about {duration(found.validation.seconds, 2)}"
        )
    if found.updates.peak is not None:
        yield msg(f"memory: {size_text(found.updates.peak)} at the fullest batch; {size_text(memory.free)} were free")
    else:
        yield msg(f"memory: the fullest batch adds about {size_text(memory.needed)}; {size_text(memory.free)} free")
    yield msg(
        f"time: about {duration(finish.seconds, 2)}, until {clock(finish.seconds, found.started)}, for "
        f"{finish.updates:,} updates ({finish.passes:.3g} passes over the pairs) and {finish.validations:,} validations"
    )
    yield msg(
        f"disk: up to {size_text(disk.most_needed)} more for {disk.most:,} checkpoints of {size_text(disk.checkpoint)} "
        f"and the bundle; {size_text(disk.free)} free"
    )
    shares = [f"{one.share:.2%}" for one in found.coverages]
    if len(shares) == 4:  # of both sides, where the sources are text
        yield msg(
            f"pieces for what the vocabulary lacks: {shares[0]} of the sources, {shares[1]} of the targets; "
            f"in validation {shares[2]} and {shares[3]}"
        )
    for name, reason in found.closed.items():
        yield Joined(f"these settings close openwork export to {name}", AsIs(": "), reason)
    for warning in preflight_warnings(found):
        yield Joined("warning: ", warning)


def preflight_warnings(found: Preflight) -> Iterator[str]:
    """What may end badly."""
    if (divisions := found.updates.divisions) > 1:
        yield msg(
            f"memory is not enough for whole batches: they are computed in {divisions} parts, one after the "
            "other, and make the same update"
        )
    elif found.memory.needed > NEAR * found.memory.free:
        yield msg("little memory is left beside the fullest batch; a smaller batches.tokens needs less")
    if found.beyond:
        yield msg(f"{found.beyond:,} pair(s) are longer than batches.tokens; each is a batch of its own")
    if found.disk.most_needed > found.disk.free:
        yield msg(
            f"the disk may become full: {size_text(found.disk.most_needed)} may be needed and "
            f"{size_text(found.disk.free)} are free; a smaller training.average needs less"
        )
    if found.validation.problem:
        yield Joined("the search of [decoding] gives no translation", AsIs(": "), found.validation.problem)
    for one in found.coverages:
        if one.is_high:
            yield _coverage_line(one)
    for remedy in dict.fromkeys(one.remedy for one in found.coverages if one.is_high and one.remedy):
        yield msg(f"more characters get a piece of their own with {remedy}")


def _coverage_line(one: Coverage) -> str:
    named = AsIs(f" {' '.join(one.examples)}" if one.examples else "")
    if one.lost:
        fault = msg(f"{one.share:.1%} of the pieces are unknown to the vocabulary, and lost:")
    else:
        fault = msg(f"{one.share:.1%} of the pieces are bytes of characters that the vocabulary lacks:")
    return Joined(PLACES[one.split, one.side], AsIs(": "), fault, named)


def preflight_values(found: Preflight) -> dict[str, Any]:
    """For a program: bytes, seconds, shares from 0 to 1."""
    memory, disk = found.memory, found.disk
    return {
        "batches": [
            {
                "sentences": batch.sentences, "source_tokens": batch.source, "target_tokens": batch.target,
                "seconds": seconds,
            }
            for batch, seconds in zip(found.batches, found.updates.most, strict=True)
        ],
        "pairs_beyond_budget": found.beyond,
        "memory": {
            "needed": memory.needed, "free": memory.free, "peak": found.updates.peak,
            "divisions": found.updates.divisions,
        },
        "seconds": {
            "update": found.updates.usual, "validation": found.validation.seconds, "run": found.finish.seconds,
        },
        "updates": found.finish.updates,
        "passes": found.finish.passes,
        "validations": found.finish.validations,
        "disk": vars(disk),
        "unknown": [
            {"split": one.split, "side": one.side, "share": one.share, "lost": one.lost, "examples": list(one.examples)}
            for one in found.coverages
        ],
        "closed_exports": dict(found.closed),
        "warnings": [str(warning) for warning in preflight_warnings(found)],
    }  # fmt: skip
