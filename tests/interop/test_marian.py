"""Models of Marian, without Marian: what we read computes its formulas, and what is damaged or foreign is refused.

That Marian itself gives the same scores is for tests/parity/test_marian.py.
"""

import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings, strategies

from interop.marian_folder import PRE_NORM, SETTINGS, WORDS, logits, random_weights, write_folder
from openwork.base.errors import OpenworkError
from openwork.bundles.bundle import load_bundle
from openwork.inference.translator import BatchTranslator
from openwork.interop.marian.reading import bundle_from_marian
from openwork.text.external.sentence_piece import read_sentence_piece
from text.external.test_sentence_piece import LINES, made

CHOICES: dict[str, dict[str, Any]] = {
    "as usual": {},
    "pre-norm, all tied": {**PRE_NORM, "tied-embeddings-all": "true", "transformer-ffn-activation": "relu"},
    "a norm after the embeddings": {"transformer-postprocess-emb": "dn"},
    "target tied": {"tied-embeddings": "true", "output-omit-bias": "true"},
    "sources tied": {"tied-embeddings-src": "true"},
}


@pytest.mark.parametrize("name", CHOICES)
@torch.no_grad()
def test_a_model_computes_marians_formulas(name: str, tmp_path: Path) -> None:
    chosen = {**SETTINGS, **CHOICES[name]}
    weights = random_weights(chosen)
    bundle = bundle_from_marian(write_folder(tmp_path / "m", weights, chosen))
    source, target = [2, 5, 9, 13, 0], [4, 11, 3]
    ids = bundle.tokenizers.source.encode(" ".join(WORDS[number] for number in source[:-1]))
    own = bundle.tokenizers.target.encode(" ".join(WORDS[number] for number in target))
    state = bundle.model.start(torch.tensor([[*ids, 3]]), torch.tensor([len(ids) + 1]))
    found, _ = bundle.model.step(torch.tensor([[2, *own]]), state)
    wanted = logits(weights, chosen, source, target)
    of_words = [1 if word == "<unk>" else 3 if word == "</s>" else number + 2 for number, word in enumerate(WORDS)]
    assert np.allclose(found[0][:, of_words].numpy(), wanted, atol=2e-5)


@torch.no_grad()
def test_an_output_matrix_as_older_versions_kept_it(tmp_path: Path) -> None:
    weights = random_weights(SETTINGS)
    new = bundle_from_marian(write_folder(tmp_path / "new", weights, SETTINGS))
    weights["decoder_ff_logit_out_W"] = weights.pop("decoder_ff_logit_out_Wt").T
    old = bundle_from_marian(write_folder(tmp_path / "old", weights, SETTINGS))
    assert torch.equal(new.model.output_weight, old.model.output_weight)


def test_from_the_command_line_to_a_translation(tmp_path: Path, call: Any) -> None:
    folder = write_folder(tmp_path / "m", random_weights(SETTINGS), SETTINGS)
    (folder / "decoder.yml").write_text("models:\n  - elsewhere/model.npz\nbeam-size: 3\nnormalize: 0.8\n")
    told = call("import", "marian", folder, "--out", tmp_path / "b")
    assert told.code == 0, told.err
    bundle = load_bundle(tmp_path / "b")
    assert (bundle.settings.decoding.beam, bundle.settings.decoding.length_penalty) == (3, 0.8)
    (text,) = BatchTranslator.of(bundle).best(["a b no"])
    told = call("translate", "--bundle", tmp_path / "b", stdin=b"a b no\n")
    assert told.code == 0 and told.lines == [text]


def test_words_are_no_words_of_yaml(tmp_path: Path) -> None:
    bundle = bundle_from_marian(write_folder(tmp_path / "m", random_weights(SETTINGS), SETTINGS))
    for words in ("no 12 ~", "a  b"):
        ids = bundle.tokenizers.source.encode(words)
        assert bundle.tokenizers.source.decode(ids) == " ".join(words.split())
    assert bundle.tokenizers.source.encode("zzz </s>") == [1, 1]


def test_of_a_longer_list_the_first_words_count(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "m", random_weights(SETTINGS), SETTINGS)
    with (folder / "vocab.yml").open("a") as file:
        file.write(f"more: {len(WORDS)}\n")
    assert bundle_from_marian(folder).tokenizers.source.vocabulary_size == len(WORDS) + 2


