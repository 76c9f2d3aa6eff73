"""Multilingual Whispers of Hugging Face beside ours: languages, tasks, timestamps, suppressed tokens, long sounds."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

pytest.importorskip("transformers", reason="the extra parity is not installed: make parity")
from tokenizers import AddedToken, decoders, models, pre_tokenizers
from tokenizers import Tokenizer as LibraryTokenizer
from transformers import GenerationConfig, WhisperForConditionalGeneration
from transformers import WhisperConfig as TheirConfig
from transformers.models.whisper.generation_whisper import WhisperGenerationMixin

from openwork.bundles.bundle import Bundle, load_bundle, write_bundle
from openwork.inference.requests import opening_of
from openwork.inference.transcriber import SoundTranscriber, parts_of
from openwork.inference.translator import BatchTranslator
from openwork.interop.forms import bundle_from_hugging_face, write_hugging_face_folder

pytestmark = pytest.mark.slow  # what is held against needs seconds to load

SECONDS, LETTERS = 2, sorted(pre_tokenizers.ByteLevel.alphabet())[:30]
SYMBOLS = ["<|endoftext|>", "<|startoftranscript|>", "<|en|>", "<|de|>", "<|fr|>", "<|translate|>", "<|transcribe|>",
           "<|startofprev|>", "<|notimestamps|>"]  # fmt: skip
TIMES = [f"<|{number * 0.02:.2f}|>" for number in range(50 * SECONDS + 1)]
IDS = {name: number for number, name in enumerate([*LETTERS, *SYMBOLS, *TIMES])}
SOUNDS = [np.random.default_rng(seed).standard_normal(32_000 - 9_000 * seed).astype(np.float32) for seed in range(3)]
GENERATION: dict[str, Any] = {
    "is_multilingual": True, "lang_to_id": {name: IDS[name] for name in SYMBOLS[2:5]},
    "task_to_id": {name: IDS[f"<|{name}|>"] for name in ("transcribe", "translate")},
    "no_timestamps_token_id": IDS["<|notimestamps|>"], "suppress_tokens": [3, 7, *(IDS[name] for name in SYMBOLS[1:8])],
    "begin_suppress_tokens": [4, IDS["<|endoftext|>"]], "max_initial_timestamp_index": 20, "renormalize_logits": True,
    "decoder_start_token_id": IDS["<|startoftranscript|>"], "eos_token_id": IDS["<|endoftext|>"],
    "pad_token_id": IDS["<|endoftext|>"], "bos_token_id": IDS["<|endoftext|>"], "max_length": 40,
}  # fmt: skip


def make(folder: Path, seed: int = 1, **changes: Any) -> Any:
    """A random model in evaluation mode with its tokenizer, written as Hugging Face writes it."""
    torch.manual_seed(seed)
    config = TheirConfig(
        d_model=24, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
        encoder_ffn_dim=32, decoder_ffn_dim=32, max_source_positions=50 * SECONDS, max_target_positions=60,
        vocab_size=len(IDS), num_mel_bins=20, suppress_tokens=None, begin_suppress_tokens=None,
        **{name: GENERATION[name] for name in GENERATION if name.endswith("token_id") and "times" not in name},
    )  # fmt: skip
    model = WhisperForConditionalGeneration(config).eval()
    for name, tensor in model.named_parameters():
        if "encoder.embed_positions" not in name:
            tensor.data = torch.randn(tensor.shape) * 0.4 + (1.0 if "norm" in name and name.endswith("weight") else 0.0)
    model.model.decoder.embed_tokens.weight.data[IDS["<|endoftext|>"]] *= 3.0  # so that some texts end
    model.tie_weights()
    generation = {name: value for name, value in (GENERATION | changes).items() if value is not None}
    model.generation_config = GenerationConfig(**generation)
    model.save_pretrained(folder)
    library = LibraryTokenizer(models.BPE({letter: IDS[letter] for letter in LETTERS}, []))
    library.pre_tokenizer, library.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    library.add_special_tokens(
        [AddedToken(name, special=True) for name in SYMBOLS]
    )  # timestamps as in older files: none
    library.save(str(folder / "tokenizer.json"))
    return model


def ours(bundle: Bundle, language: str, task: str, *, timestamps: bool) -> list[tuple[list[int], float]]:
    """Hugging Face's ids of each sound with its symbols, and the log-probability of what follows these."""
    decoding = bundle.settings.decoding.model_copy(update={"beam": 1, "maximum_length": 30, "extra_length": 300})
    request = opening_of(bundle.settings.transcript, language, task, timestamps=timestamps)
    external = bundle.tokenizers.target.theirs  # type: ignore[attr-defined]
    found = BatchTranslator.of(bundle, decoding).translate(SOUNDS, [request] * len(SOUNDS))
    return [([external[piece] for piece in one.pieces], one.log_probability) for (one,) in found]


def encoded(bundle: Bundle) -> list[Any]:
    return [numbers for numbers, _ in bundle.tokenizers.encode_sources(SOUNDS)]


def theirs(model: Any, bundle: Bundle, symbols: list[str], **options: Any) -> list[tuple[list[int], float]]:
    """The same of Hugging Face's search, without the end symbol."""
    found = []
    for sound in encoded(bundle):
        made = model.generate(
            torch.from_numpy(sound).T[None], num_beams=1, max_new_tokens=30 - len(symbols), output_scores=True,
            return_dict_in_generate=True, force_unique_generate_call=True, **options,
        )  # fmt: skip
        ids = made.sequences[0, 1:].tolist()
        rows = zip(made.scores, ids[len(symbols) :], strict=False)
        total = sum(float(scores[0].log_softmax(-1)[number]) for scores, number in rows)
        found.append(([number for number in ids if number != IDS["<|endoftext|>"]], total))
    return found


