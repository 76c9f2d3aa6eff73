"""Hooks of mkdocs: the README and its like become pages, and links that leave docs/ become text.

Such a link must name a file of the repository. It has no address in the site, which knows no place of the repository.
"""

import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = {
    "index.md": "README.md",
    "index.zh-CN.md": "README.zh-CN.md",
    "contributing.md": "CONTRIBUTING.md",
    "changelog.md": "CHANGELOG.md",
}
OTHER_LANGUAGE = re.compile(r"[（(]?\[(?:中文|中文说明|English)\]\([\w./-]+\)[）)]?\n?")
LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([\w./-]+)(#[^)]*)?\)")


@event_priority(100)
def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages that lie outside docs/, before the plugin of languages sorts all pages."""
    for name in PAGES:
        files.append(File(name, config.docs_dir, config.site_dir, config.use_directory_urls))
    return files


def on_page_read_source(page: Any, config: MkDocsConfig) -> str | None:
    """The text of a page that lies outside docs/, with its links as seen from there."""
    source = PAGES.get(page.file.src_uri)
    if source is None:
        return None
    text = (REPOSITORY / source).read_text(encoding="utf-8")
    text = re.sub(r'(\]\(|src=")docs/', r"\1", text)
    for name, other in PAGES.items():
        text = text.replace(f"]({other})", f"]({name})")
    return text


def on_page_markdown(markdown: str, page: Any, config: MkDocsConfig, files: Files) -> str:
    """Mends the links of a page: the site has a switch for the language, and finds the page of the language itself."""
    markdown = OTHER_LANGUAGE.sub("", markdown)

    def mend(found: re.Match[str]) -> str:
        text, target, place = found[1], found[2], found[3] or ""
        if "://" in target:
            return found[0]
        below = (Path("docs") / target) if target.startswith("../") else Path(target)
        outside = target.startswith("../") or (page.file.src_uri in PAGES and not target.endswith(".md"))
        if not outside:
            return f"[{text}]({target.replace('.zh-CN.md', '.md')}{place})"
        if not (REPOSITORY / below).resolve().exists():
            raise PluginError(f"{page.file.src_uri}: {target} is no file of the repository")
        return text

    return LINK.sub(mend, markdown)
