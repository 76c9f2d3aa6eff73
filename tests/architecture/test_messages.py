"""Every sentence that openwork can say to a person has its Chinese form, and the catalogue holds nothing else."""

import re
import string
import tomllib
from pathlib import Path

from architecture.house import PACKAGE
from architecture.messages import all_messages
from openwork.base.messages import GAP, Catalogue

# Sentences that the code makes in another way than `messages.py` can read stand in this table of the catalogue.
FRAME = "frame"


def catalogue() -> dict[str, dict[str, str]]:
    return tomllib.loads((PACKAGE / "base" / "zh.toml").read_text("utf-8"))


def test_every_message_has_a_chinese_form():
    known = {key for table in catalogue().values() for key in table}
    missing = {message.text: message.place for message in all_messages() if message.text not in known}
    assert missing == {}


def test_no_translation_is_left_over():
    said = {message.text for message in all_messages()}
    left = [key for name, table in catalogue().items() if name != FRAME for key in table if key not in said]
    assert left == []


def test_what_varies_appears_in_the_translation_once():
    wrong = {}
    for table in catalogue().values():
        for key, value in table.items():
            gaps = sorted(name for _, name, _, _ in string.Formatter().parse(value) if name is not None)
            if GAP in key and gaps != sorted(map(str, range(key.count(GAP)))):
                wrong[key] = value
    assert wrong == {}


def test_translations_are_chinese():
    tables = catalogue()
    entries = [(key, value) for name, table in tables.items() if name != FRAME for key, value in table.items()]
    assert [key for key, value in entries if not re.search(r"[\u4e00-\u9fff]", value)] == []


def test_each_message_finds_its_own_translation():
    """With real words in the gaps, no other template wins."""
    entries = {key: value for table in catalogue().values() for key, value in table.items()}
    known = Catalogue(entries)
    wrong = []
    for key, value in entries.items():
        words = [f"x{index}" for index in range(key.count(GAP))]
        text = key
        for word in words:
            text = text.replace(GAP, word, 1)
        expected = value.format(*words) if words else value
        if known.translate(text) != expected:
            wrong.append((key, known.translate(text)))
    assert wrong == []


def test_the_reader_of_messages_finds_them(tmp_path: Path):
    (tmp_path / "a.py").write_text(
        'def f(name, count):\n    say(f"{name}: {count} lines read" if count else "nothing read")\n'
        '    raise DataError(f"{name}: empty file", why=name, hint="give another")\n'
    )
    assert [message.text for message in all_messages(tmp_path)] == [
        "{}: {} lines read",
        "nothing read",
        "{}: empty file",
        "give another",
    ]