@pytest.mark.parametrize("timestamps", [False, True])
@pytest.mark.parametrize(("language", "task"), [("de", "transcribe"), ("fr", "translate")])
def test_symbols_search_and_probabilities(language: str, task: str, timestamps: bool, tmp_path: Path) -> None:
    symbols = [f"<|{language}|>", f"<|{task}|>", *([] if timestamps else ["<|notimestamps|>"])]
    lengths = set()
    for seed in range(4):
        model = make(tmp_path / str(seed), seed)
        bundle = bundle_from_hugging_face(tmp_path / str(seed))
        expected = theirs(model, bundle, symbols, language=language, task=task, return_timestamps=timestamps)
        for (ids, total), (found, log_probability) in zip(
            expected, ours(bundle, language, task, timestamps=timestamps), strict=True
        ):
            assert found == ids and [list(IDS)[number] for number in ids[: len(symbols)]] == symbols
            torch.testing.assert_close(torch.tensor(log_probability), torch.tensor(total), rtol=0, atol=1e-4)
            lengths.add(len(ids))
    assert len(lengths) > 1  # some end before the limit


def test_the_language_is_detected_alike(tmp_path: Path) -> None:
    found = set()
    for seed in range(4):
        model = make(tmp_path / str(seed), seed)
        bundle = bundle_from_hugging_face(tmp_path / str(seed))
        numbers = np.stack(encoded(bundle))
        ids = model.detect_language(torch.from_numpy(numbers).transpose(1, 2)).tolist()
        transcripts = SoundTranscriber(bundle, bundle.settings.decoding).transcribe(SOUNDS)
        names = [one.language for (one,) in transcripts]
        assert names == [list(IDS)[number].strip("<|>") for number in ids]
        found |= set(names)
    assert len(found) > 1


@pytest.mark.parametrize(
    ("changes", "symbols"),
    [
        ({"forced_decoder_ids": [[1, IDS["<|fr|>"]], [2, IDS["<|translate|>"]]]}, ["<|fr|>", "<|translate|>"]),
        ({"forced_decoder_ids": [[1, IDS["<|de|>"]]], "lang_to_id": None, "task_to_id": None}, ["<|de|>"]),
        ({"language": "<|de|>", "task": "translate"}, ["<|de|>", "<|translate|>"]),
        ({"lang_to_id": None, "task_to_id": None, "is_multilingual": False}, []),
    ],
)
def test_symbols_that_the_settings_name(changes: dict[str, Any], symbols: list[str], tmp_path: Path) -> None:
    """With forced ids, of older folders, and with keys of their own: what both begin with, where nothing is asked."""
    model = make(tmp_path, **changes)
    bundle = bundle_from_hugging_face(tmp_path)
    (ids, _), *_ = theirs(model, bundle, [*symbols, "<|notimestamps|>"], return_timestamps=False)
    request = opening_of(bundle.settings.transcript)
    external = bundle.tokenizers.target.theirs  # type: ignore[attr-defined]
    assert [list(IDS)[external[number]] for number in request.symbols] == [*symbols, "<|notimestamps|>"]
    assert [external[number] for number in request.symbols] == ids[: len(symbols) + 1]


def test_what_is_written_again_has_the_same_symbols(tmp_path: Path) -> None:
    model = make(tmp_path / "theirs")
    bundle = bundle_from_hugging_face(tmp_path / "theirs")
    write_bundle(tmp_path / "bundle", bundle)
    write_hugging_face_folder(tmp_path / "written", load_bundle(tmp_path / "bundle"))
    again = bundle_from_hugging_face(tmp_path / "written")
    assert (
        again.settings.transcript == bundle.settings.transcript == load_bundle(tmp_path / "bundle").settings.transcript
    )
    written = WhisperForConditionalGeneration.from_pretrained(tmp_path / "written").eval()
    options: dict[str, Any] = {"language": "fr", "return_timestamps": True}
    symbols = ["<|fr|>", "<|transcribe|>"]
    expected = theirs(model, bundle, symbols, **options)
    for (ids, total), (found, other) in zip(expected, theirs(written, bundle, symbols, **options), strict=True):
        assert ids == found and total == pytest.approx(other, abs=1e-4)


FIRST = 5  # the id of the time 0
PIECES = st.lists(st.integers(0, FIRST - 1) | st.integers(FIRST, FIRST + 100), min_size=1, max_size=12)


@given(PIECES)
@example([FIRST + 1, 0, FIRST])
@example([FIRST, 0, FIRST + 50, FIRST + 50, 1])
@example([FIRST, 0, FIRST + 50, FIRST + 50, 1, FIRST + 70])
def test_segments_and_the_next_window_are_theirs(pieces: list[int]) -> None:
    """Whatever a model writes; but for a window that is not moved at all, which would never end."""
    segments, frames = WhisperGenerationMixin._retrieve_segment(
        torch.tensor(pieces), [{}], [0.0], FIRST, [200], 0.02, 0.01, 2, 0, 0, False, torch.zeros(1, 0)
    )
    parts, taken = parts_of(pieces, FIRST, 2.0)
    assert taken == pytest.approx(int(frames) / 100 or 2.0)
    assert len(parts) == len(segments)
    for part, segment in zip(parts, segments, strict=True):
        assert part.end == pytest.approx(float(segment["end"]))
        assert part.start == pytest.approx(max(float(segment["start"]), 0.0))  # theirs is negative before a time
        assert list(part.pieces) == [piece for piece in segment["tokens"].tolist() if piece < FIRST]
