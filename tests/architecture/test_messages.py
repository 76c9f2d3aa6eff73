"""Every sentence that openwork can say to a person has its Chinese form, and the catalogue holds nothing else."""

import gettext
import io
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog

from architecture import catalogues
from architecture.composed import COMPOSED
from architecture.house import REPOSITORY
from architecture.messages import all_messages
from openwork.base.messages import (
    DOMAIN,
    FOLDER,
    GAP,
    PLACEHOLDER,
    Catalogue,
    compile_catalogue,
    read_catalogue,
    with_numbers,
)

CHINESE = FOLDER / "zh" / "LC_MESSAGES" / f"{DOMAIN}.po"


@cache
def catalog() -> Catalog:
    return catalogues.read(CHINESE)


@cache
def said() -> set[str]:
    return set(catalogues.extracted())


def test_hints_install_only_packages_that_an_extra_names():
    """openwork itself is in no registry: pip would fetch whatever somebody publishes under its name."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]
    needed = [one for extra in project["optional-dependencies"].values() for one in extra]
    known = {re.split(r"[<>=\[]", one)[0] for one in needed}
    told = re.compile(r"pip install (?:--[\w-]+ )*['\"]?([a-z][\w.-]+)")
    named = {name for message in said() for name in told.findall(message)}
    assert named and named <= known
    assert [message for message in said() if "install openwork" in message] == []


def test_every_message_has_a_chinese_form():
    """Run `make messages`, and write what is empty, or near what is meant (fuzzy)."""
    unfinished = [message.id for message in catalog() if message.id and (not message.string or message.fuzzy)]
    assert (sorted(said() - {message.id for message in catalog()}), unfinished) == ([], [])


def test_no_translation_is_left_over():
    """Run `make messages`."""
    assert [message.id for message in catalog() if message.id and message.id not in said()] == []
    assert list(catalog().obsolete) == []


def test_what_is_composed_is_not_said_as_it_stands():
    assert sorted(set(COMPOSED) & {message.named for message in all_messages()}) == []


def test_what_varies_appears_in_the_translation_once():
    wrong = {
        message.id: message.string
        for message in catalog()
        if sorted(PLACEHOLDER.findall(str(message.id))) != sorted(PLACEHOLDER.findall(str(message.string)))
    }
    assert wrong == {}


def test_translations_are_chinese():
    """But for names that are the same in both languages, such as BLEU."""
    entries = [message for message in catalog() if message.id and message.id not in COMPOSED]
    other = [message for message in entries if not re.search(r"[\u4e00-\u9fff]", str(message.string))]
    assert [message.id for message in other if message.id != message.string or " " in str(message.id)] == []


def test_each_message_finds_its_own_translation():
    """With real words in the gaps, no other template wins."""
    entries = dict(with_numbers(*entry) for entry in read_catalogue("zh").items())
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


def test_what_varies_has_no_name_in_the_sentences_of_the_code():
    """So that names in the catalogue, and braces that are meant, cannot be mistaken for each other."""
    wrong = [message.text for message in all_messages() if set(PLACEHOLDER.findall(message.text)) > {""}]
    assert wrong == []


def test_the_reader_of_messages_finds_them(tmp_path: Path):
    (tmp_path / "a.py").write_text(
        'def f(name, count):\n    report(f"{name}: {count} lines read" if count else "nothing read")\n'
        '    raise DataError(f"{name}: empty file", why=name, hint="give another")\n'
        "    raise DataError(f\"{len(rows):,} of {self.rows} and {', '.join(names)} are {_shown(value)}\")\n"
    )
    found = all_messages(tmp_path)
    assert [(message.text, message.named) for message in found] == [
        ("{}: {} lines read", "{name}: {count} lines read"),
        ("nothing read", "nothing read"),
        ("{}: empty file", "{name}: empty file"),
        ("give another", "give another"),
        ("{} of {} and {} are {}", "{rows} of {rows_2} and {names} are {value}"),
    ]


def test_the_catalogue_is_brought_up_to_date(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Kept, carried over with new names, near to an old one, new; and what is gone is gone."""
    source, old = tmp_path / "x.po", Catalog(locale="zh")
    for sentence, text in [
        ("kept", "不变"), ("{path}: empty", "空：{path}"), ("no such bundle here", "没有这个模型包"), ("gone", "去"),
    ]:  # fmt: skip
        old.add(sentence, text)
    catalogues.write(source, old)
    sentences = ("kept", "{file}: empty", "no such bundle there", "a wholly different sentence")
    monkeypatch.setattr(catalogues, "extracted", lambda: sentences)
    found = catalogues.update(source)
    assert [(message.id, message.string, message.fuzzy) for message in found] == [
        ("no such bundle there", "没有这个模型包", True),
        ("a wholly different sentence", None, False),
    ]
    new = catalogues.read(source)
    assert [(message.id, message.string) for message in new if message.id][:2] == [
        ("kept", "不变"), ("{file}: empty", "空：{file}"),
    ]  # fmt: skip
    assert len(new) == 4 and not new.obsolete


def test_a_changed_catalogue_is_compiled_again(tmp_path: Path):
    folder = tmp_path / "xx" / "LC_MESSAGES"
    folder.mkdir(parents=True)
    source, compiled = folder / f"{DOMAIN}.po", folder / f"{DOMAIN}.mo"
    for text in ("{path} ist leer", "leer: {path}"):
        entries = Catalog(locale="de")
        entries.add("{path}: empty", text)
        catalogues.write(source, entries)
        if compiled.exists():  # written within the same tick of the clock
            source.touch()
        assert read_catalogue("xx", tmp_path) == {"{path}: empty": text}
        assert gettext.GNUTranslations(io.BytesIO(compiled.read_bytes())).gettext("{path}: empty") == text
    source.unlink()  # as in a wheel
    assert read_catalogue("xx", tmp_path) == {"{path}: empty": "leer: {path}"}


def test_the_catalogue_is_what_gettext_reads():
    compiled = gettext.GNUTranslations(io.BytesIO(compile_catalogue(CHINESE)))
    for message in catalog():
        if message.id:
            assert compiled.gettext(str(message.id)) == message.string


@pytest.mark.parametrize("key", ["{path}: {count} lines", "a {b} c {a}"])
def test_names_become_places(key: str):
    first, second = PLACEHOLDER.findall(key)
    assert with_numbers(key, f"{{{second}}}，{{{first}}}") == (PLACEHOLDER.sub("{}", key), "{1}，{0}")
