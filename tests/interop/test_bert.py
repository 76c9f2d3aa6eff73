"""BERT read from Hugging Face's form: ids, weights and heads by hand, what is refused, and real weights."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from interop.bert_folder import NAMES, WIDTH, weights, write_folder
from openwork.base.errors import OpenworkError
from openwork.bundles.bundle import Bundle, load_bundle
from openwork.inference.embedder import TextEmbedder, similarity
from openwork.interop.forms import bundle_from_hugging_face, import_model
from openwork.models.encoder_lm import EncoderModel
from openwork.models.settings import EncoderSettings
from openwork.text.external.adapted import AdaptedTokenizer

TEXT = "the cats sat, how are you?"
PIECES = ["the", "cat", "##s", "sat", ",", "how", "are", "you", "?"]


def vectors(bundle: Bundle, text: str) -> Tensor:
    ids = bundle.tokenizers.source.encode(text)
    assert isinstance(bundle.model, EncoderModel)
    with torch.no_grad():
        return bundle.model.encode(torch.tensor([[*ids, 3]]), torch.tensor([len(ids) + 1]))[0]


def by_formula(found: dict[str, Tensor], ids: list[int], heads: int = 2) -> Tensor:
    """BERT as its paper and code have it, with their names, for one text of one segment."""

    def dense(name: str, x: Tensor) -> Tensor:
        return x @ found[f"{name}.weight"].T + found[f"{name}.bias"]

    def norm(name: str, x: Tensor) -> Tensor:
        return functional.layer_norm(x, x.shape[-1:], found[f"{name}.weight"], found[f"{name}.bias"], 1e-12)

    tables = ("word_embeddings", "position_embeddings", "token_type_embeddings")
    word, position, segment = (found[f"embeddings.{name}.weight"] for name in tables)
    x = norm("embeddings.LayerNorm", word[ids] + position[: len(ids)] + segment[0])
    for layer in ("encoder.layer.0", "encoder.layer.1"):
        asked = [dense(f"{layer}.attention.self.{part}", x) for part in ("query", "key", "value")]
        query, key, value = (part.unflatten(-1, (heads, -1)).transpose(0, 1) for part in asked)
        weight = (query @ key.transpose(1, 2) / (WIDTH / heads) ** 0.5).softmax(dim=-1)
        attended = (weight @ value).transpose(0, 1).flatten(1)
        x = norm(f"{layer}.attention.output.LayerNorm", x + dense(f"{layer}.attention.output.dense", attended))
        inner = functional.gelu(dense(f"{layer}.intermediate.dense", x))
        x = norm(f"{layer}.output.LayerNorm", x + dense(f"{layer}.output.dense", inner))
    return x


@pytest.mark.slow
def test_the_vectors_are_those_of_the_formula(tmp_path: Path) -> None:
    found = weights()
    bundle = bundle_from_hugging_face(write_folder(tmp_path / "bert", found))
    settings = bundle.settings.model
    assert isinstance(settings, EncoderSettings) and settings.task == "embed"
    tokenizer = bundle.tokenizers.source
    assert isinstance(tokenizer, AdaptedTokenizer) and tokenizer.encode_pieces(TEXT).pieces == PIECES
    ids = [NAMES.index(name) for name in ("[CLS]", *PIECES[:8], "[SEP]")]
    text = "the cats sat, how are you"
    expected = by_formula(found, ids)
    torch.testing.assert_close(vectors(bundle, text), expected, rtol=1e-4, atol=1e-5)
    given = bundle.model(torch.tensor([[*tokenizer.encode(text), 3]]), torch.tensor([9]), torch.tensor([[2, 2]]))[0]
    torch.testing.assert_close(given[0], expected.mean(dim=0), rtol=1e-4, atol=1e-5)
    pooled = torch.tanh(found["pooler.dense.weight"] @ expected[0] + found["pooler.dense.bias"])
    torch.testing.assert_close(given[1], pooled, rtol=1e-4, atol=1e-5)


def test_masked_pieces_are_told_by_their_head(tmp_path: Path) -> None:
    found = weights(fills=True)
    bundle = bundle_from_hugging_face(write_folder(tmp_path / "bert", found))
    settings, tokenizer = bundle.settings.model, bundle.tokenizers.source
    assert isinstance(settings, EncoderSettings) and settings.task == "fill"
    assert tokenizer.piece(settings.mask_piece) == "[MASK]"
    ids = tokenizer.encode("the [MASK] sat")
    assert ids[1] == settings.mask_piece
    theirs = {name.removeprefix("bert."): tensor for name, tensor in found.items()}
    x = by_formula(theirs, [NAMES.index(name) for name in ("[CLS]", "the", "[MASK]", "sat", "[SEP]")])
    head = "cls.predictions.transform"
    told = functional.gelu(x @ found[f"{head}.dense.weight"].T + found[f"{head}.dense.bias"])
    norm = found[f"{head}.LayerNorm.weight"], found[f"{head}.LayerNorm.bias"]
    told = functional.layer_norm(told, told.shape[-1:], *norm, 1e-12)
    logits = told @ theirs["embeddings.word_embeddings.weight"].T + found["cls.predictions.bias"]
    start = bundle.model.start(torch.tensor([[*ids, 3]]), torch.tensor([4]))
    with torch.no_grad():
        ours = bundle.model.step(torch.full((1, 4), 2), start)[0][0]
    places = {name: NAMES.index(name) for name in ("[PAD]", "[UNK]", "[CLS]", "[SEP]")}
    order = [*places.values(), *(number for number, name in enumerate(NAMES) if name not in places)]
    torch.testing.assert_close(ours, logits[1:, order], rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_the_bundle_is_kept(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "bert", {**weights(), "classifier.weight": torch.ones(2, WIDTH)})
    made = import_model("hf", folder, tmp_path / "bundle", None, None)
    read = load_bundle(tmp_path / "bundle")
    assert torch.equal(vectors(read, TEXT[:20]), vectors(made, TEXT[:20]))
    assert "Not taken over: classifier.weight" in read.card
    begins = {read.tokenizers.source.piece(number) for number in read.model.begins.nonzero()[:, 0].tolist()}  # type: ignore
    assert "cat" in begins and "##s" not in begins


@pytest.mark.slow
def test_older_names_and_numbers(tmp_path: Path) -> None:
    plain = bundle_from_hugging_face(write_folder(tmp_path / "bert", weights()))
    old = {
        f"bert.{name}".replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): one
        for name, one in weights().items()
    }
    old["bert.embeddings.position_ids"] = torch.arange(10)[None]
    same = bundle_from_hugging_face(write_folder(tmp_path / "old", old))
    assert torch.equal(vectors(same, "the cat"), vectors(plain, "the cat")) and "Not taken over" not in same.card


def refused(folder: Path) -> OpenworkError:
    with pytest.raises(OpenworkError) as found:
        bundle_from_hugging_face(folder)
    return found.value


def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "bert"
    assert "activation 'quick_gelu'" in refused(write_folder(folder, weights(), hidden_act="quick_gelu")).what
    assert "not divisible by 3 heads" in refused(write_folder(folder, weights(), num_attention_heads=3)).why
    assert (
        "position_embedding_type"
        in refused(write_folder(folder, weights(), position_embedding_type="relative_key")).what
    )
    assert "is_decoder" in refused(write_folder(folder, weights(), is_decoder=True)).what
    assert "do not belong together" in refused(write_folder(folder, weights(), vocab_size=14)).what
    assert "other sizes" in refused(write_folder(folder, weights(), intermediate_size=16)).what
    some = {name: one for name, one in weights().items() if "pooler" not in name}
    assert "pooler.dense.weight" in refused(write_folder(folder, some)).why
    untied = {**weights(fills=True), "cls.predictions.decoder.weight": torch.ones(len(NAMES), WIDTH)}
    assert "a separate matrix" in refused(write_folder(folder, untied)).what
    names = [name if name != "[CLS]" else "dog" for name in NAMES]
    assert "needs [CLS] and [SEP]" in refused(write_folder(folder, weights(), names)).why


def test_a_pickle_is_not_opened_and_other_tokenizers_are_not_taken(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "bert", weights())
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    assert "which is not read" in refused(folder).what
    folder = write_folder(tmp_path / "ours", weights())
    tokenizer = tmp_path / "plain.json"
    bundle_from_hugging_face(folder).tokenizers.source.save(tokenizer)
    (folder / "tokenizer.json").write_text(tokenizer.read_text(encoding="utf-8"), encoding="utf-8")
    assert "belongs to a BERT" in refused(folder).what
    (folder / "config.json").write_text(json.dumps({"model_type": "roberta"}), encoding="utf-8")
    assert "'roberta'" in refused(folder).what


# ------------------------------------------------------------------------------------------ the real weights


@pytest.fixture(scope="module")
def minilm(minilm_folder: Callable[[], Path]) -> Bundle:
    return bundle_from_hugging_face(minilm_folder())


@pytest.mark.slow
def test_the_ids_of_document_001(minilm: Bundle) -> None:
    tokenizer = minilm.tokenizers.source
    assert isinstance(tokenizer, AdaptedTokenizer)
    found = tokenizer.external.encode_framed("Hello, how are you doing?")
    assert found == [101, 7592, 1010, 2129, 2024, 2017, 2725, 1029, 102]
    ours = [2, *tokenizer.encode("Hello, how are you doing?"), 3]
    assert [tokenizer.piece(number) for number in ours[1:-1]] == ["hello", ",", "how", "are", "you", "doing", "?"]


@pytest.mark.slow
def test_sentences_of_one_meaning_are_alike(minilm: Bundle) -> None:
    pairs = [
        ("A man is playing a guitar.", "Someone plays an instrument.", "The stock market fell sharply."),
        ("The cat sits on the mat.", "A kitten is resting on a rug.", "He repaired the engine of the truck."),
        ("How do I reset my password?", "I forgot my login and need a new one.", "The soup needs more salt."),
        ("It is raining heavily in Paris.", "There is a downpour in the French capital.", "She won the chess game."),
    ]
    embedder = TextEmbedder(minilm)
    for one, like, unlike in pairs:
        (found,) = similarity(embedder.embed([one]), embedder.embed([like, unlike])).tolist()
        assert found[0] > 0.35 and found[0] > found[1] + 0.3, (one, found)
