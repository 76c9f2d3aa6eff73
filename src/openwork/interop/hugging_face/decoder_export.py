"""Writing one of our language models as a folder of GPT-2 or LLaMA that Hugging Face's transformers load.

    AutoModelForCausalLM.from_pretrained(FOLDER).generate(**AutoTokenizer.from_pretrained(FOLDER)(text))

Theirs do not scale embeddings: where ours are scaled, they are written so, and the output matrix by itself.
"""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from openwork.bundles.bundle import Bundle
from openwork.decoding.settings import DecodingSettings
from openwork.interop.activations import GPT2_ACTIVATIONS, LLAMA_ACTIVATIONS, their_name
from openwork.interop.exports_alone import decoder_closed
from openwork.interop.hugging_face.decoder import DECODERS
from openwork.interop.hugging_face.frames import never_written, symbol_ids, write_framed
from openwork.interop.hugging_face.writing import LONGEST, refuse, write_files
from openwork.interop.vocabulary import Vocabulary
from openwork.models.decoder_settings import DecoderSettings
from openwork.nn.positions import LONGEST_WAVE


def write_decoder(folder: Path, bundle: Bundle) -> None:
    """The bundle's files in the folder; ConfigError for a model or a tokenizer that they have not."""
    settings = bundle.settings.model
    assert isinstance(settings, DecoderSettings)
    refuse(decoder_closed(settings))
    vocabulary = write_framed(folder, bundle.tokenizers.source, "prompt")
    kind = "gpt2" if settings.positions == "learned" else "llama"
    if settings.embedding_scale:
        settings = settings.model_copy(update={"tying": "embeddings"})  # what is read and what is told differ then
    own = {name: one.detach().cpu().float() for name, one in bundle.model.named_parameters(remove_duplicate=False)}
    config = {
        **(_gpt2_config if kind == "gpt2" else _llama_config)(settings),
        "vocab_size": vocabulary.size_there,
        "tie_word_embeddings": settings.tying == "three-way",
        **symbol_ids(vocabulary),
    }
    weights = _their_weights(kind, settings, _with_tables(own, settings, vocabulary))
    write_files(folder, config, _generation(bundle.settings.decoding, vocabulary), weights)


def _with_tables(own: dict[str, Tensor], settings: DecoderSettings, vocabulary: Vocabulary) -> dict[str, Tensor]:
    """Our weights, those that have a row for each piece under their ids."""
    table = own["embedding.table.weight"]
    scale = settings.width**0.5 if settings.embedding_scale else 1.0
    return {**own, "table": vocabulary.spread(table * scale), "output": vocabulary.spread(own.get("output", table))}


def _their_weights(kind: str, settings: DecoderSettings, own: dict[str, Tensor]) -> dict[str, Tensor]:
    arranged = _gpt2_arranged if kind == "gpt2" else _llama_arranged
    prefix = "transformer." if kind == "gpt2" else ""
    return {
        theirs if theirs.startswith("lm_head") else prefix + theirs: arranged(ours, own, settings).contiguous()
        for ours, theirs in DECODERS[kind].places(settings)
    }


def _gpt2_arranged(name: str, own: dict[str, Tensor], settings: DecoderSettings) -> Tensor:
    """Matrices with their input first, the three projections side by side, zeros for biases that we have not."""
    if ".self_attention.all." in name:
        parts = (name.replace(".all.", f".{part}.") for part in ("query", "key", "value"))
        return torch.cat([_gpt2_arranged(part, own, settings) for part in parts], dim=-1)
    if name not in own:
        return torch.zeros(own[name.removesuffix("bias") + "weight"].shape[0])
    is_matrix = own[name].ndim == 2 and name.startswith("stack.")
    return own[name].t() if is_matrix else own[name]


def _llama_arranged(name: str, own: dict[str, Tensor], settings: DecoderSettings) -> Tensor:
    """What turns together stands half a head apart."""
    tensor = own[name]
    if ".query." not in name and ".key." not in name:
        return tensor
    return tensor.unflatten(0, (-1, settings.key_width // 2, 2)).transpose(1, 2).flatten(0, 2)


def _gpt2_config(s: DecoderSettings) -> dict[str, Any]:
    return {
        "architectures": ["GPT2LMHeadModel"],
        "model_type": "gpt2",
        "n_embd": s.width,
        "n_layer": s.layers,
        "n_head": s.heads,
        "n_inner": s.feedforward_width,
        "n_positions": s.table_size,
        "activation_function": their_name(s.feedforward, GPT2_ACTIVATIONS),
        "layer_norm_epsilon": s.norm_epsilon,
        "resid_pdrop": s.dropout,
        "embd_pdrop": s.dropout,
        "attn_pdrop": s.attention_dropout,
    }


def _llama_config(s: DecoderSettings) -> dict[str, Any]:
    base = s.rotary_base or LONGEST_WAVE
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": s.width,
        "intermediate_size": s.feedforward_width,
        "num_hidden_layers": s.layers,
        "num_attention_heads": s.heads,
        "num_key_value_heads": s.key_value_count,
        "head_dim": s.key_width,
        "hidden_act": their_name(s.feedforward, LLAMA_ACTIVATIONS),
        "rms_norm_eps": s.norm_epsilon,
        "rope_theta": base,  # where they kept it, and where they keep it now
        "rope_parameters": {"rope_type": "default", "rope_theta": base},
        "max_position_embeddings": LONGEST,
        "attention_bias": s.attention_bias,
        "attention_dropout": s.attention_dropout,
    }


def _generation(decoding: DecodingSettings, vocabulary: Vocabulary) -> dict[str, Any]:
    """Their search or their drawing, as the bundle's."""
    drawn = {"do_sample": True, "temperature": decoding.temperature, "top_k": decoding.top_k, "top_p": decoding.top_p}
    found = {"num_beams": decoding.beam, "length_penalty": decoding.length_penalty}
    return {
        **symbol_ids(vocabulary),
        **(drawn if decoding.samples else found),
        "max_new_tokens": decoding.maximum_length,
        "suppress_tokens": never_written(vocabulary),
        "renormalize_logits": True,
        "no_repeat_ngram_size": decoding.no_repeat,
    }
