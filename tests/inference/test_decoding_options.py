"""The options of `openwork translate`, and what is asked of translations as text: constraints, streams, problems."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from journeys.command import Finished, told
from openwork.bundles.bundle import Bundle, write_bundle
from openwork.decoding.settings import DecodingSettings
from openwork.inference.requests import Constrainer, Request, piece_bytes, read_json
from openwork.inference.translator import BatchTranslator, StreamedText

pytestmark = pytest.mark.slow

Call = Callable[..., Finished]
LINES = b"a b c\nd e f g\nb b\n"
TEXT = st.text("abcdef é\u4e2d", min_size=1, max_size=4).filter(str.strip)


@pytest.fixture
def translate(call: Call, bundle_folder: Path) -> Callable[..., Finished]:
    def run(*options: str | Path, stdin: bytes = LINES) -> Finished:
        return call("translate", "--bundle", bundle_folder, *options, stdin=stdin)

    return run


def decoding(bundle: Bundle, **changes: object) -> DecodingSettings:
    return DecodingSettings.model_validate({**bundle.settings.decoding.model_dump(), **changes})


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(prefix=TEXT, required=TEXT, forbidden=TEXT)
def test_what_is_asked_as_text_is_so_in_the_text(tiny_bundle: Bundle, prefix: str, required: str, forbidden: str):
    request = Request(prefix, (required,), (forbidden,))
    for changes in (
        {"maximum_length": 40, "extra_length": 30},
        {"samples": 2, "extra_length": 30, "maximum_length": 40},
    ):
        translator = BatchTranslator.of(tiny_bundle, decoding(tiny_bundle, **changes))
        for found in translator.translate(["a b c", "d"], [request, request]):
            for one in found:
                if one.problem:
                    assert one.text == ""
                    assert forbidden in prefix or forbidden in required or "no translation meets" in one.problem
                else:
                    assert one.text.startswith(prefix) and required in one.text and forbidden not in one.text


def test_what_the_settings_ask_is_asked_of_every_text(tiny_bundle: Bundle):
    asked = decoding(tiny_bundle, prefix="c", required=("e f",), forbidden=("a",), extra_length=20, maximum_length=30)
    for best, *_ in BatchTranslator.of(tiny_bundle, asked).translate(["a b c", "d", "f f"]):
        assert best.text.startswith("c") and "e f" in best.text and "a" not in best.text


def test_a_phrase_at_the_start_has_no_space_before_it(tiny_bundle: Bundle):
    """Where the prefix is the required phrase, it is there already."""
    translator = BatchTranslator.of(tiny_bundle)
    (plain,), (both,) = translator.translate(["a b", "a b"], [Request("e f"), Request("e f", ("e f",))])
    assert plain.text == both.text


@pytest.mark.slow
@settings(max_examples=8, deadline=None)
@given(texts=st.lists(st.text("abc \u4e2d", max_size=6), min_size=2, max_size=4), prefix=st.text("abc", max_size=2))
def test_alone_and_in_company(tiny_bundle: Bundle, texts: list[str], prefix: str):
    requests = [Request(prefix if number % 2 else "", ("d",) if number == 0 else ()) for number in range(len(texts))]
    for changes in ({}, {"samples": 2}, {"groups": 2}, {"minimum_bayes_risk": "chrf"}, {"coverage_penalty": 0.3}):
        translator = BatchTranslator.of(tiny_bundle, decoding(tiny_bundle, **changes))
        together = translator.translate(texts, requests)
        alone = [translator.translate([text], [one])[0] for text, one in zip(texts, requests, strict=True)]
        assert [[t.text for t in one] for one in together] == [[t.text for t in one] for one in alone]


@settings(max_examples=40, deadline=None)
@given(ids=st.lists(st.integers(4, 399), max_size=12))
def test_streamed_text_is_the_text(tiny_bundle: Bundle, ids: list[int]):
    """Whatever pieces come, also bytes that are no character; nothing that was shown is taken back."""
    ids = [number for number in ids if number < tiny_bundle.tokenizers.target.vocabulary_size]
    growing = StreamedText(tiny_bundle.tokenizers, ())
    shown = ""
    for number in ids:
        shown += growing.add(number)
        assert not shown.endswith("\ufffd")
    assert shown + growing.rest() == " ".join(tiny_bundle.tokenizers.target.decode(ids).splitlines())


def test_bytes_of_a_character_wait_for_its_last(tiny_bundle: Bundle):
    growing = StreamedText(tiny_bundle.tokenizers, ())
    first, *others = (4 + byte for byte in "\u20ac".encode())
    assert [growing.add(first), *(growing.add(number) for number in others)] == ["", "", "\u20ac"]


def test_streaming_gives_what_greedy_search_gives(translate: Callable[..., Finished]):
    greedy = translate("--beam", "1")
    assert translate("--stream", stdin=LINES).out == greedy.out
    assert translate("--stream", stdin=b"a\n\n\n \n").out.count(b"\n") == 4
    one = translate("--samples", "1", "--seed", "3", "--temperature", "1.5")
    assert translate("--stream", "--samples", "1", "--seed", "3", "--temperature", "1.5").out == one.out != greedy.out


def test_samples_and_seeds(translate: Callable[..., Finished]):
    drawn = translate("--samples", "3", "--seed", "1")
    assert [len(line.split("\t")) for line in drawn.lines] == [3, 3, 3]
    assert translate("--samples", "3", "--seed", "1").out == drawn.out
    assert translate("--samples", "3", "--seed", "2").out != drawn.out
    # the head of the distribution alone is what greedy search takes
    assert translate("--samples", "1", "--top-k", "1").lines == translate("--beam", "1").lines
    assert translate("--samples", "1", "--top-p", "0.000001").lines == translate("--beam", "1").lines
    assert translate("--samples", "1", "--temperature", "0.001").lines == translate("--beam", "1").lines


@pytest.mark.parametrize(
    "options",
    [
        ["--coverage-penalty", "5"], ["--groups", "2", "--diversity", "9", "--best", "2"], ["--no-repeat", "1"],
        ["--repetition-penalty", "9"],
        ["--minimum-bayes-risk", "chrf", "--beam", "6"], ["--minimum-bayes-risk", "bleu", "--samples", "9"],
        ["--prefix", "zz"], ["--require", "zz"], ["--forbid", "a"],
    ],
    ids=lambda options: options[0],
)  # fmt: skip
def test_each_option_changes_what_is_said(translate: Callable[..., Finished], options: list[str]):
    plain = [option for option in options if option in ("--best", "2")][:2]
    texts = b"".join(f"{a} {b} {c}\n".encode() for a in "abcd" for b in "ef" for c in "gh")
    with_option, without = (translate(*given, "--json", stdin=texts).lines for given in (options, plain))
    said = [[[t["text"] for t in json.loads(line)["translations"]] for line in one] for one in (with_option, without)]
    assert said[0] != said[1]


def test_no_repeat(translate: Callable[..., Finished], tiny_bundle: Bundle):
    for one in BatchTranslator.of(tiny_bundle, decoding(tiny_bundle, no_repeat=1)).translate(["a b c", "d d"]):
        assert len(set(one[0].pieces)) == len(one[0].pieces)


def test_minimum_bayes_risk_ranks_by_agreement(tiny_bundle: Bundle):
    """The scores are expected utilities, computed here by hand; the best is often another than the most probable."""
    from sacrebleu.metrics.chrf import CHRF

    chrf, others = CHRF(), 0
    texts = ["a b c", "d e", "f", "g h a"]
    sampled = BatchTranslator.of(tiny_bundle, decoding(tiny_bundle, samples=6, best=6)).translate(texts)
    changed = decoding(tiny_bundle, samples=6, best=2, minimum_bayes_risk="chrf")
    for drawn, found in zip(sampled, BatchTranslator.of(tiny_bundle, changed).translate(texts), strict=True):
        expected = {
            one.text: sum(chrf.sentence_score(one.text, [other.text]).score for other in drawn) / 6 for one in drawn
        }
        assert [t.score for t in found] == pytest.approx(sorted(expected.values(), reverse=True)[:2])
        assert all(t.score == pytest.approx(expected[t.text]) for t in found)
        others += found[0].text != max(drawn, key=lambda one: one.log_probability).text
    assert others > 0


def test_alternatives(translate: Callable[..., Finished], tiny_bundle: Bundle):
    (best,) = BatchTranslator.of(tiny_bundle).translate(["a b c"])[0]
    records = [json.loads(line) for line in translate("--alternatives", "2", "--best", "4", "--json").lines]
    first = records[0]
    assert first["source"] == "a b c" and first["position"] == 2 and len(first["alternatives"]) == 4
    shares = [one["probability"] for one in first["alternatives"]]
    assert shares == sorted(shares, reverse=True) and 0 < sum(shares) <= 1
    beginning = tiny_bundle.tokenizers.target.decode(best.pieces[:2])
    assert all(one["text"].startswith(beginning.split("\n")[0]) for one in first["alternatives"])
    plain = translate("--alternatives", "2", "--best", "4").lines
    assert plain[0].split("\t")[0] == f"{shares[0]:.4f} {first['alternatives'][0]['text']}"
    (at_start,) = translate("--alternatives", "0", "--json", "--prefix", "zz", stdin=b"a\n").lines
    assert len(json.loads(at_start)["alternatives"]) == 5
    assert translate("--alternatives", "1", stdin=b"\n\na\n").lines[:2] == ["", ""]


def test_glossary(translate: Callable[..., Finished], tmp_path: Path):
    terms = tmp_path / "terms.tsv"
    terms.write_text("a b\tzebra\nf\tfox\n", encoding="utf-8")
    first, second, third = translate("--terms", terms).lines
    assert "zebra" in first and "fox" in second and "zebra" not in third
    told(translate("--terms", tmp_path / "none.tsv"), 3, "none.tsv")


def test_requests(translate: Callable[..., Finished]):
    lines = [
        {"text": "a b c", "prefix": "ff"}, {"text": "a b c", "required": ["gg"]}, {"text": "a b c"},
        {"text": "a b c", "prefix": "ff", "forbidden": ["f"]},
    ]  # fmt: skip
    result = translate("--requests", stdin="\n".join(map(json.dumps, lines)).encode())
    plain = translate(stdin=b"a b c\n").lines[0]
    assert result.lines[0].startswith("ff") and "gg" in result.lines[1] and result.lines[2:] == [plain, ""]
    assert result.err == "line 4: not translated: the prefix 'ff' holds the forbidden 'f'\n"


BAD_REQUESTS = {
    "{": "not JSON", "[1]": 'not a JSON object with a "text"', '{"text": 1}': 'not a JSON object with a "text"',
    '{"text": "a", "prefx": "b"}': "unknown key 'prefx'", '{"text": "a", "required": "b"}': "lists of texts",
    '{"text": "\\ud800"}': "half a character", "[" * 3000: "not JSON", '{"text": "a", "prefix": "\\udfff"}': "half a",
}  # fmt: skip


def test_bad_requests_cost_their_own_lines(translate: Callable[..., Finished]):
    given_lines = [*BAD_REQUESTS, "", '{"text": "a b c"}']
    result = translate("--requests", stdin="\n".join(given_lines).encode() + b"\n")
    assert result.code == 0
    assert result.lines[:-1] == [""] * (len(given_lines) - 1)
    assert result.lines[-1] == translate(stdin=b"a b c\n").lines[0]
    notes = result.err.splitlines()
    assert len(notes) == len(BAD_REQUESTS)
    for number, (note, words) in enumerate(zip(notes, BAD_REQUESTS.values(), strict=True), start=1):
        assert note.startswith(f"line {number}: ") and words in note


@given(st.text(max_size=30))
def test_any_line_is_understood_or_told(line: str):
    asked = read_json(line)
    assert asked.problem == "" or asked.text == ""


IMPOSSIBLE = [
    (Request("a b", (), ("b",)), "the prefix 'a b' holds the forbidden 'b'"),
    (Request("", ("a b",), ("b",)), "the required 'a b' holds the forbidden 'b'"),
    (Request("a b c d e f g a b c d e f g"), "pieces, the translation may have 5"),
    (Request("a b c", ("d e f g a b",)), "prefix and required texts need"),
    (Request("", (), ("x" * 201,)), "more than 200 characters"),
]


@pytest.mark.parametrize(("request_", "words"), IMPOSSIBLE, ids=lambda value: str(value)[:30])
def test_impossible_wishes_are_told_and_cost_the_others_nothing(tiny_bundle: Bundle, request_: Request, words: str):
    translator = BatchTranslator.of(tiny_bundle, decoding(tiny_bundle, maximum_length=6))
    (before,), (problem,), (after,) = translator.translate(["a b", "a b", "c"], [Request(), request_, Request()])
    assert problem.text == "" and words in problem.problem
    assert [before.text, after.text] == translator.best(["a b", "c"])
    assert translator.stream("a b", lambda text: None, request_).problem == problem.problem
    assert translator.alternatives(["a b"], [request_], position=0, count=3) == [[]]


def test_required_and_forbidden_that_meet_in_the_search_alone(tiny_bundle: Bundle):
    """Every way to write the phrase is forbidden piece by piece, which only the search finds out."""
    request = Request("a", ("b",), (" b", "ab"))
    (found,) = BatchTranslator.of(tiny_bundle).translate(["a b"], [request])
    assert found[0].problem == "no translation meets the request" or "b" in found[0].text


def test_a_word_that_the_vocabulary_lacks(tiny_bundle: Bundle):
    class Narrow:
        target = tiny_bundle.tokenizers.target

        def encode_target(self, text: str, spans: object) -> list[int]:
            return [1 if "zz" in text else 9]

    constrainer = Constrainer(Narrow())  # type: ignore[arg-type]
    assert "cannot write the required 'zz'" in constrainer.constraints(Request("", ("zz",)), (), 9)[1]
    assert "cannot write the prefix 'zz'" in constrainer.constraints(Request("zz"), (), 9)[1]


def test_the_first_character_says_whether_a_space_comes_before_a_required_text(tiny_bundle: Bundle):
    class Whole:
        target = tiny_bundle.tokenizers.target

        def encode_target(self, text: str, spans: object) -> list[int]:
            return [10 + len(text)]

    constrainer = Constrainer(Whole())  # type: ignore[arg-type]
    for text, ways in (("ab龙", 2), ("龙ab", 1), ("ab.", 2), (".ab", 1)):
        (required,) = constrainer.constraints(Request("", (text,)), (), 99)[0].required
        assert len(required) == ways, text


def test_pieces_of_foreign_tokenizers_are_seen_in_use(tiny_bundle: Bundle):
    """The general way finds what the tokenizer itself knows, wherever a piece is whole characters."""
    ours = tiny_bundle.tokenizers.target

    class Foreign:
        vocabulary_size = ours.vocabulary_size
        decode = staticmethod(ours.decode)
        decode_batch = staticmethod(ours.decode_batch)

    known, seen = piece_bytes(ours), piece_bytes(Foreign())  # type: ignore[arg-type]
    whole = [
        number for number in range(4, len(known)) if known[number].decode(errors="ignore").encode() == known[number]
    ]
    assert len(whole) > 128
    assert [seen[number] for number in whole] == [known[number] for number in whole]


def test_ensemble(call: Call, tiny_bundle: Bundle, tmp_path: Path):
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        write_bundle(folder, tiny_bundle)
    both = [option for folder in folders for option in ("--bundle", folder)]
    assert call("translate", *both, stdin=LINES).out == call("translate", *both[:2], stdin=LINES).out


def test_ensemble_of_different_vocabularies(call: Call, tiny_bundle: Bundle, tmp_path: Path):
    from dataclasses import replace

    from openwork.text.pair import TokenizerPair, train_pair
    from openwork.text.settings import TextSettings

    lines = ["zz yy xx ww"] * 50
    others = train_pair(lines, lines, TextSettings(vocabulary_size=400))
    assert isinstance(others, TokenizerPair)
    write_bundle(tmp_path / "one", tiny_bundle)
    from openwork.models.build import build_model

    size = others.target.vocabulary_size
    model = build_model(tiny_bundle.settings.model, size, size)
    write_bundle(tmp_path / "two", replace(tiny_bundle, tokenizers=others, model=model, golden=()))
    result = call("translate", "--bundle", tmp_path / "one", "--bundle", tmp_path / "two", stdin=LINES)
    told(result, 4, "its vocabulary is not that of", "[text]")


WRONG = [
    (["--best", "3", "--beam", "2"], 2, "needs a beam of at least 3"),
    (["--stream", "--beam", "4"], 2, "--stream does not go with --beam"),
    (["--stream", "--json"], 2, "--stream does not go with --json"),
    (["--stream", "--require", "x"], 2, "--stream does not go with --require"),
    (["--groups", "3", "--beam", "4"], 3, "must divide the beam"),
    (["--top-k", "3"], 3, "belong to sampling"),
    (["--samples", "2", "--groups", "2"], 3, "belong to beam search"),
    (["--samples", "2", "--top-p", "1.5"], 2, "invalid value for '--top-p'"),
    (["--minimum-bayes-risk", "comet"], 3, "minimum_bayes_risk"),
    (["--minimum-bayes-risk", "chrf", "--beam", "1"], 3, "set beam or samples to 2 or more"),
]


@pytest.mark.parametrize(
    ("options", "code", "words"), WRONG, ids=lambda value: " ".join(value) if isinstance(value, list) else ""
)
def test_wrong_options(translate: Callable[..., Finished], options: list[str], code: int, words: str):
    told(translate(*options), code, words)


def test_every_key_of_the_section_is_an_option_with_its_description(call: Call, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "400")
    shown = " ".join(call("translate", "--help").out.decode().split())
    for key, field in DecodingSettings.model_fields.items():
        name = {"required": "--require", "forbidden": "--forbid"}.get(key, f"--{key.replace('_', '-')}")
        assert field.description and f" {name} " in shown and field.description[1:] in shown
