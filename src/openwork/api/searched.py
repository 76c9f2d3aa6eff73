"""The beam search of a text, to be looked at: as a tree of text, in a notebook, and as JSON."""

import os
import shutil
from dataclasses import dataclass
from typing import Any

from openwork.base.messages import catalogue, find_language
from openwork.bundles.bundle import Bundle
from openwork.decoding.search_tree import SearchTree
from openwork.inference.searches.html import search_page
from openwork.inference.searches.recorded import record_search
from openwork.inference.searches.text import search_text
from openwork.inference.translation import Translation
from openwork.inspection.page import in_a_frame


@dataclass(frozen=True)
class SearchedText:
    """The tree of a search and its translations, best first; `print` writes the tree as text."""

    tree: SearchTree
    translations: tuple[Translation, ...]

    @classmethod
    def of(cls, bundle: Bundle, text: str, beam: int | None) -> "SearchedText":
        """The bundle's own search of a text; errors as of `record_search`."""
        found = record_search(bundle, text, {} if beam is None else {"beam": beam})
        return cls(found.tree, found.translations)

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return self.tree.to_json()

    def _repr_html_(self) -> str:
        return in_a_frame(search_page(self.tree, find_language(os.environ)))

    def __str__(self) -> str:
        translate = catalogue(find_language(os.environ)).translate
        return "\n".join(line.text for line in search_text(self.tree, shutil.get_terminal_size().columns, translate))

    def __repr__(self) -> str:
        return f"SearchedText({len(self.tree.nodes)} nodes, {len(self.tree.finished)} finished: {self.tree.source})"
