"""From the section [data] to the pairs of a run: files of every format, mixtures, placeholders."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from openwork.base.config import build
from openwork.base.errors import DataError
from openwork.data.batching import CorpusMixture
from openwork.data.filters import FilterSettings
from openwork.data.pairs import Sampling, Splits, find_splits, store_pairs, training_pairs
from openwork.data.settings import DataSettings
from openwork.text.pair import TokenizerPair, train_pair
from openwork.text.settings import TextSettings

PO = '#, fuzzy\nmsgid "x"\nmsgstr "y"\n' + "".join(f'\nmsgid "file {n}"\nmsgstr "Datei {n}"\n' for n in range(40))


def splits(values: dict[str, Any], **filters: Any) -> Splits:
    return find_splits(build(DataSettings, values), FilterSettings(**filters))


def lines(folder: Path, name: str, count: int, word: str = "line") -> str:
    (folder / name).write_text("".join(f"{word} {n}\tZeile {n}\n" for n in range(count)))
    return str(folder / name)


def told(found: Splits) -> list[str]:
    said: list[str] = []
    found.report_to(said.append)
    return said


def test_a_catalogue_tells_what_it_passes_over(tmp_path: Path) -> None:
    (tmp_path / "de.po").write_text(PO + '\nmsgid "open"\nmsgstr ""\n')
    found = splits({"file": str(tmp_path / "de.po")})
    assert told(found) == [
        f"training pairs: {tmp_path}/de.po",
        "  kept 40 of 41 pairs",
        "  dropped 1: target is blank (pair 41)",
        "  skipped 1: fuzzy (the first in line 2)",
    ]
    assert found.mixture is None
    assert len(list(found.train.read())) + len(list(found.valid.read())) == 40


def test_languages_and_format_reach_the_reader(tmp_path: Path) -> None:
    path = tmp_path / "pairs.json"
    path.write_text("".join(f'{{"en": "a {n}", "de": "b {n}", "fr": "c {n}"}}\n' for n in range(30)))
    values = {"file": str(path), "format": "jsonl", "source_language": "fr", "target_language": "en"}
    data = build(DataSettings, values)
    assert next(training_pairs(data).read()) == ("c 0", "a 0")
    assert all(pair.source[0] == "c" for pair in splits(values).train.read())
    with pytest.raises(DataError, match="is not clear from its name"):
        splits(values | {"format": None})


def test_count_takes_the_first_of_any_origin(tmp_path: Path) -> None:
    path = lines(tmp_path, "a.tsv", 50)
    for values in ({"file": path}, {"corpus": "copy"}, {"source": path, "target": path}):
        assert len(list(training_pairs(build(DataSettings, values | {"count": 12})).read())) == 12


@pytest.mark.slow
def test_files_of_their_own_to_validate_with(tmp_path: Path) -> None:
    train, valid = lines(tmp_path, "a.tsv", 20), lines(tmp_path, "b.tsv", 3, "other")
    found = splits({"file": train, "valid_file": valid})
    assert [pair.source for pair in found.valid.read()] == ["other 0", "other 1", "other 2"]
    assert len(list(found.train.read())) == 20
    assert splits({"file": train, "valid_corpus": "copy"}).valid.description == "copy (valid)"
    assert splits({"corpus": "copy", "valid_tsv": valid}).valid.description == valid


def test_a_mixture_takes_each_corpus_by_its_weight(tmp_path: Path) -> None:
    mix = [{"corpus": "copy", "count": 300, "weight": 1}, {"file": lines(tmp_path, "a.tsv", 100), "weight": 3}]
    found = splits({"mix": mix, "valid_corpus": "copy"})
    assert found.mixture == CorpusMixture((300, 100), (100, 300))
    assert told(found)[-3:] == [
        "an epoch takes 400 pairs of the mix:",
        "  100 (25.0%) from the 300 of copy (train)",
        f"  300 (75.0%) from the 100 of {tmp_path}/a.tsv",
    ]
    assert found.report.kept == 400


def test_without_weights_every_pair_comes_once(tmp_path: Path) -> None:
    mix = [{"file": lines(tmp_path, "a.tsv", 30)}, {"file": lines(tmp_path, "b.tsv", 60, "other")}]
    found = splits({"mix": mix, "valid_corpus": "copy"})
    assert found.mixture is None
    assert len(list(found.train.read())) == 90


def test_pairs_held_out_of_a_mixture_come_from_every_corpus(tmp_path: Path) -> None:
    mix = [
        {"file": lines(tmp_path, "a.tsv", 200), "weight": 1},
        {"file": lines(tmp_path, "b.tsv", 400, "other"), "weight": 1},
    ]
    found = splits({"mix": mix, "held_out": 50})
    assert found.mixture is not None
    valid = Counter(pair.source.split()[0] for pair in found.valid.read())
    train = Counter(pair.source.split()[0] for pair in found.train.read())
    assert valid["line"] and valid["other"]
    assert found.mixture.sizes == (train["line"], train["other"])
    assert train + valid == Counter(line=200, other=400)


def test_filters_are_told_corpus_by_corpus(tmp_path: Path) -> None:
    (tmp_path / "b.tsv").write_text("a\tA\n\tB\nc\tC\n")
    found = splits(
        {"mix": [{"corpus": "copy", "count": 10}, {"file": str(tmp_path / "b.tsv")}], "valid_corpus": "copy"}
    )
    assert "  dropped 1: source is blank (line 2)" in told(found)
    assert found.report.lines()[-1] == f"dropped 1: source is blank, in {tmp_path}/b.tsv (pair 2)"


def test_what_the_pairs_are_changes_with_files_formats_and_languages(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"en": "a", "de": "b", "source": "c", "target": "d"}\n' * 30)
    seen = set()
    for values in ({}, {"format": "jsonl"}, {"source_language": "en"}, {"target_language": "en"}, {"count": 20}):
        seen.add(splits({"file": str(path), "valid_corpus": "copy"} | values).train.identity)
    path.write_text(path.read_text() + '{"source": "c", "target": "e"}\n')
    seen.add(splits({"file": str(path), "valid_corpus": "copy"}).train.identity)
    assert len(seen) == 6


# ------------------------------------------------------------------------------------------------ placeholders

MARKED = "".join(f"put %s{n} into <b>box {n}</b>\tlege in <b>Kiste {n}</b> das %s{n}\n" for n in range(60))


def marked(folder: Path, placeholders: int) -> tuple[Splits, TokenizerPair]:
    (folder / "marked.tsv").write_text(MARKED)
    found = splits({"file": str(folder / "marked.tsv"), "valid_corpus": "copy"})
    text = TextSettings(vocabulary_size=400, placeholders=placeholders)
    return found, train_pair(found.train.side("source"), found.train.side("target"), text)


@pytest.mark.parametrize("sampling", [None, Sampling(0.2, 2, 1)])
def test_the_store_holds_a_piece_for_each_placeholder_of_both_sides(tmp_path: Path, sampling: Sampling | None) -> None:
    found, tokenizers = marked(tmp_path, 20)
    store = store_pairs(tmp_path / "store", found.train, tokenizers, sampling=sampling)
    numbers = [tokenizers.source.placeholder_id(number) for number in (1, 2, 3)]
    assert len(store) == 60 * (sampling.versions if sampling else 1)
    for index in range(len(store)):
        source, target = store.pair(index)
        assert source[np.isin(source, numbers)].tolist() == numbers
        assert target[np.isin(target, numbers)].tolist() == [numbers[1], numbers[2], numbers[0]]
    _, target = store.pair(7)
    assert tokenizers.decode_target(target.tolist(), ("{a}", "<i>", "</i>")).text == "lege in <i>Kiste 7</i> das {a}7"


def test_without_placeholders_they_are_text(tmp_path: Path) -> None:
    found, tokenizers = marked(tmp_path, 0)
    store = store_pairs(tmp_path / "store", found.train, tokenizers)
    assert store.pair(7)[0].tolist() == tokenizers.source.encode("put %s7 into <b>box 7</b>")


def test_a_share_of_the_training_pairs_gets_placeholders(tmp_path: Path) -> None:
    """In the stored ids both sides have the piece of placeholder 1; what was stored without is not used again."""
    path = lines(tmp_path, "pairs.tsv", 200)
    source = training_pairs(build(DataSettings, {"file": path}))
    pairs = list(source.read())
    tokenizers = train_pair(
        [pair.source for pair in pairs],
        [pair.target for pair in pairs],
        TextSettings(vocabulary_size=400, placeholders=2),
    )
    first = tokenizers.target.placeholder_id(1)
    counts = []
    for share in (0.0, 0.5, 1.0):
        store = store_pairs(tmp_path / "store", source, tokenizers, placeholder_share=share)
        rows = [store.pair(place) for place in range(len(store))]
        having = [first in source_ids for source_ids, _ in rows]
        assert having == [first in target_ids for _, target_ids in rows]
        counts.append(sum(having))
    assert counts[0] == 0 and 70 < counts[1] < 130 and counts[2] == 200
