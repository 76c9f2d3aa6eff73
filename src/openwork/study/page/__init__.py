"""Worked examples as a page that calculates them anew, shows each step with its operands, and lets a reader edit them.

The page holds its own values against Python's.
"""

from typing import Any

from openwork.inspection.page import app_page
from openwork.inspection.page.content import in_both_languages
from openwork.inspection.trace import Printed, Trace, title_of
from openwork.models.presets import BASE

EXAMPLES = frozenset({"002-8", "002-8-shifted"})
"""The examples that the page can calculate."""


def step_page(trace: Trace, language: str) -> str:
    """The page of an example, complete in itself.

    Args:
        trace: of one of `EXAMPLES`.
        language: what the page says while it has no script: "en" or "zh". With one, it follows the browser.

    Raises:
        KeyError: the page cannot calculate this example.
    """
    from openwork.cost.model_map.family import FAMILY, preset_map
    from openwork.cost.model_map.maps import MapPages

    model_map = MapPages().content([preset_map(BASE)], {BASE: FAMILY[BASE]})
    return app_page(trace.title, {"step": page_content(trace), "map": model_map}, language)


def page_content(trace: Trace) -> dict[str, Any]:
    """What the page calculates from and is held against, as plain JSON.

    Args:
        trace: of one of `EXAMPLES`.

    Raises:
        KeyError: the page cannot calculate this example.
    """
    from openwork.study.documents import chapter_eight_given as chapter
    from openwork.study.page.given import forward_values, given_values

    target = {"002-8": chapter.TARGET, "002-8-shifted": chapter.SHIFTED}[trace.name]
    return {
        "trace": trace.to_json(),
        "forward": {name: _plain(value.tolist()) for name, value in forward_values(target).items()},
        "given": {name: value.tolist() for name, value in given_values(target).items()},
        "vocabulary": list(chapter.VOCABULARY),
        "title": in_both_languages(trace.title),
        "assumptions": [in_both_languages(one) for one in trace.assumptions],
        "printed": {step.name: [_printed(one) for one in step.printed] for step in trace.steps if step.printed},
    }


def _printed(one: Printed) -> dict[str, Any]:
    return {**one.to_json(), "document": title_of(one.document), "reason": in_both_languages(one.reason)}


def _plain(value: Any) -> Any:
    """Minus infinity as the trace writes it, as text: JSON does not know it."""
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return value if value != float("-inf") else "-inf"
