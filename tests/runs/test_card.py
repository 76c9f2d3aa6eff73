"""The card says where the data come from."""

from openwork.base.config import read_run
from openwork.data.corpora import catalogue as corpora
from openwork.data.filters import FilterReport
from openwork.runs.file.resolve import resolve_run
from openwork.runs.finish import write_card
from openwork.training.progress import Progress, Validation

VALIDATION = Validation(step=7, loss=0.5, perplexity=1.6487, bleu=12.345)


def card(given: dict[str, str]) -> str:
    settings = resolve_run(read_run(None, [], {"data": given}))
    return write_card(settings, FilterReport(kept=5), VALIDATION, Progress(step=7))


def test_a_known_corpus_is_named_with_its_terms():
    text = card({"corpus": "dates"})
    assert corpora.find("dates").terms in text
    assert "kept 5 of 5 pairs" in text
    assert "BLEU 12.35" in text or "BLEU 12.34" in text


def test_files_of_ones_own_are_left_to_their_owner():
    text = card({"source": "a.en", "target": "a.de"})
    assert "a.en and a.de" in text
    assert "known to you" in text
