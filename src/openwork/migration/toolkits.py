"""The table of toolkits, and the recognition of the one that a file is for."""

import difflib
from collections.abc import Sequence

from openwork.base.errors import DataError, UsageError
from openwork.migration.eole import EOLE
from openwork.migration.fairseq import FAIRSEQ
from openwork.migration.joeynmt import JOEYNMT
from openwork.migration.marian import MARIAN
from openwork.migration.opennmt import OPENNMT
from openwork.migration.rules import Toolkit
from openwork.migration.sockeye import SOCKEYE

TOOLKITS = {toolkit.name: toolkit for toolkit in (FAIRSEQ, OPENNMT, EOLE, MARIAN, SOCKEYE, JOEYNMT)}
FEWEST_KNOWN = 2
"""Options of a toolkit that one of its files must have, to be recognised."""


def toolkit_named(name: str) -> Toolkit:
    """The toolkit of this name; UsageError with the nearest one where there is none."""
    if name.lower() in TOOLKITS:
        return TOOLKITS[name.lower()]
    near = difflib.get_close_matches(name.lower(), TOOLKITS, n=1)
    raise UsageError(
        f"no such toolkit: {name!r}",
        why=f"toolkits: {', '.join(TOOLKITS)}",
        hint=f"did you mean {near[0]}?" if near else "leave --toolkit out: openwork finds it from the file",
        code="U058",
    )


def recognise(shown: Sequence[str], file: str) -> Toolkit:
    """The toolkit that knows most of the options, given as they stand in the file; DataError where that is unclear."""
    known = {
        name: sum(toolkit.knows(toolkit.option_name(option)) for option in shown) for name, toolkit in TOOLKITS.items()
    }
    best, second, *_ = sorted(known, key=lambda name: -known[name])
    if known[best] < FEWEST_KNOWN or known[best] == known[second]:
        looked_for = "; ".join(f"{toolkit.title}: {toolkit.signs}" for toolkit in TOOLKITS.values())
        raise DataError(
            f"{file}: it is not clear which toolkit this configuration is for",
            why=f"looked for {looked_for}",
            hint=f"name it with --toolkit, one of: {', '.join(TOOLKITS)}",
            code="D083",
        )
    return TOOLKITS[best]
