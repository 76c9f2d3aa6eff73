"""Which side of an entry is which, told by language codes such as en, zh-CN or pt_BR."""

from pathlib import Path

from openwork.base.errors import DataError
from openwork.data.records import Languages


def normal(code: str) -> str:
    """The code in lower case with hyphens: `zh_CN` and `ZH-cn` are the same."""
    return code.strip().lower().replace("_", "-")


def speaks(found: str, wanted: str) -> bool:
    """Whether text in `found` will do where `wanted` is asked for: en-GB does for en, but en not for en-GB."""
    found, wanted = normal(found), normal(wanted)
    return found == wanted or found.startswith(f"{wanted}-")


def is_backwards(found: Languages, wanted: Languages, path: Path, line: int) -> bool:
    """Whether a file from `found.source` to `found.target` must be read the other way round.

    What either side does not say fits everything. `DataError` if it fits neither way.
    """
    if _fits(found, wanted):
        return False
    if _fits(Languages(found.target, found.source), wanted):
        return True
    raise DataError(
        f"{path}:{line}: from {found.source} to {found.target}, where {wanted.source} to {wanted.target} is wanted",
        hint="check source_language and target_language in the run file's [data]",
        code="D036",
    )


def _fits(found: Languages, wanted: Languages) -> bool:
    return all(one is None or other is None or speaks(one, other) for one, other in zip(found, wanted, strict=True))
