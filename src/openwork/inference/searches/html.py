"""The tree of a search as the page's screen Beam."""

from openwork.base.phrases import Beside
from openwork.decoding.search_tree import SearchTree
from openwork.inspection.page import app_page


def search_page(tree: SearchTree, language: str) -> str:
    """One HTML file that opens without a network."""
    best = [tree.finished[0].text] if tree.finished else []
    return app_page(Beside(tree.source, *best), {"beam": tree.to_json()}, language)
