"""Answers to `openwork explain --example`."""

import difflib

from openwork.base.errors import UsageError
from openwork.bundles.bundle import Bundle
from openwork.inspection.trace import Trace
from openwork.study.documents import EXAMPLES


def explain_example(name: str, bundle: Bundle | None = None) -> Trace:
    """A worked example, some of a bundle's model. UsageError: there is none of that name, or it shows no model."""
    if name not in EXAMPLES:
        near = difflib.get_close_matches(name, EXAMPLES, n=1)
        raise UsageError(
            f"there is no example {name}",
            hint=f"did you mean {near[0]}?" if near else "openwork explain --list names them",
            code="U054",
        )
    worked = EXAMPLES[name]
    if bundle is not None and not worked.of_a_model:
        shown = [name for name, worked in EXAMPLES.items() if worked.of_a_model]
        raise UsageError(
            f"the example {name} has its own numbers and takes no --bundle",
            hint=f"these show a trained model: {', '.join(shown)}",
            code="U055",
        )
    return worked(bundle)
