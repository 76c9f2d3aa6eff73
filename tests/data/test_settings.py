"""The section [data]: what goes together, and the sentence for what does not."""

from typing import Any

import pytest

from openwork.base.config import build
from openwork.base.errors import ConfigError
from openwork.data.settings import DataSettings, OriginSettings

CORPUS, FILE = {"corpus": "copy"}, {"file": "a.tmx"}


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({}, "name exactly one of: corpus, source and target, file, text, pictures, sounds, series, tsv, mix"),
        (CORPUS | FILE, "name exactly one of"),
        (FILE | {"tsv": "b.tsv"}, "name exactly one of"),
        (CORPUS | {"mix": [FILE]}, "name exactly one of"),
        ({"source": "a"}, "source and target go together"),
        (CORPUS | {"valid_target": "a"}, "valid_source and valid_target go together"),
        (CORPUS | {"valid_file": "a.po", "valid_corpus": "copy"}, "give one of: valid_corpus"),
        (FILE | {"format": "docx"}, "set format to one of: tsv, jsonl, tmx, xliff, po"),
        ({"mix": [{"weight": 1}]}, "name exactly one for each [[data.mix]]"),
        ({"mix": [CORPUS | FILE]}, "name exactly one for each [[data.mix]]"),
        ({"mix": [CORPUS | {"weight": 0.0}]}, "weight = 0.0 is not allowed"),
        ({"mix": [CORPUS | {"weight": 2}, FILE]}, "give every corpus of the mix a weight, or none"),
    ],
)
def test_what_does_not_go_together_is_refused(values: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        build(DataSettings, values)
    assert said in f"{caught.value.what}; {caught.value.hint}"


def test_each_way_to_name_the_pairs() -> None:
    pairs = {"source": "a", "target": "b"}
    parts = [build(DataSettings, values).parts for values in (CORPUS, pairs, FILE, {"tsv": "c"})]
    assert [(part.corpus, part.source, part.file, part.format) for (part,) in parts] == [
        ("copy", None, None, None),
        (None, "a", None, None),
        (None, None, "a.tmx", None),
        (None, None, "c", "tsv"),
    ]
    assert len(build(DataSettings, {"mix": [CORPUS, FILE, pairs]}).parts) == 3


@pytest.mark.parametrize(
    ("values", "validation"),
    [
        (CORPUS, OriginSettings(corpus="copy")),
        (FILE, None),
        ({"mix": [CORPUS]}, None),
        (CORPUS | {"valid_corpus": "reverse"}, OriginSettings(corpus="reverse")),
        (CORPUS | {"valid_source": "a", "valid_target": "b"}, OriginSettings(source="a", target="b")),
        (FILE | {"format": "po", "valid_file": "c"}, OriginSettings(file="c", format="po")),
        (FILE | {"valid_tsv": "c"}, OriginSettings(file="c", format="tsv")),
    ],
)
def test_where_validation_pairs_come_from(values: dict[str, Any], validation: OriginSettings | None) -> None:
    assert build(DataSettings, values).validation == validation
