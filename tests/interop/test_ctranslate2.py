"""Models of CTranslate2, without the package: what we write we read again, and what is damaged or foreign is refused.

That the package agrees is for tests/parity/test_ctranslate2.py.
"""

import json
import math
import random
import struct
import tracemalloc
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from interop.conversions import decoded, encoded, nothing_forbidden, source_ids, translate
from interop.small_bundles import TARGETS, TEXTS, small_bundle
from openwork.base.errors import BundleError
from openwork.bundles.bundle import Bundle
from openwork.decoding.rescore import score_tokens
from openwork.decoding.settings import DecodingSettings
from openwork.inference.translator import BatchTranslator
from openwork.interop.ctranslate2.binary import NEWEST, Contents, read_binary, write_binary
from openwork.interop.ctranslate2.layout import FEEDFORWARDS
from openwork.interop.ctranslate2.reading import (
    NEVER,
    CTranslate2Model,
    bundle_from_ctranslate2,
    made_positions,
    read_ctranslate2,
)
from openwork.interop.ctranslate2.vocabulary import Tokens, read_conventions, read_tokens
from openwork.interop.ctranslate2.writing import write_ctranslate2
from openwork.interop.exports import ctranslate2_reason
from openwork.interop.vocabulary import token_names
from openwork.models.recurrent_settings import RecurrentSettings
from openwork.models.settings import TransformerSettings
from openwork.models.weights import model_weights
from openwork.text.pair import train_pair
from openwork.text.settings import TextSettings

pytestmark = pytest.mark.slow

# ------------------------------------------------------------------------------------------------ model.bin


def test_a_file_byte_by_byte(tmp_path: Path):
    """Version 6, one variable of two small numbers, and a further name of it: written out by hand."""
    path = tmp_path / "model.bin"
    write_binary(path, Contents("Spec", 7, {"a/b": np.array([1, -1], np.int8)}, {"c": "a/b"}))
    assert path.read_bytes() == (
        b"\6\0\0\0" b"\5\0Spec\0" b"\7\0\0\0"
        b"\1\0\0\0" b"\4\0a/b\0" b"\1" b"\2\0\0\0" b"\1" b"\2\0\0\0" b"\1\xff"
        b"\1\0\0\0" b"\2\0c\0" b"\4\0a/b\0"
    )  # fmt: skip


def test_an_old_file_byte_by_byte(tmp_path: Path):
    """Version 2: a payload has bytes of one number and their count, no type; there are no aliases."""
    path = tmp_path / "model.bin"
    path.write_bytes(
        b"\2\0\0\0" b"\5\0Spec\0" b"\2\0\0\0"
        b"\2\0\0\0" b"\2\0x\0" b"\2" b"\1\0\0\0\2\0\0\0" b"\4" b"\2\0\0\0" + struct.pack("<2f", 0.5, -2)
        + b"\2\0y\0" b"\0" b"\2" b"\1\0\0\0" + struct.pack("<h", -300)
    )  # fmt: skip
    contents = read_binary(path)
    assert (contents.specification, contents.revision, contents.version, contents.aliases) == ("Spec", 2, 2, {})
    assert contents.variables["x"].tolist() == [[0.5, -2]]
    assert contents.variables["y"].tolist() == -300


def test_all_types_come_back(tmp_path: Path):
    variables = {
        kind: np.array([[1, 2, -3]], kind) for kind in ("float32", "int8", "int16", "int32", "float16")
    } | {"scalar": np.array(3, np.int16), "nothing": np.zeros((0, 4), np.float32)}  # fmt: skip
    write_binary(tmp_path / "model.bin", Contents("S", 1, variables))
    found = read_binary(tmp_path / "model.bin").variables
    assert found.keys() == variables.keys()
    for name, numbers in variables.items():
        assert found[name].dtype == numbers.dtype
        np.testing.assert_array_equal(found[name], numbers)


def test_numbers_of_bfloat16(tmp_path: Path):
    """The upper half of a float32: 0x3FC0 is 1.5, 0xC000 is -2."""
    path = tmp_path / "model.bin"
    path.write_bytes(b"\6\0\0\0\1\0\0\1\0\0\0\1\0\0\0\2\0x\0\1\2\0\0\0\5\4\0\0\0\xc0\x3f\x00\xc0\0\0\0\0")
    assert read_binary(path).variables["x"].tolist() == [1.5, -2]


