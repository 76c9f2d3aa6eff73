"""The way of a document: sentences, memory, glossary, marks and the report, with a translator worked by hand."""

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from documents.showing import parts_of, shown
from openwork.data.glossary import Glossary, Term
from openwork.documents.alignment import Alignment
from openwork.documents.segments import Parts, TranslationUnit
from openwork.inference.documents.memory import TranslationMemory
from openwork.inference.documents.sentences import cut_sentences
from openwork.inference.documents.translating import TranslatingOptions, translate_document
from openwork.inference.translation import Translation

pytest.importorskip("sentencex", reason="documents are cut into sentences by sentencex")

_WORD = re.compile(r"\w+|[^\w\s]")


@dataclass
class Upper:
    """Writes each word in capitals, but required ones; of these what the text lacks comes behind."""

    asked: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    refuses: bool = False

    def translate(self, texts: Sequence[str], required: Sequence[tuple[str, ...]]) -> list[Translation]:
        self.asked += zip(texts, required, strict=True)
        found = []
        for text, wanted in zip(texts, required, strict=True):
            if wanted and self.refuses:
                found.append(Translation("", problem="no room"))
                continue
            plain = "".join(word if word in wanted else word.upper() for word in re.split(r"(\W+)", text))
            written = " ".join([plain, *(one for one in wanted if one not in plain)])
            found.append(Translation(written, flags=("unsure",) if "odd" in text else ()))
        return found

    def align(self, sources: Sequence[str], translations: Sequence[str]) -> list[Alignment]:
        found = []
        for source, target in zip(sources, translations, strict=True):
            left = [one.span() for one in _WORD.finditer(source)]
            right = [one.span() for one in _WORD.finditer(target)]
            rows = [[float(place == other) for other in range(len(left))] for place in range(len(right))]
            found.append(Alignment(left, right, rows))
        return found


class Texts:
    """A document of texts with marks, which is written one a line; what stays as it is is None."""

    def __init__(self, *texts: str | TranslationUnit) -> None:
        self.segments = [
            text if isinstance(text, TranslationUnit) else TranslationUnit(parts_of(text), f"line {number}")
            for number, text in enumerate(texts, start=1)
        ]

    def written(self, translations: Sequence[Parts | None]) -> bytes:
        return "\n".join("None" if one is None else shown(one) for one in translations).encode()


def translated(*texts: str | TranslationUnit, translator: Upper | None = None, **options: object) -> list[str]:
    document, _ = translate_document(Texts(*texts), translator or Upper(), TranslatingOptions(**options))  # type: ignore[arg-type]
    return document.decode().split("\n")


def test_marks_come_back() -> None:
    assert translated("See [0:the page:0] of [1=ls]. It [2]is [3:odd:3].") == [
        "SEE [0:THE PAGE:0] OF [1=ls]. IT [2]IS [3:ODD:3]."
    ]


def test_each_sentence_is_asked_once_and_keeps_its_request() -> None:
    upper = Upper()
    assert translated("A dog. A cat.", "A cat. A dog.", "A [0=cat] ran.", translator=upper) == [
        "A DOG. A CAT.", "A CAT. A DOG.", "A [0=cat] RAN.",
    ]  # fmt: skip
    assert sorted(upper.asked) == [("A cat ran.", ("cat",)), ("A cat.", ()), ("A dog.", ())]


def test_what_has_no_letters_stays() -> None:
    upper = Upper()
    assert translated("12.50", "[0=ls] -- [1]", "", translator=upper) == ["None"] * 3
    assert upper.asked == []


def test_space_is_one_space_and_line_breaks_stay() -> None:
    assert translated("a  b\t[0: c:0]") == ["A B [0:C:0]"]
    assert translated("x\n  y  z. W") == ["X", "  Y Z. W"]


def segment(text: str, *, done: bool = False, current: str = "", line: bool = False) -> TranslationUnit:
    return TranslationUnit(parts_of(text), "line 1", parts_of(current), is_translated=done, is_line=line)


def test_only_what_is_not_translated() -> None:
    one, other = segment("a dog", done=True, current="EIN HUND"), segment("a cat", current="?")
    assert translated(one, other, only_untranslated=True) == ["None", "A CAT"]
    assert translated(one, other) == ["A DOG", "A CAT"]


def test_a_line_is_not_cut() -> None:
    upper = Upper()
    translated(segment("One. Two.", line=True), translator=upper)
    assert upper.asked == [("One. Two.", ())]


def test_memory_comes_first() -> None:
    upper = Upper()
    memory = TranslationMemory([("A <b>dog</b>.", "Ein <b>Hund</b>."), ("Page 3 of 12", "Seite 3 von 12")])
    document, done = translate_document(
        Texts("A [0:dog:0].", "Page 7 of 90", "A dog. A cat.", "A dig that is odd."),
        upper,
        TranslatingOptions(memory=memory),
    )
    assert document.decode().split("\n") == [
        "Ein [0:Hund:0].", "Seite 7 von 90", "Ein Hund. A CAT.", "A DIG THAT IS ODD.",
    ]  # fmt: skip
    assert (done.texts, done.remembered, done.sentences) == (4, 2, 2)
    assert sorted(text for text, _ in upper.asked) == ["A cat.", "A dig that is odd."]


