"""Exports a language model as a folder of GPT-2 or LLaMA that Hugging Face's transformers load.

    AutoModelForCausalLM.from_pretrained(FOLDER).generate(**AutoTokenizer.from_pretrained(FOLDER)(text))

GPT-2 and LLaMA do not scale embeddings: scaled ones are written so, and the output matrix separately.
"""

from pathlib import Path
from typing import Any

from openwork.bundles.bundle import Bundle
from openwork.decoding.settings import DecodingSettings
from openwork.interop.exports import hf_activation, unsupported_decoder
from openwork.interop.hugging_face.decoder import CONFIGS
from openwork.interop.hugging_face.decoder_layout import EMBEDDINGS, LAYOUTS
from openwork.interop.hugging_face.frames import never_written, symbol_ids, write_framed
from openwork.interop.hugging_face.writing import LONGEST, check_supported, write_files
from openwork.interop.vocabulary import Vocabulary
from openwork.models.settings import DecoderSettings
from openwork.nn.positions import LONGEST_WAVE


def write_decoder(folder: Path, bundle: Bundle) -> None:
    """The bundle's files in the folder; ConfigError for a model or a tokenizer that Hugging Face has not."""
    settings = bundle.settings.model
    assert isinstance(settings, DecoderSettings)
    check_supported(unsupported_decoder(settings))
    vocabulary = write_framed(folder, bundle.tokenizers.source, "prompt")
    kind = "gpt2" if settings.positions == "learned" else "llama"
    layout, scale = LAYOUTS[kind], 1.0
    if settings.embedding_scale:  # then embeddings and output matrix differ
        settings, scale = settings.model_copy(update={"tying": "embeddings"}), settings.width**0.5
    own = {name: one.detach().cpu().float() for name, one in bundle.model.named_parameters(remove_duplicate=False)}
    own.setdefault("output", own[EMBEDDINGS])
    own[EMBEDDINGS] = own[EMBEDDINGS] * scale
    weights = {}
    for place in layout.places(settings):
        tensor = layout.to_hugging_face(place.openwork_name, own, settings)
        weights[place.hf_names[0]] = (vocabulary.scatter(tensor) if place.pieces else tensor).contiguous()
    config = {
        "architectures": [layout.class_name],
        "model_type": kind,
        **CONFIGS[kind].keys_of(settings),
        str(CONFIGS[kind].model_fields["activation"].alias): hf_activation(settings.feedforward, layout.activations),
        **(_gpt2_config if kind == "gpt2" else _llama_config)(settings),
        "vocab_size": vocabulary.external_size,
        "tie_word_embeddings": settings.tying == "three-way",
        **symbol_ids(vocabulary),
    }
    write_files(folder, config, _generation(bundle.settings.decoding, vocabulary), weights)


def _gpt2_config(s: DecoderSettings) -> dict[str, Any]:
    return {"n_positions": s.table_size, "embd_pdrop": s.dropout}


def _llama_config(s: DecoderSettings) -> dict[str, Any]:
    base = s.rotary_base or LONGEST_WAVE
    return {
        "num_key_value_heads": s.key_value_count,
        "head_dim": s.key_width,
        "rope_theta": base,  # the old place of the base, and the new one
        "rope_parameters": {"rope_type": "default", "rope_theta": base},
        "max_position_embeddings": LONGEST,
    }


def _generation(decoding: DecodingSettings, vocabulary: Vocabulary) -> dict[str, Any]:
    """The search, or the sampling, of the bundle."""
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
