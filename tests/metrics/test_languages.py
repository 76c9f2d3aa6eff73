"""BLEU's tokenisation follows the target language, and the signature says which."""

import importlib.util

import pytest

from openwork.metrics.translation import bleu, bleu_tokenisation, chrf, guess_language

REFERENCES = ["我爱北京天安门。", "今天天气很好。"]
HYPOTHESES = ["我爱上海天安门。", "今天天气不好。"]


@pytest.mark.parametrize(
    ("language", "tokenisation"),
    [("de", "13a"), ("en-GB", "13a"), ("zh", "zh"), ("zh_Hans", "zh"), ("ZH-cn", "zh"), (None, "13a")],
)
def test_tokenisation_of_a_language(language: str | None, tokenisation: str):
    assert bleu_tokenisation(language) == tokenisation


@pytest.mark.parametrize(("language", "module"), [("ja", "MeCab"), ("ko", "mecab_ko")])
def test_japanese_and_korean_are_cut_into_characters_without_mecab(
    language: str, module: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert bleu_tokenisation(language) == "char"
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    assert bleu_tokenisation(language) == f"{language}-mecab"


@pytest.mark.parametrize(
    ("lines", "language"),
    [
        (REFERENCES, "zh"),
        (["これは日本語の文です。"], "ja"),
        (["한국어 문장입니다."], "ko"),
        (["Ein deutscher Satz mit einem Zeichen: 中"], None),
        (["请用 logging.getLogger 取得记录器"], "zh"),
        (["42 !?", ""], None),
        ([], None),
    ],
)
def test_the_writing_tells_the_language_where_nobody_does(lines: list[str], language: str | None):
    assert guess_language(lines) == language


def test_chinese_is_scored_by_characters():
    """As one word a sentence, two nearly right sentences would score nothing."""
    score = bleu(HYPOTHESES, REFERENCES)
    assert score == bleu(HYPOTHESES, REFERENCES, language="zh")
    assert "tok:zh" in score.signature
    # 15 characters: 12 of 15 alike; 8 of 13 pairs; 4 of 11 triples; 2 of 9 fours
    by_hand = 100 * (12 / 15 * 8 / 13 * 4 / 11 * 2 / 9) ** 0.25
    assert score.value == pytest.approx(by_hand)
    assert bleu(HYPOTHESES, REFERENCES, language="de").value == 0


def test_latin_words_within_chinese_stay_whole():
    spaced = bleu(["我 用 Python 写 代 码"], ["我用Python写代码"])
    assert spaced.value == pytest.approx(100)
    assert bleu(["我用Pythom写代码"], ["我用Python写代码"]).value < 60


def test_chrf_of_chinese_needs_no_words():
    assert chrf(REFERENCES, REFERENCES).value == pytest.approx(100)
    assert chrf(["我 爱 北 京 天 安 门 。", REFERENCES[1]], REFERENCES).value == pytest.approx(100)
    assert 0 < chrf(HYPOTHESES, REFERENCES).value < 100
