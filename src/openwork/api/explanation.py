"""What explains an answer of a model: all its steps, as text and as a page."""

import os
import shutil
from dataclasses import dataclass

from openwork.base.messages import catalogue, find_language
from openwork.inspection.page import in_a_frame
from openwork.inspection.trace import Trace
from openwork.inspection.trace_page import trace_page
from openwork.inspection.trace_text import trace_text


@dataclass(frozen=True)
class Explanation:
    """The steps of a translation or label: `print` writes them as text, and a notebook shows the page of `to_html`."""

    trace: Trace

    def to_html(self) -> str:
        """A page that needs no other file."""
        return trace_page(self.trace, find_language(os.environ))

    def _repr_html_(self) -> str:
        return in_a_frame(self.to_html())

    def __str__(self) -> str:
        translate = catalogue(find_language(os.environ)).translate
        return trace_text(self.trace, shutil.get_terminal_size().columns, translate)

    def __repr__(self) -> str:
        return f"Explanation({len(self.trace.steps)} steps: {self.trace.title})"
