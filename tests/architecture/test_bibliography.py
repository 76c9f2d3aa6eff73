"""The bibliography lists what the code cites, and names files that cite it."""

import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
CITED = re.compile(r"\b([A-Z][\w'-]+)(?:(?:, [A-Z]\w+)* and [A-Z]\w+| et al\.),? ((?:19|20)\d\d)\b")
ALONE = re.compile(r"\b([A-Z][\w'-]+) ((?:19|20)\d\d)\b")
QUOTED = "cited.py"  # figures of other papers, as the paper quotes them
LINK = re.compile(r"\]\(([^)#]+)\)")

Paper = tuple[str, str]


def text_of(path: Path) -> str:
    return re.sub(r"\s+", " ", path.read_text(encoding="utf-8"))


def papers_of_row(row: str) -> set[Paper]:
    """The first authors and years of a row's first cell."""
    cell = row.split("|")[1]
    return set(CITED.findall(cell) or ALONE.findall(cell))


def rows(page: str) -> list[str]:
    lines = (REPOSITORY / "docs" / page).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.startswith("|") and re.search(r"\b(19|20)\d\d \|", line)]


def test_every_paper_that_the_code_cites_is_listed() -> None:
    listed = {paper for row in rows("bibliography.md") for paper in papers_of_row(row)}
    sources = [path for path in (REPOSITORY / "src").rglob("*.py") if path.name != QUOTED]
    cited = {paper: path.name for path in sources for paper in CITED.findall(text_of(path))}
    assert len(cited) > 50 and {paper: name for paper, name in cited.items() if paper not in listed} == {}


def test_every_file_that_is_named_cites_its_paper() -> None:
    found = rows("bibliography.md")
    assert len(found) > 70
    for row in found:
        papers = papers_of_row(row)
        assert papers, row
        for link in LINK.findall(row):
            text = text_of(REPOSITORY / "docs" / link)
            assert papers <= {*CITED.findall(text), *ALONE.findall(text)}, f"{link} does not cite {papers}"


@pytest.mark.parametrize("page", ["bibliography.md", "bibliography.zh-CN.md"])
def test_both_pages_name_the_same_papers_and_files(page: str) -> None:
    assert [(papers_of_row(row), LINK.findall(row)) for row in rows(page)] == [
        (papers_of_row(row), LINK.findall(row)) for row in rows("bibliography.md")
    ]
