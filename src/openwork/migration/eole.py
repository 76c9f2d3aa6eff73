"""Eole's configurations (YAML), read from its version 0.6; most of its names are OpenNMT-py's, sorted into sections."""

from openwork.base.messages import msg
from openwork.migration.draft import Draft
from openwork.migration.opennmt import OPENNMT
from openwork.migration.options import boolean, text
from openwork.migration.rules import read_toolkit

_SECTIONS = ("training", "model", "inference", "embeddings", "rope_config")
_TOP = (
    "seed report_every valid_metrics log_file log_file_level scoring_debug dump_preds tensorboard "
    "tensorboard_log_dir wer_normalize comet_model comet_batch_size comet_device src_vocab tgt_vocab share_vocab "
    "src_vocab_size tgt_vocab_size vocab_size_multiple src_words_min_frequency tgt_words_min_frequency "
    "decoder_start_token bos_token eos_token unk_token pad_token both_embeddings src_embeddings tgt_embeddings "
    "embeddings_type transforms skip_empty_level n_sample save_data overwrite verbose config trackio "
    "trackio_project trackio_run_name trackio_space_id trackio_bucket_id"
)
_STACKS = {"encoder": "enc_", "decoder": "dec_"}
_RENAMED = {"top_k": "random_sampling_topk", "top_p": "random_sampling_topp", "temperature": "random_sampling_temp"}


def canonical(shown: str) -> str:
    """OpenNMT-py's name for an option of Eole: the sections only sort them, but for those of the two stacks.

    What stands outside of its section is not an option of Eole, and gets a name that no table has.
    """
    parts = shown.lstrip("-").split(".")
    if parts[0] == "data":
        return ".".join(parts)
    if parts[0] == "transforms_configs":
        return parts[-1]
    sections, last = parts[:-1], parts[-1]
    if sections[-1:] and sections[-1] in _STACKS:
        return last if last.endswith("_type") else f"{_STACKS[sections[-1]]}{last}"
    if sections and all(section in _SECTIONS for section in sections):
        return _RENAMED.get(last, last)
    return last if not sections and last in _TOP.split() else f"outside.{'.'.join(parts)}"


def _norm(draft: Draft) -> None:
    """The style of the encoder's layers, which can be post-norm."""
    style = draft.value("enc_encoder_layer_style", text, "standard")
    differs = msg("the encoder is post-norm there; openwork has one norm for both stacks")
    draft.same("enc_encoder_layer_style", "pre-norm", style == "standard", warning=differs)
    draft.same("normalize", "openwork scales embeddings always")
    if draft.value("generator_bias", boolean, True):
        draft.missing("generator_bias", "openwork has no bias before the softmax")


EOLE = read_toolkit("eole", (*OPENNMT.groups, _norm), canonical, base=OPENNMT)