def test_numbers_that_could_be_confused_are_not_put_in() -> None:
    memory = TranslationMemory([("3 of 3", "3 von 3"), ("Page 1, 2", "Seite 1 und 1"), ("5 a", "fünf a")])
    assert [memory.find(text) for text in ("4 of 5", "Page 3, 4", "6 a", "3 of 3")] == [None, None, None, "3 von 3"]
    assert [TranslationMemory([("1.5 m", "1.5 m")]).find(text) for text in ("2.75 m", "a 2 m")] == ["2.75 m", None]


def test_near_matches_are_shown_and_not_used() -> None:
    pytest.importorskip("rapidfuzz", reason="near matches are found by rapidfuzz")
    memory = TranslationMemory([("The odd big dog sleeps.", "Der große Hund schläft.")])
    document, done = translate_document(Texts("The odd big dog slept."), Upper(), TranslatingOptions(memory=memory))
    assert document == b"THE ODD BIG DOG SLEPT."
    (doubt,) = done.doubts
    assert doubt.reasons == ("unsure",) and doubt.near is not None
    assert doubt.near[:2] == ("The odd big dog sleeps.", "Der große Hund schläft.") and 80 < doubt.near[2] < 100


def test_glossary_and_what_cannot_be_had() -> None:
    glossary, upper = Glossary([Term("dog", "Hund", 1)]), Upper()
    assert translated("A dog ran.", glossary=glossary, translator=upper) == ["A DOG RAN. Hund"]
    assert upper.asked == [("A dog ran.", ("Hund",))]
    document, done = translate_document(Texts("A dog ran."), Upper(refuses=True), TranslatingOptions(glossary=glossary))
    assert document == b"A DOG RAN."  # without what it could not have, which is reported
    assert [doubt.reasons for doubt in done.doubts] == [("the translation lacks Hund",)]


def test_a_text_without_a_translation_stays_and_is_reported() -> None:
    class Mute(Upper):
        def translate(self, texts: Sequence[str], required: Sequence[tuple[str, ...]]) -> list[Translation]:
            return [Translation("", problem="nothing found")] * len(texts)

    document, done = translate_document(Texts("a dog", "12"), Mute(), TranslatingOptions())
    assert document == b"None\nNone"
    assert (done.texts, done.kept, done.failed) == (2, 1, 1)
    assert [doubt.to_json() for doubt in done.doubts] == [
        {"place": "line 1", "source": "a dog", "translation": "", "reasons": ["nothing found"]}
    ]
    assert done.lines()[2] == "line 1: nothing found: a dog -> "


@pytest.mark.parametrize(
    ("language", "text", "wanted"),
    [
        ("en", "Dr. Smith ran. He fell!", ["Dr. Smith ran.", "He fell!"]),
        ("de", "Am 3. Mai kam er. Gut.", ["Am 3. Mai kam er.", "Gut."]),
        ("zh-CN", "你好。我是学生！", ["你好。", "我是学生！"]),
        (None, " a\n\n  b. ", ["a", "b."]),
        ("xx", "One. Two.", ["One.", "Two."]),
    ],
)  # fmt: skip
def test_sentences(language: str | None, text: str, wanted: list[str]) -> None:
    cut = cut_sentences(text, language)
    assert [cut.sentence(place) for place in range(len(cut.sentences))] == wanted
    gaps = cut.gaps()
    assert "".join(gap + sentence for gap, sentence in zip(gaps, [*wanted, ""], strict=True)) == text


def test_gaps_follow_the_script_of_the_translation() -> None:
    class Chinese(Upper):
        def translate(self, texts: Sequence[str], required: Sequence[tuple[str, ...]]) -> list[Translation]:
            return [Translation({"A dog.": "一条狗。", "It ran.": "它跑了。"}[text]) for text in texts]

    assert translated("A dog. It ran.", translator=Chinese()) == ["一条狗。它跑了。"]
    assert translated("狗。猫。", source="zh") == ["狗。猫。"]


def test_a_memory_of_files(tmp_path: Path) -> None:
    from openwork.data.records import Languages
    from openwork.inference.documents.memory import read_memory

    (tmp_path / "a.tsv").write_text("a dog\tein Hund\na cat\teine Katze\n", encoding="utf-8")
    (tmp_path / "b.jsonl").write_text('{"source": "a dog", "target": "der Hund"}\n', encoding="utf-8")
    memory = read_memory([tmp_path / "a.tsv", tmp_path / "b.jsonl"], Languages("en", "de"))
    assert len(memory) == 2
    assert memory.find("a  dog") == "der Hund"


def test_a_memory_that_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from openwork.base.errors import DataError
    from openwork.data.records import Languages
    from openwork.inference.documents import memory

    (tmp_path / "a.tsv").write_text("a\tb\nc\td\n", encoding="utf-8")
    monkeypatch.setattr(memory, "MOST_ENTRIES", 2)
    with pytest.raises(DataError, match="memory is too large"):
        memory.read_memory([tmp_path / "a.tsv"], Languages())


def test_one_sentence_without_sentencex(monkeypatch: pytest.MonkeyPatch) -> None:
    from openwork.base.errors import UsageError

    monkeypatch.setitem(sys.modules, "sentencex", None)
    with pytest.raises(UsageError, match="sentencex, which is not installed"):
        cut_sentences("A dog.", "en")
    assert cut_sentences("A dog. Two.", "en", is_line=True).sentences == ((0, 11),)


def test_a_document_that_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from openwork.base.errors import DataError
    from openwork.documents import document

    (tmp_path / "a.txt").write_text("a" * 11)
    monkeypatch.setattr(document, "MOST_BYTES", 10)
    with pytest.raises(DataError, match="document is too large"):
        document.read_content(tmp_path / "a.txt")