WHOLE = b"\6\0\0\0\5\0Spec\0\7\0\0\0\1\0\0\0\4\0a/b\0\1\2\0\0\0\1\2\0\0\0\1\xff\1\0\0\0\2\0c\0\4\0a/b\0"


@pytest.mark.parametrize("size", range(len(WHOLE)))
def test_a_file_that_is_cut_off_is_refused(tmp_path: Path, size: int):
    (tmp_path / "model.bin").write_bytes(WHOLE[:size])
    with pytest.raises(BundleError):
        read_binary(tmp_path / "model.bin")


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (WHOLE + b"!", "left over"),
        (b"\7" + WHOLE[1:], "binary version, is 7"),
        (b"\1" + WHOLE[1:], "binary version, is 1"),
        (WHOLE.replace(b"\1\2\0\0\0\1\2\0\0\0", b"\1\xff\xff\xff\xff\1\2\0\0\0"), "do not fit its shape"),
        (WHOLE.replace(b"\1\2\0\0\0\1\2\0\0\0", b"\1\2\0\0\0\1\xff\xff\xff\xff"), "do not fit its shape"),
        (WHOLE.replace(b"\1\2\0\0\0\1\2\0\0\0", b"\1\xff\xff\xff\xff\1\xff\xff\xff\xff"), "should follow"),
        (WHOLE.replace(b"\1\2\0\0\0\1\2\0\0\0", b"\1\2\0\0\0\x09\2\0\0\0"), "unknown type 9"),
        (WHOLE.replace(b"\1\2\0\0\0\1\2\0\0\0", b"\xff\2\0\0\0\1\2\0\0\0"), "255 dimensions"),
        (WHOLE.replace(b"\2\0c\0", b"\2\0c!"), "no end"),
        (WHOLE.replace(b"\2\0c\0\4\0a/b\0", b"\4\0a/b\0\4\0a/b\0"), "no new name"),
        (WHOLE[:-4] + b"x/y\0", "no new name"),
    ],
)
def test_a_file_that_does_not_add_up_is_refused(tmp_path: Path, wrong: bytes, says: str):
    (tmp_path / "model.bin").write_bytes(wrong)
    with pytest.raises(BundleError) as caught:
        read_binary(tmp_path / "model.bin")
    assert says in f"{caught.value.what} {caught.value.why}"


def test_what_a_file_claims_takes_no_memory(tmp_path: Path):
    """A payload of 4 GB, says a file of some bytes."""
    claim = WHOLE.replace(b"\1\2\0\0\0\1\2\0\0\0", b"\1\xff\xff\xff\xff\1\xff\xff\xff\xff")
    (tmp_path / "model.bin").write_bytes(claim)
    tracemalloc.start()
    try:
        with pytest.raises(BundleError):
            read_binary(tmp_path / "model.bin")
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


def test_a_missing_file_is_told(tmp_path: Path):
    with pytest.raises(BundleError, match=r"model\.bin: cannot be read"):
        read_ctranslate2(tmp_path)


# ------------------------------------------------------------------------------------------------ there and back


def exported(folder: Path, bundle: Bundle) -> Path:
    write_ctranslate2(folder / "model", bundle)
    return folder / "model"


def changed(folder: Path, change: Callable[[dict[str, np.ndarray]], None], **fields: object) -> Path:
    """The same model with other variables."""
    contents = read_binary(folder / "model.bin")
    variables = dict(contents.variables)
    change(variables)
    write_binary(folder / "model.bin", replace(contents, variables=variables, **fields))  # type: ignore[arg-type]
    return folder


def log_probabilities(bundle: Bundle) -> torch.Tensor:
    """Of `TARGETS` given `TEXTS`, token by token."""
    source, target = bundle.tokenizers.source, bundle.tokenizers.target
    rows = [[*source.encode(text), source.end_id] for text in TEXTS]
    return score_tokens(bundle.model, *padded(rows), [target.encode(text) for text in TARGETS])


def read_log_probabilities(bundle: Bundle, read: CTranslate2Model) -> torch.Tensor:
    """The same, by the model that was written and read, through its tokens."""
    names = [token_names(one) for one in (bundle.tokenizers.source, bundle.tokenizers.target)]
    source, target = bundle.tokenizers.source, bundle.tokenizers.target
    rows = [source_ids(read, [names[0][number] for number in source.encode(text)]) for text in TEXTS]
    targets = [encoded(read.target, [names[1][number] for number in target.encode(text)]) for text in TARGETS]
    with nothing_forbidden():
        return score_tokens(read.model, *padded(rows), targets)


