"""openwork score: the search's own log-probabilities by another way, whatever the batch, line for line."""

import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from decoding.rescoring import score as rescore
from journeys.command import Finished, told
from openwork.bundles.bundle import Bundle
from openwork.bundles.settings import BundleSettings
from openwork.data.corpora.synthetic import copy
from openwork.decoding.settings import DecodingSettings
from openwork.inference.scorer import Scored, Scorer
from openwork.inference.translator import BatchTranslator
from openwork.models.build import build_model
from openwork.models.settings import TransformerSettings
from openwork.text.pair import train_pair
from openwork.text.settings import TextSettings

Call = Callable[..., Finished]
SOURCES = ["a b c", "d", "e f g h i j", "b b"]


@pytest.fixture(scope="module")
def scorer(tiny_bundle: Bundle) -> Scorer:
    return Scorer(tiny_bundle.model, tiny_bundle.tokenizers)


@pytest.fixture(scope="module")
def character_bundle() -> Bundle:
    """Single characters: a text can be cut in one way only, so that what a search put together comes back as it was.

    The model says nothing but the corpus's letters, and often comes to an end.
    """
    lines = [pair.source for pair in copy("train", 200)]
    tokenizers = train_pair(lines, lines, TextSettings(kind="characters", vocabulary_size=300))
    settings = TransformerSettings(
        width=16, heads=2, feedforward_width=24, encoder_layers=1, decoder_layers=1, tying="target"
    )
    with torch.random.fork_rng():
        torch.manual_seed(3)
        size = tokenizers.source.vocabulary_size
        model = build_model(settings, size, size)
    for parameter in model.parameters():
        parameter.data.mul_(2.0)
    said = [tokenizers.target.end_id, *{number for line in lines for number in tokenizers.target.encode(line)}]
    rows = model.output_weight.data
    kept = 4 * rows[said]
    rows.zero_()
    rows[said] = kept
    decoding = DecodingSettings(beam=6, best=6, extra_length=6, length_penalty=0.0)
    return Bundle(BundleSettings(model=settings, decoding=decoding), tokenizers, model.eval())


def test_equals_what_the_search_said_of_its_own_translations(character_bundle: Bundle):
    found = BatchTranslator.of(character_bundle).translate(SOURCES)
    pairs = [(source, one) for source, many in zip(SOURCES, found, strict=True) for one in many if one.finished]
    scorer = Scorer(character_bundle.model, character_bundle.tokenizers)
    assert len({one.text for _, one in pairs}) >= 5
    for (source, one), scored in zip(pairs, scorer.score([(source, one.text) for source, one in pairs]), strict=True):
        assert scored.total == pytest.approx(one.log_probability, abs=1e-3), (source, one.text)


def test_equals_the_golden_examples(tiny_bundle: Bundle, scorer: Scorer):
    for golden in tiny_bundle.golden:
        source = torch.tensor([[*tiny_bundle.tokenizers.source.encode(golden.source), 3]])
        ids = tiny_bundle.tokenizers.target.encode(golden.translation)
        expected = rescore(tiny_bundle.model, source, torch.tensor([source.shape[1]]), [ids])
        scored = scorer.score([(golden.source, golden.translation)])[0]
        assert scored.total == pytest.approx(float(expected[0]), abs=1e-4)


def test_tokens_add_up_and_the_end_is_one_of_them(scorer: Scorer):
    scored = scorer.score([("a b", "a b c")])[0]
    assert len(scored.pieces) == len(scored.log_probabilities) == 4
    assert scored.pieces[:3] == ("a", " b", " c")
    assert scored.total == pytest.approx(sum(scored.log_probabilities))
    assert scored.ratio.count == 4 and scored.ratio.total == -scored.total
    total, per_token, perplexity = map(float, scored.line().split("\t"))
    assert per_token == pytest.approx(total / 4, abs=1e-3)
    assert perplexity == pytest.approx(math.exp(-total / 4), rel=1e-3)


def test_each_token_is_the_step_of_the_model(tiny_bundle: Bundle, scorer: Scorer):
    """By the model's own steps, one after the other: what may not come has no share in the probability."""
    source = torch.tensor([[*tiny_bundle.tokenizers.source.encode("d e"), 3]])
    ids = [*tiny_bundle.tokenizers.target.encode("e d"), 3]
    state = tiny_bundle.model.start(source, torch.tensor([source.shape[1]]))
    expected, previous = [], 2
    with torch.no_grad():
        for token in ids:
            logits, state = tiny_bundle.model.step(torch.tensor([[previous]]), state)
            row = logits[0, -1].clone()
            row[:3] = -torch.inf
            expected.append(float(row.log_softmax(-1)[token]))
            previous = token
    assert scorer.score([("d e", "e d")])[0].log_probabilities == pytest.approx(tuple(expected), abs=1e-4)