def refused(folder: Path, *parts: str) -> None:
    with pytest.raises(OpenworkError) as error:
        bundle_from_marian(folder)
    told = f"{error.value}: {error.value.why}"
    assert all(part in told for part in parts), told
    assert error.value.hint


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"type": "s2s"}, "type is 's2s'"),
        ({"transformer-ffn-activation": "gelu"}, "'gelu'"),
        ({"transformer-decoder-autoreg": "average-attention"}, "average-attention"),
        ({"transformer-postprocess": "dar"}, "'none / ar / none'"),
        ({"transformer-postprocess-emb": "da"}, "transformer-postprocess-emb"),
        ({"transformer-tied-layers": "[1, 1]"}, "transformer-tied-layers is '1 1'"),
        ({"transformer-heads": "three"}, "transformer-heads"),
        ({"transformer-heads": 3}, "heads"),
        ({"enc-depth": 0}, "enc-depth"),
        ({"dim-emb": 1 << 16}, "dim-emb is '65536'"),
        ({"dim-emb": 1 << 60}, "width"),
        ({**PRE_NORM, "version": "v1.9.0"}, "version is 'v1.9.0'"),
        ({"transformer-train-position-embeddings": "true"}, "transformer-train-position-embeddings"),
    ],
    ids=str,
)
def test_other_models_are_refused(changes: dict[str, Any], part: str, tmp_path: Path) -> None:
    refused(write_folder(tmp_path / "m", random_weights(SETTINGS), SETTINGS | changes), "no such model", part)


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "m", random_weights(SETTINGS), SETTINGS)
    content = (folder / "vocab.yml").read_text()
    (folder / "vocab.yml").unlink()
    refused(folder, "it lacks the vocabularies")
    (folder / "vocab.yml").write_text(content.replace("<unk>", "what"))
    refused(folder, "not a vocabulary of Marian's")
    (folder / "vocab.yml").write_text(content.replace("</s>", "end"))
    refused(folder, "do not belong together")
    (folder / "vocab.yml").write_text(content.replace("b: 3", "b: x"))
    refused(folder, "not a vocabulary of Marian's")
    (folder / "vocab.yml").write_text("\n".join(content.splitlines()[:-1]))
    refused(folder, "do not belong together")
    (folder / "vocab.yml").write_text(content)
    (folder / "decoder.yml").write_text("beam-size: many\n")
    refused(folder, "no settings of a search")
    (folder / "decoder.yml").unlink()
    weights = random_weights(SETTINGS)
    weights.pop("decoder_l1_context_Wv")
    refused(write_folder(tmp_path / "m", weights, SETTINGS), "a weight is missing", "decoder_l1_context_Wv")
    weights["decoder_l1_context_Wv"] = np.zeros((8, 9), np.float32)
    refused(write_folder(tmp_path / "m", weights, SETTINGS), "other sizes")
    (folder / "model.npz").unlink()
    refused(folder, "it lacks model.npz")


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "m", random_weights(SETTINGS), SETTINGS)
    path = folder / "model.npz"
    weights = random_weights(SETTINGS)
    np.savez_compressed(path, **weights)  # type: ignore[arg-type]
    refused(folder, "no model of Marian", "compressed")
    np.savez(path, **weights)  # type: ignore[arg-type]
    refused(folder, "no model of Marian", "no settings in YAML")
    np.savez(path, **weights, **{"special:model.yml": np.array([print], object)})  # type: ignore[arg-type]
    refused(folder, "no model of Marian", "numbers of the type |O")
    for text in (b"a: [", b"- a", b"\xff", b"x" * (1 << 21)):
        np.savez(path, **weights, **{"special:model.yml": np.frombuffer(text, np.uint8)})  # type: ignore[arg-type]
        refused(folder, "no model of Marian")
    path.write_bytes(b"bergamot")
    refused(folder, "no model of Marian")


@given(place=strategies.floats(0, 1, exclude_max=True), byte=strategies.integers(0, 255), cut=strategies.booleans())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.slow
def test_damaged_files_are_read_or_refused(place: float, byte: int, cut: bool, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "m", random_weights(SETTINGS), SETTINGS)
    content = bytearray((folder / "model.npz").read_bytes())
    number = int(place * len(content))
    content[number:] = b"" if cut else bytes([byte]) + content[number + 1 :]
    (folder / "model.npz").write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with suppress(OpenworkError):
            bundle_from_marian(folder)


@pytest.mark.slow
def test_pieces_of_sentence_piece(tmp_path: Path) -> None:
    """As OPUS-MT has them: a list of the pieces beside a model for each side; and Marian's own, where its ids count."""
    one = made(tmp_path / "one.spm", model_type="unigram", vocab_size=60, eos_id=0, unk_id=1, bos_id=-1)
    pieces = read_sentence_piece(one)
    names = [pieces.piece(number) for number in range(pieces.vocabulary_size)]
    weights, text = random_weights(SETTINGS, len(names)), LINES[0]
    listed = write_folder(tmp_path / "listed", weights, SETTINGS, names)
    for side in ("source.spm", "target.spm"):
        (listed / side).write_bytes(one.read_bytes())
    own = write_folder(tmp_path / "own", weights, SETTINGS, names)
    (own / "vocab.yml").unlink()
    (own / "vocab.spm").write_bytes(one.read_bytes())
    bundles = [bundle_from_marian(folder) for folder in (listed, own)]
    ids = [bundle.tokenizers.source.encode(text) for bundle in bundles]
    assert ids[0] == ids[1] and len(ids[0]) > 2
    assert all(bundle.tokenizers.target.decode(ids[0]) == text for bundle in bundles)
    assert torch.equal(*(bundle.model.output_weight for bundle in bundles))