def padded(rows: list[list[int]]) -> tuple[torch.Tensor, torch.Tensor]:
    longest = max(map(len, rows))
    return torch.tensor([row + [0] * (longest - len(row)) for row in rows]), torch.tensor([len(row) for row in rows])


VARIANTS: dict[str, Mapping[str, object]] = {
    "post": {"norm": "post", "attention_bias": True, "output_bias": True, "tying": "none"},
    "embeddings": {"embedding_scale": False, "embedding_norm": True, "tying": "target", "feedforward": "swish"},
    "learned": {"positions": "learned", "maximum_length": 40, "feedforward": "glu", "norm_epsilon": 0.5},
    "none": {"positions": "none", "normalisation": "rms", "feedforward": "swiglu"},
    "relative": {"positions": "relative", "relative_distance": 3, "heads": 4, "key_value_heads": 2},
    "rotary": {"positions": "rotary", "head_width": 6, "value_width": 6, "encoder_layers": 1, "decoder_layers": 3},
}


@pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS)
def test_what_we_write_we_read(tmp_path: Path, changes: Mapping[str, object]):
    bundle = small_bundle(**changes)
    read = read_ctranslate2(exported(tmp_path, bundle))
    torch.testing.assert_close(read_log_probabilities(bundle, read), log_probabilities(bundle), atol=2e-5, rtol=1e-5)
    assert read.settings.tying == bundle.settings.model.tying


def test_two_vocabularies(tmp_path: Path):
    bundle = small_bundle(shared=False, tying="target")
    folder = exported(tmp_path, bundle)
    assert {path.name for path in folder.glob("*vocabulary*")} == {"source_vocabulary.json", "target_vocabulary.json"}
    read = read_ctranslate2(folder)
    torch.testing.assert_close(read_log_probabilities(bundle, read), log_probabilities(bundle), atol=2e-5, rtol=1e-5)


@pytest.mark.parametrize("shared", [True, False])
def test_a_bundle_comes_back_as_a_bundle(tmp_path: Path, shared: bool):
    """With its tokenizers beside it, number for number; what it had no bias for has one that keeps the symbols out."""
    bundle = small_bundle(shared, tying="three-way" if shared else "target")
    back = bundle_from_ctranslate2(exported(tmp_path, bundle))
    assert back.settings.model == bundle.settings.model.model_copy(update={"output_bias": True, "dropout": 0.1})
    ours, theirs = model_weights(bundle.model), model_weights(back.model)
    assert all(torch.equal(ours[name], theirs[name]) for name in ours) and theirs.keys() - ours.keys() == {"bias"}
    settings = bundle.settings.decoding
    assert BatchTranslator.of(back, settings).best(TEXTS) == BatchTranslator.of(bundle).best(TEXTS)


def test_tokenizers_of_another_model_are_refused(tmp_path: Path):
    folder = exported(tmp_path, small_bundle())
    with pytest.raises(BundleError, match="not those of this model"):
        bundle_from_ctranslate2(folder, train_pair(["other words"], ["other words"], TextSettings(vocabulary_size=300)))


@pytest.mark.parametrize(("key", "value"), [("add_source_eos", False), ("add_source_bos", True)])
def test_other_frames_of_a_source_make_no_bundle(tmp_path: Path, key: str, value: bool):
    folder = exported(tmp_path, small_bundle())
    said = json.loads((folder / "config.json").read_text("utf-8"))
    (folder / "config.json").write_text(json.dumps(said | {key: value}), encoding="utf-8")
    with pytest.raises(BundleError, match="cannot become a bundle"):
        bundle_from_ctranslate2(folder, small_bundle().tokenizers)
    framed = source_ids(read_ctranslate2(folder), ["a"])
    assert (framed[0] == 2, framed[-1] == 3) == (said["add_source_bos"] or key == "add_source_bos", value)


def test_what_is_tied_is_written_once(tmp_path: Path):
    contents = read_binary(exported(tmp_path, small_bundle()) / "model.bin")
    table = "decoder/embeddings/weight"
    assert contents.aliases == {"decoder/projection/weight": table, "encoder/embeddings/weight": table}
    assert contents.version == NEWEST