def test_batch_does_not_matter(scorer: Scorer, monkeypatch: pytest.MonkeyPatch):
    pairs = [("a b c", "a"), ("d", "d e f g h"), ("", "a b"), ("e", ""), ("f g", "f g")]
    alone = [scorer.score([pair])[0].total for pair in pairs]
    assert [one.total for one in scorer.score(pairs)] == pytest.approx(alone, abs=1e-4)
    monkeypatch.setattr("openwork.inference.scorer.BATCH_TOKENS", 6)
    assert [one.total for one in scorer.score(pairs)] == pytest.approx(alone, abs=1e-4)
    assert scorer.score([]) == []


def test_what_is_too_long(tiny_bundle: Bundle):
    short = Scorer(tiny_bundle.model, tiny_bundle.tokenizers)
    short.longest_source, short.longest_target = 3, 4
    fits, source, target = short.score([("a b", "a b c"), ("a b c", "a"), ("a", "a b c d")])
    assert not fits.problem and not fits.cut
    assert fits.total == pytest.approx(
        Scorer(tiny_bundle.model, tiny_bundle.tokenizers).score([("a b", "a b c")])[0].total
    )
    assert source.cut and source.total == pytest.approx(short.score([("a b", "a")])[0].total, abs=1e-4)
    assert "the target has 4 tokens, and 3 is the most" in target.problem and math.isnan(target.total)


def test_json_has_no_number_that_json_lacks():
    impossible = Scored(("a", "</s>"), (-math.inf, -1.0)).to_json()
    assert impossible["log_probability"] is None and impossible["tokens"][0]["log_probability"] is None
    assert json.loads(json.dumps(Scored(problem="x").to_json(), allow_nan=False))["perplexity"] is None
    assert Scored(("a",), (-math.inf,)).line() == "-inf\t-inf\tinf"


@pytest.mark.slow
def test_lines_of_all_kinds_keep_their_places(call: Call, bundle_folder: Path):
    given = b"a b\ta b\n\nno tab\na\tb\tc\nd\t\n\xff\td\nd\td\r\ne\te"
    result = call("score", "--bundle", bundle_folder, stdin=given)
    assert result.code == 0, result.err
    assert len(result.lines) == 8
    assert result.lines[1] == "" and result.lines[2] == result.lines[3] == "nan\tnan\tnan"
    assert all(len(line.split("\t")) == 3 and float(line.split("\t")[0]) < 0 for line in result.lines[4:])
    alone = call("score", "--bundle", bundle_folder, stdin=b"d\td\n").lines[0]
    assert result.lines[6].split("\t")[:2] == alone.split("\t")[:2]  # the carriage return is no part of the line
    for words in ("line 3: columns: 1; needed are two", "line 4: columns: 3", "line 6: invalid UTF-8"):
        assert words in result.err
    assert "all lines: 10 tokens, perplexity " in result.err  # 3 + 1 + 2 + 2 + 2


def test_json_line_for_line(call: Call, bundle_folder: Path):
    result = call("score", "--bundle", bundle_folder, "--json", stdin=b"a\ta b\n\nx\n")
    first, blank, bad = map(json.loads, result.lines)
    assert [token["piece"] for token in first["tokens"]][:2] == ["a", " b"]
    assert first["log_probability"] == pytest.approx(sum(token["log_probability"] for token in first["tokens"]))
    assert blank["problem"] == "a blank line" and bad["problem"].startswith("columns: 1")
    assert bad["log_probability"] is None and bad["source"] == "x"


@pytest.mark.slow
def test_two_files_are_the_same_as_tabs(call: Call, bundle_folder: Path, tmp_path: Path):
    (tmp_path / "s").write_text("a b\nd\n")
    (tmp_path / "t").write_text("a\ne d")
    files = ("--source", tmp_path / "s", "--target", tmp_path / "t")
    tabs = call("score", "--bundle", bundle_folder, stdin=b"a b\ta\nd\te d\n")
    assert call("score", "--bundle", bundle_folder, *files).out == tabs.out


def test_files_of_unequal_length_are_refused(call: Call, bundle_folder: Path, tmp_path: Path):
    (tmp_path / "s").write_text("a\nb\nc\n")
    (tmp_path / "t").write_text("a\n")
    result = call("score", "--bundle", bundle_folder, "--source", tmp_path / "s", "--target", tmp_path / "t")
    told(result, 3, "/s has 3 lines", "/t has 1 line")
