"""What README and the how-to pages look like: short, every command marked, the same in both languages."""

import re
from pathlib import Path

import pytest

from journeys.pages import HOW_TO, REPOSITORY, Command, blocks, shell_blocks

TRANSLATED = [page for page in HOW_TO if (REPOSITORY / page).with_suffix(".zh-CN.md").exists()]


def test_the_readme_is_short_and_has_small_pictures():
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    assert len(text.split()) <= 700
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", text)
    assert 1 <= len(pictures) <= 8  # the demo's attention, and each screen of the page
    assert sum((REPOSITORY / picture).stat().st_size for picture in pictures) < 500_000


@pytest.mark.parametrize("page", HOW_TO)
def test_every_command_can_be_run_or_says_why_not(page: str):
    """A block without a language is output; one of commands has one."""
    assert not re.search(r"^    (openwork|make|pip) ", (REPOSITORY / page).read_text("utf-8"), re.MULTILINE)
    for block in blocks(page):
        assert block.language in ("", "sh", "python", "toml", "json"), block.text
        assert block.language or not re.search(r"^(openwork|make|pip|git) ", block.text, re.MULTILINE), block.text
        if block.language == "sh" and block.reason is None:
            assert [Command.of(line) for line in block.lines]


@pytest.mark.parametrize("page", TRANSLATED)
def test_both_languages_have_the_same_commands(page: str):
    other = page.replace(".md", ".zh-CN.md")
    ours, theirs = ([block.lines for block in shell_blocks(name)] for name in (page, other))
    assert ours == theirs


def test_the_script_of_the_readme_is_the_one_that_is_tested():
    (tested, *_) = (block for block in blocks("docs/python.md") if block.language == "python")
    assert len(tested.text.splitlines()) <= 15
    for page in ("README.md", "README.zh-CN.md"):
        assert [block for block in blocks(page) if block.language == "python"] == [tested]


def test_a_command_is_read_as_a_shell_reads_it():
    command = Command.of("echo 'a b' | openwork translate --bundle en-de --set 'x=\"1 2\"' < in > out")
    assert command.words == ["translate", "--bundle", "en-de", "--set", 'x="1 2"']
    assert (command.given, command.source, command.target) == ("a b\n", "in", "out")


LINK = re.compile(r"\]\((?!https?:)([\w./-]+)")


@pytest.mark.parametrize("page", ["README.md", "README.zh-CN.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"])
def test_links_of_the_front_pages_lead_somewhere(page: str):
    assert [
        link for link in LINK.findall((REPOSITORY / page).read_text("utf-8")) if not Path(REPOSITORY, link).exists()
    ] == []