def test_what_our_searches_forbid_has_no_probability_there(tmp_path: Path):
    contents = read_binary(exported(tmp_path, small_bundle()) / "model.bin")
    assert contents.variables["decoder/projection/bias"][:5].tolist() == [NEVER, NEVER, NEVER, 0, 0]
    assert math.exp(NEVER) == 0


def test_the_same_is_found(tmp_path: Path):
    """Through their tokens and our search, whatever stands in the way of ids."""
    bundle = small_bundle(output_bias=True)
    read = read_ctranslate2(exported(tmp_path, bundle))
    names = token_names(bundle.tokenizers.source)
    settings = DecodingSettings(beam=3, maximum_length=12)
    sources = [[names[number] for number in bundle.tokenizers.source.encode(text)] for text in TEXTS]
    theirs = [decoded(read.target, best.tokens) for best, *_ in translate(read, sources, settings)]
    ours = [best.pieces for best, *_ in BatchTranslator.of(bundle, settings).translate(TEXTS)]
    assert theirs == [[names[number] for number in pieces] for pieces in ours]


def test_the_tokenizer_lies_beside_it(tmp_path: Path):
    """Its own names of the pieces are the tokens: the library that wrote it makes them of texts."""
    from tokenizers import Tokenizer

    bundle = small_bundle()
    folder = exported(tmp_path, bundle)
    library = Tokenizer.from_file(str(folder / "tokenizer.json"))
    names = json.loads((folder / "shared_vocabulary.json").read_text("utf-8"))
    expected = [names[number] for number in bundle.tokenizers.source.encode("a b c")]
    assert library.encode("a b c", add_special_tokens=False).tokens == expected
    assert (folder / "card.md").read_text("utf-8") == bundle.card


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (TransformerSettings(positions="alibi"), "positions"),
        (TransformerSettings(embedding_width=128), "embedding_width"),
        (TransformerSettings(value_width=32), "value_width"),
        (TransformerSettings(attention="unscaled"), "attention"),
        (TransformerSettings(norm="branch"), "norm"),
        (TransformerSettings(norm="no-residual"), "norm"),
        (TransformerSettings(feedforward="convolution"), "feedforward"),
        (RecurrentSettings(), "encoder and decoder alone"),
        (TransformerSettings(), ""),
    ],
)
def test_what_theirs_cannot_be_is_told_by_its_setting(settings: object, says: str):
    assert says in ctranslate2_reason(settings) and bool(says) == bool(ctranslate2_reason(settings))


def test_nothing_is_left_of_a_refused_model(tmp_path: Path):
    with pytest.raises(BundleError, match="cannot run this model"):
        write_ctranslate2(tmp_path / "model", small_bundle(positions="alibi"))
    assert not list(tmp_path.iterdir())


def test_every_feedforward_network_has_its_counterpart():
    values = TransformerSettings.model_fields["feedforward"].json_schema_extra
    known = dict(values)["values"].keys()  # type: ignore[arg-type, union-attr, index]
    assert FEEDFORWARDS.keys() == known - {"convolution"}


# ------------------------------------------------------------------------------------------------ other habits


def test_a_part_that_ours_has_not_is_refused_by_name(tmp_path: Path):
    def add(variables: dict[str, np.ndarray]) -> None:
        variables["encoder/layer_0/self_attention/q_norm/gamma"] = np.ones(8, np.float32)

    with pytest.raises(BundleError) as caught:
        read_ctranslate2(changed(exported(tmp_path, small_bundle()), add))
    assert "q_norm/gamma" in caught.value.why


@pytest.mark.parametrize(("name", "value"), [("decoder/alibi", 1), ("encoder/activation", 4), ("encoder/pre_norm", 0)])
def test_a_number_that_means_something_else_is_refused(tmp_path: Path, name: str, value: int):
    def change(variables: dict[str, np.ndarray]) -> None:
        variables[name] = np.array(value, np.int8)

    with pytest.raises(BundleError):
        read_ctranslate2(changed(exported(tmp_path, small_bundle()), change))


def test_a_number_that_means_nothing_is_let_be(tmp_path: Path):
    def change(variables: dict[str, np.ndarray]) -> None:
        variables |= {"decoder/alibi": np.array(0, np.int8), "decoder/alignment_layer": np.array(-1, np.int16)}

    assert read_ctranslate2(changed(exported(tmp_path, small_bundle()), change)).settings.width == 16


