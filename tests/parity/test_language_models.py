"""GPT-2 and LLaMA of Hugging Face's transformers, read as our language models: the same logits and continuations."""

from pathlib import Path
from typing import Any

import pytest
import torch

pytest.importorskip("transformers", reason="the extra parity is not installed: make parity")

from tokenizers import Tokenizer as LibraryTokenizer
from tokenizers import decoders, models, pre_tokenizers, trainers
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from interop.conversions import to_external, to_own
from openwork.decoding.search import decode
from openwork.decoding.settings import DecodingSettings
from openwork.inference.completer import Completer
from openwork.inference.translator import BatchTranslator
from openwork.interop.forms import bundle_from_hugging_face
from openwork.interop.hugging_face.decoder import read_decoder

pytestmark = pytest.mark.slow  # what is held against needs seconds to load

TOLERANCE = 1e-4
PIECES = 60
GPT2: dict[str, Any] = {
    "vocab_size": PIECES, "n_embd": 24, "n_layer": 3, "n_head": 3, "n_positions": 48, "bos_token_id": 59,
    "eos_token_id": 59,
}  # fmt: skip
LLAMA: dict[str, Any] = {
    "vocab_size": PIECES, "hidden_size": 24, "intermediate_size": 40, "num_hidden_layers": 3, "num_attention_heads": 6,
    "bos_token_id": 1, "eos_token_id": 2, "max_position_embeddings": 48,
}  # fmt: skip
KINDS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "gpt2": (GPT2Config, GPT2LMHeadModel, GPT2),
    "gpt2, free": (
        GPT2Config, GPT2LMHeadModel,
        GPT2 | {"n_inner": 30, "activation_function": "relu", "tie_word_embeddings": False, "layer_norm_epsilon": 1e-3},
    ),
    "gpt2, symbols apart": (GPT2Config, GPT2LMHeadModel, GPT2 | {"bos_token_id": 3, "pad_token_id": 7}),
    "llama": (LlamaConfig, LlamaForCausalLM, LLAMA),
    "llama, grouped": (
        LlamaConfig, LlamaForCausalLM,
        LLAMA | {"num_key_value_heads": 2, "head_dim": 10, "rope_theta": 500.0, "rms_norm_eps": 1e-5},
    ),
    "llama, tied, biases": (
        LlamaConfig, LlamaForCausalLM,
        LLAMA | {"num_key_value_heads": 1, "tie_word_embeddings": True, "attention_bias": True, "eos_token_id": [2, 9]},
    ),
}  # fmt: skip


def make(name: str, **changes: Any) -> Any:
    """In evaluation mode, every number unlike what it begins as."""
    config_class, model_class, values = KINDS[name]
    torch.manual_seed(1)
    values = values | changes
    if "rope_theta" in values:
        values = values | {"rope_parameters": {"rope_type": "default", "rope_theta": values["rope_theta"]}}
    model = model_class(config_class(**values)).eval()
    generator = torch.Generator().manual_seed(2)
    for tensor in model.parameters():
        tensor.data = tensor.data + torch.randn(tensor.shape, generator=generator) * 0.25
    model.tie_weights()
    return model


@pytest.mark.parametrize("name", KINDS)
def test_the_logits_are_theirs(name: str, tmp_path: Path) -> None:
    theirs = make(name)
    theirs.save_pretrained(tmp_path)
    read = read_decoder(tmp_path)
    vocabulary, start = read.target, theirs.config.bos_token_id
    texts = [[5, 17, 40, 8, 33, 21], [11], [4, 50, 51, 6]]
    known = [(ours, number) for ours, number in enumerate(vocabulary.external) if number is not None]
    ours, numbers = (list(column) for column in zip(*known, strict=True))
    for text in texts:  # the whole as a target
        expected = theirs(torch.tensor([[start, *text]])).logits.detach()[0]
        tokens = torch.tensor([[2, *to_own(vocabulary, text)]])
        found = read.model.step(tokens, read.model.start(torch.tensor([[3]]), torch.tensor([1])))[0][0]
        torch.testing.assert_close(found.detach()[:, ours], expected[:, numbers], rtol=TOLERANCE, atol=TOLERANCE)
    # prompts of several lengths in one batch: what stands behind each is predicted
    longest = max(map(len, texts)) + 1
    rows = [[*to_own(vocabulary, text), 3] for text in texts]
    source = torch.tensor([[*row, *[0] * (longest - len(row))] for row in rows])
    state = read.model.start(source, torch.tensor([len(row) for row in rows]))
    logits = read.model.step(torch.full((3, 1), 2), state)[0][:, 0].detach()
    for row, text in enumerate(texts):
        expected = theirs(torch.tensor([[start, *text]])).logits.detach()[0, -1]
        torch.testing.assert_close(logits[row, ours], expected[numbers], rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize("name", ["gpt2", "llama, grouped"])
def test_the_continuations_are_theirs(name: str, tmp_path: Path) -> None:
    theirs = make(name)
    theirs.save_pretrained(tmp_path)
    read = read_decoder(tmp_path)
    for text in ([5, 17, 40], [11]):
        given = torch.tensor([[theirs.config.bos_token_id, *text]])
        never = [[number] for number in {theirs.config.bos_token_id} - {theirs.config.eos_token_id}]
        expected = theirs.generate(
            given, max_new_tokens=12, do_sample=False, bad_words_ids=never or None, pad_token_id=0
        )[0, given.shape[1] :].tolist()
        source = torch.tensor([[*to_own(read.target, text), 3]])
        settings = DecodingSettings(beam=1, maximum_length=12, extra_length=12)
        ((found,),) = decode(read.model, source, torch.tensor([source.shape[1]]), settings)
        end = theirs.config.eos_token_id
        kept = expected[: expected.index(end)] if end in expected else expected
        assert to_external(read.target, found.tokens) == kept


def folder_with_tokenizer(place: Path) -> tuple[Any, PreTrainedTokenizerFast]:
    """A GPT-2 with a byte-level tokenizer of its own, in the two files that GPT-2 has."""
    library = LibraryTokenizer(models.BPE())
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    library.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=320, special_tokens=["<|endoftext|>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    library.train_from_iterator(["the cat sat on the mat", "a cat and a dog sat there"] * 20, trainer)
    end = library.token_to_id("<|endoftext|>")
    size = library.get_vocab_size()
    theirs = make("gpt2", vocab_size=size + 5, bos_token_id=end, eos_token_id=end)
    theirs.save_pretrained(place)
    library.model.save(str(place))
    return theirs, PreTrainedTokenizerFast(tokenizer_object=library, eos_token="<|endoftext|>")


def test_a_folder_with_its_tokenizer_becomes_a_bundle_that_says_the_same(tmp_path: Path) -> None:
    theirs, tokenizer = folder_with_tokenizer(tmp_path)
    bundle = bundle_from_hugging_face(tmp_path)
    settings = bundle.settings.decoding.model_copy(update={"maximum_length": 8, "extra_length": 8})
    completer = Completer(BatchTranslator.of(bundle, settings))
    size = len(tokenizer)
    for prompt in ("the cat", "a", "ça va? 猫"):
        given = torch.tensor([[theirs.config.bos_token_id, *tokenizer.encode(prompt)]])
        beyond = [[number] for number in range(size, size + 5)]
        found = theirs.generate(given, max_new_tokens=8, do_sample=False, bad_words_ids=beyond, pad_token_id=0)
        whole = tokenizer.decode(found[0, 1:], skip_special_tokens=True)
        expected = " ".join(whole.removeprefix(prompt).splitlines())
        ((ours,),) = completer.complete([prompt])
        assert ours.text == expected
