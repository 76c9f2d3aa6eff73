"""The figures of all parts as JSON and as a table."""

from collections.abc import Mapping
from typing import Any

from soak.judging import Judgement, judge, sittings
from soak.log import Log

HEAD = (
    "part", "minutes", "sittings", "memory, MB", "growth", "MB an hour", "floor, MB", "peak, MB", "threads", "files",
    "done", "flat",
)  # fmt: skip


def figures(log: Log) -> dict[str, Any]:
    """Of one part: its time, and the judgement of each sitting that was long enough for one."""
    parts = sittings(log.moments)
    judged = [found for part in parts if (found := judge(part)) is not None]
    return {
        "seconds": round(log.seconds, 1),
        "sittings": len(parts),
        "too_short_to_judge": len(parts) - len(judged),
        "judged": [one.to_json() for one in judged],
        "flat": bool(judged) and all(one.is_flat() for one in judged),
    }


def table(logs: Mapping[str, Log]) -> list[str]:
    """Markdown: a line for each sitting that was judged."""
    rows = [HEAD, ("---",) * len(HEAD)]
    for name, log in logs.items():
        for number, part in enumerate(sittings(log.moments), start=1):
            found = judge(part)
            if found is not None:
                rows.append(_row(name, number, found))
    return ["| " + " | ".join(row) + " |" for row in rows]


def _row(name: str, number: int, found: Judgement) -> tuple[str, ...]:
    return (
        name,
        f"{found.seconds / 60:.1f}",
        str(number),
        f"{found.memory[0] / 1e6:,.1f} -> {found.memory[1] / 1e6:,.1f}",
        f"{found.growth:+.2%}",
        f"{found.per_hour / 1e6:+.1f}",
        f"{found.floor[0] / 1e6:,.1f} -> {found.floor[1] / 1e6:,.1f}",
        f"{found.peak / 1e6:,.1f}",
        f"{found.threads[0]} -> {found.threads[1]}",
        f"{found.files[0]} -> {found.files[1]}",
        f"{found.done:,.0f}",
        "yes" if found.is_flat() else "NO",
    )