@pytest.mark.parametrize("positions", ["learned", "rotary"])
def test_their_own_scale_of_queries(tmp_path: Path, positions: str):
    """Twice the scale is twice the queries."""
    bundle = small_bundle(attention_bias=True, positions=positions)

    def change(variables: dict[str, np.ndarray]) -> None:
        variables["decoder/layer_1/attention/queries_scale"] = np.array(2 / 8**0.5, np.float32)

    read = read_ctranslate2(changed(exported(tmp_path, bundle), change))
    query = bundle.model.get_submodule("decoder.layers.1.cross_attention.query")
    for parameter in query.parameters():
        parameter.data *= 2
    torch.testing.assert_close(read_log_probabilities(bundle, read), log_probabilities(bundle), atol=2e-5, rtol=1e-5)


def test_a_target_may_start_from_zeros(tmp_path: Path):
    """As Marian's do: the first input of the decoder is no token at all."""
    bundle = small_bundle(tying="none")

    def change(variables: dict[str, np.ndarray]) -> None:
        variables["decoder/start_from_zero_embedding"] = np.array(1, np.int8)

    read = read_ctranslate2(changed(exported(tmp_path, bundle), change))
    bundle.model.get_parameter("target_embedding.table.weight").data[2] = 0
    torch.testing.assert_close(read_log_probabilities(bundle, read), log_probabilities(bundle), atol=2e-5, rtol=1e-5)


def test_embeddings_with_a_scale_of_their_own(tmp_path: Path):
    bundle = small_bundle(tying="none")

    def change(variables: dict[str, np.ndarray]) -> None:
        variables["encoder/scale_embeddings"] = np.array(8.0, np.float32)  # twice the root of 16

    read = read_ctranslate2(changed(exported(tmp_path, bundle), change))
    bundle.model.get_parameter("source_embedding.table.weight").data *= 2
    torch.testing.assert_close(read_log_probabilities(bundle, read), log_probabilities(bundle), atol=2e-5, rtol=1e-5)


def test_weights_of_eight_bits(tmp_path: Path):
    """Row by row, a number and its scale stand for number / scale."""
    bundle = small_bundle(tying="none")
    name = "encoder/layer_0/ffn/linear_1/weight"

    def change(variables: dict[str, np.ndarray]) -> None:
        scale = 127 / np.abs(variables[name]).max(axis=1)
        variables[name] = np.rint(variables[name] * scale[:, None]).astype(np.int8)
        variables[f"{name}_scale"] = scale.astype(np.float32)

    read = read_ctranslate2(changed(exported(tmp_path, bundle), change))
    ours, theirs = (
        model.get_parameter("encoder.layers.0.feedforward.contract.weight").detach()
        for model in (bundle.model, read.model)
    )
    assert 0 < float((ours - theirs).abs().max()) < float(ours.abs().max()) / 127


def test_positions_that_are_made():
    """Width 4: the waves are 1 and 10000^-1, the sines come first, and the first position is 1."""
    found = made_positions(2, 4)
    expected = [[math.sin(p), math.sin(p / 10000), math.cos(p), math.cos(p / 10000)] for p in (1, 2)]
    torch.testing.assert_close(found, torch.tensor(expected))


# ------------------------------------------------------------------------------------------------ vocabularies


def test_whose_id_is_whose():
    tokens = Tokens.of(["a", "</s>", "<unk>", "b", "<s>", "a"], (None, "<unk>", "<s>", "</s>"))
    assert tokens.vocabulary.external == (None, 2, 4, 1, 0, 3, 5)
    assert encoded(tokens, ["b", "a", "?", "</s>"]) == [5, 4, 1, 3]
    assert decoded(tokens, [5, 6, 0, 1]) == ["b", "a", "<unk>"]


def test_ids_in_the_order_of_a_tokenizer():
    """Its pieces decide; what theirs lacks has no row, and what it lacks no id."""
    order = ["<pad>", "<unk>", "<s>", "</s>", "b", "new", "a"]
    tokens = Tokens.of(["a", "</s>", "<unk>", "b", "<s>", "c"], ("<pad>", "<unk>", "<s>", "</s>"), order)
    assert tokens.vocabulary.external == (None, 2, 4, 1, 3, None, 0)
    assert encoded(tokens, ["a", "b", "c"]) == [6, 4, 1] and tokens.left_out == ["c"]


def test_an_end_that_is_the_start_as_well_is_said_as_the_end():
    tokens = Tokens.of(["</s>", "a", "<unk>"], (None, "<unk>", "</s>", "</s>"))
    assert tokens.vocabulary.external == (None, 2, 0, 0, 1)
    assert encoded(tokens, ["</s>"]) == [3]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\nb\n<unk>\n", ["a", "b", "<unk>"]),
        ("a\r\nb\r\n", ["a", "b", "<unk>"]),
        ("a\r\nb\n", ["a\r", "b", "<unk>"]),
        ("a\n\nb", ["a", "", "b", "<unk>"]),
        ("a\u2028\x85\n", ["a\u2028\x85", "<unk>"]),
    ],
)
def test_lists_of_lines(tmp_path: Path, text: str, expected: list[str]):
    (tmp_path / "shared_vocabulary.txt").write_bytes(text.encode())
    source, target = read_tokens(tmp_path, "<unk>")
    assert source is target and source == expected


def test_the_habits_of_older_models():
    flags = {"with_source_eos": np.array(1, np.int8), "with_target_bos": np.array(0, np.int8)}
    named = {"eos_token": np.frombuffer(b"<end>", np.int8)}
    found = read_conventions(Path(), 5, {**flags, **named})
    assert (found.add_source_bos, found.add_source_eos, found.decoder_start_token) == (False, True, "<end>")
    assert read_conventions(Path(), 2, {}).decoder_start_token == "<s>"


@pytest.mark.parametrize(
    "said", ["[]", "{", '{"add_source_eos": 1}', '{"bos_token": null}', '{"layer_norm_epsilon": true}']
)
def test_a_configuration_that_is_not_understood(tmp_path: Path, said: str):
    (tmp_path / "config.json").write_text(said)
    with pytest.raises(BundleError):
        read_conventions(tmp_path, NEWEST, {})


def test_a_vocabulary_of_another_model_is_refused(tmp_path: Path):
    folder = exported(tmp_path, small_bundle())
    (folder / "shared_vocabulary.json").write_text('["<unk>", "<s>", "</s>"]')
    with pytest.raises(BundleError) as caught:
        read_ctranslate2(folder)
    assert "its vocabulary has 3" in caught.value.why


@pytest.mark.parametrize("key", ["eos_token", "decoder_start_token"])
def test_a_symbol_that_is_no_token_is_refused(tmp_path: Path, key: str):
    """Not taken for a row of zeros, or for an end that never comes."""
    folder = exported(tmp_path, small_bundle())
    said = json.loads((folder / "config.json").read_text("utf-8"))
    (folder / "config.json").write_text(json.dumps(said | {key: "<none>"}), encoding="utf-8")
    with pytest.raises(BundleError) as caught:
        read_ctranslate2(folder)
    assert "no token '<none>'" in caught.value.why


# ------------------------------------------------------------------------------------------------ what strangers send


def test_a_file_with_wrong_bytes_is_read_or_refused_and_nothing_else(tmp_path: Path):
    """Never a traceback of another kind, never a large piece of memory; 120 files with a few bytes changed."""
    folder = exported(
        tmp_path, small_bundle(positions="relative", key_value_heads=1, encoder_layers=1, decoder_layers=1)
    )
    whole = (folder / "model.bin").read_bytes()
    draw = random.Random(5)
    names = [place for place in range(len(whole) - 8) if whole[place : place + 6].isascii()]
    refused = 0
    for _ in range(120):
        damaged = bytearray(whole)
        for place in draw.sample(names, 2):  # where names, shapes and types stand, more than in the numbers
            damaged[place + draw.randrange(8)] = draw.choice((0, 1, 255, draw.randrange(256)))
        (folder / "model.bin").write_bytes(damaged)
        try:
            read_ctranslate2(folder)
        except BundleError:
            refused += 1
    assert refused > 30


# ------------------------------------------------------------------------------------------------ the real one


def test_the_real_model_says_what_its_makers_say(openwork_data: Callable[[str], Path]):
    """A trained model of binary version 2 and its one example, in CTranslate2's own tests."""
    read = read_ctranslate2(openwork_data("ct2-aren-transliteration"))
    s = read.settings
    assert (s.width, s.heads, s.encoder_layers, s.feedforward_width, s.norm, s.norm_epsilon) == (
        32,
        8,
        6,
        128,
        "pre",
        1e-5,
    )
    ((best, *_),) = translate(read, [list("آتزمون")], DecodingSettings(beam=2, length_rule="power", length_penalty=1.0))
    assert decoded(read.target, best.tokens) == list("atzmon")
