"""Whisper in CTranslate2's form: a random model written and read, damage, and the real tiny.en, word for word."""

import json
import random
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import AddedToken, decoders, models, pre_tokenizers
from tokenizers import Tokenizer as LibraryTokenizer

from openwork.base.errors import BundleError, OpenworkError
from openwork.bundles.bundle import load_bundle, write_bundle
from openwork.inference.transcriber import SoundTranscriber
from openwork.interop.ctranslate2.binary import Contents, read_binary, write_binary
from openwork.interop.ctranslate2.layout import places
from openwork.interop.forms import FORMS
from openwork.interop.vocabulary import Vocabulary
from openwork.models.build import build_model
from openwork.models.families import model_settings
from openwork.models.presets import PRESETS
from openwork.models.settings import SpeechSettings
from openwork.models.stem import StemTransformer
from openwork.nn.positions import split_sinusoids
from openwork.signals.sounds import read_sound

SECONDS, MELS = 1, 12
LETTERS = sorted(pre_tokenizers.ByteLevel.alphabet())
SYMBOLS = ["<|endoftext|>", "<|startoftranscript|>", "<|en|>", "<|translate|>", "<|transcribe|>", "<|notimestamps|>"]
NAMES = [*LETTERS, *SYMBOLS, *(f"<|{number * 0.02:.2f}|>" for number in range(50 * SECONDS + 1))]
VALUES = {
    **PRESETS["whisper-small"], "width": 8, "heads": 2, "feedforward_width": 10, "encoder_layers": 2,
    "decoder_layers": 1, "maximum_length": 30, "norm_epsilon": 1e-5, "tying": "target",
}  # fmt: skip


def random_model() -> StemTransformer:
    torch.manual_seed(3)
    model = build_model(model_settings(VALUES), MELS, len(NAMES) + 2)
    assert isinstance(model, StemTransformer)
    for weight in model.parameters():
        weight.data += 0.1 * torch.randn(weight.shape)
    return model.eval()


def arrays(model: StemTransformer) -> dict[str, np.ndarray]:
    """The weights by CTranslate2's names: joined along the rows as in its layout."""
    settings = model_settings(VALUES)
    assert isinstance(settings, SpeechSettings)
    own = dict(model.named_parameters(remove_duplicate=False))
    vocabulary = Vocabulary((None, None, NAMES.index(SYMBOLS[1]), NAMES.index(SYMBOLS[0]), *others()))
    found = {
        name: torch.cat([own[part] for part in parts]) for name, parts in places(settings).items()
    } | {
        f"encoder/conv{number}/{kind}": own[f"source_embedding.{name}.{kind}"]
        for number, name in ((1, "first"), (2, "second"))
        for kind in ("weight", "bias")
    }  # fmt: skip
    found["decoder/embeddings/weight"] = vocabulary.scatter(own["target_embedding.table.weight"])
    found["decoder/position_encodings/encodings"] = own["target_positions.table.weight"]
    found["encoder/position_encodings/encodings"] = split_sinusoids(50 * SECONDS, 8)
    numbers = {"encoder/num_heads": 2, "decoder/num_heads": 2, "decoder/activation": 3, "decoder/pre_norm": 1,
               "decoder/scale_embeddings": 0, "decoder/alignment_layer": -1}  # fmt: skip
    return {name: tensor.detach().numpy() for name, tensor in found.items()} | {
        name: np.array(number, np.int8) for name, number in numbers.items()
    }


def others() -> list[int]:
    return [number for number, name in enumerate(NAMES) if name not in SYMBOLS[:2]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "whisper"
    path.mkdir()
    contents = Contents(
        "WhisperSpec", 3, arrays(random_model()), {"decoder/projection/weight": "decoder/embeddings/weight"}
    )
    write_binary(path / "model.bin", contents)
    (path / "vocabulary.txt").write_text("\n".join(NAMES) + "\n", encoding="utf-8")
    config = {
        "lang_ids": [NAMES.index("<|en|>")],
        "suppress_ids": [5, NAMES.index(SYMBOLS[1]), -1],
        "suppress_ids_begin": [6],
    }
    (path / "config.json").write_text(json.dumps(config))
    library = LibraryTokenizer(models.BPE({name: number for number, name in enumerate(LETTERS)}, []))
    library.pre_tokenizer, library.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    library.add_special_tokens([AddedToken(name, special=True) for name in SYMBOLS])
    library.save(str(path / "tokenizer.json"))
    return path


def test_a_random_model_comes_back(folder: Path, tmp_path: Path) -> None:
    bundle = FORMS["ct2"].read(folder, None)
    write_bundle(tmp_path / "bundle", bundle)
    bundle, before = load_bundle(tmp_path / "bundle"), random_model()
    assert bundle.settings.sound is not None and (bundle.settings.sound.mels, bundle.settings.sound.seconds) == (
        MELS,
        1,
    )
    for name, weight in before.named_parameters():
        found = bundle.model.get_parameter(name)
        if name in ("output", "target_embedding.table.weight"):  # pad and unknown are no tokens there
            found, weight = found[2:], weight[2:]
        assert torch.equal(found, weight), name
    transcript = bundle.settings.transcript
    assert transcript is not None and transcript.languages == {} and transcript.tasks == {}  # of one language
    piece = bundle.tokenizers.target.piece
    assert piece(transcript.timestamps or 0) == "<|0.00|>" and piece(transcript.no_timestamps or 0) == SYMBOLS[-1]
    assert [piece(number) for number in transcript.suppressed] == [LETTERS[5]]  # the start symbol never comes anyway
    assert [piece(number) for number in transcript.suppressed_first] == [LETTERS[6]]
    noise = np.random.default_rng(1).standard_normal(30_000).astype(np.float32)
    ((found,),) = SoundTranscriber(bundle, bundle.settings.decoding).transcribe([noise])
    assert all(0 <= one.start < one.end <= 30_000 / 16_000 for one in found.segments)


def changed(folder: Path, **changes: Any) -> None:
    """model.bin with other arrays; None takes one away."""
    contents = read_binary(folder / "model.bin")
    new = {name.replace("__", "/"): value for name, value in changes.items()}
    kept = {name: value for name, value in {**contents.variables, **new}.items() if value is not None}
    write_binary(folder / "model.bin", Contents(contents.specification, 3, kept, contents.aliases))


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"encoder__conv1__weight": None}, "B009"),
        ({"encoder__conv1__bias": np.zeros(3, np.float32)}, "B009"),
        ({"encoder__conv1__weight": np.zeros((8, 12), np.float32)}, "B009"),
        ({"decoder__layer_0__attention__linear_1__weight": np.zeros((9, 8), np.float32)}, "B009"),
        ({"decoder__num_heads": np.array(3, np.int8)}, "B010"),
        ({"decoder__activation": np.array(0, np.int8)}, "B010"),
        ({"decoder__further": np.ones(2, np.float32)}, "B010"),
        ({"encoder__position_encodings__encodings": np.ones((50, 8), np.float32)}, "B010"),
        ({"encoder__position_encodings__encodings": split_sinusoids(40, 8).numpy()}, "B010"),
        ({"encoder__position_encodings__encodings": np.ones((0, 8), np.float32)}, "B009"),
        ({"encoder__conv1__weight": np.zeros((8, 300, 3), np.float32)}, "B009"),
        ({"decoder__embeddings__weight": np.ones((9, 8), np.float32)}, "B018"),
        ({"encoder__num_heads": np.array(3, np.int8), "decoder__num_heads": np.array(3, np.int8)}, "B009"),
    ],
)
def test_what_does_not_fit_is_refused(changes: dict[str, Any], code: str, folder: Path) -> None:
    changed(folder, **changes)
    with pytest.raises(BundleError) as refused:
        FORMS["ct2"].read(folder, None)
    assert refused.value.code == code and str(folder) in refused.value.what and refused.value.hint


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("vocabulary.txt", "\n".join(NAMES[:-1]), "B018"),
        ("vocabulary.txt", "\n".join([*NAMES[1:], NAMES[0]]), "B018"),
        ("vocabulary.txt", "\n".join(LETTERS), "B018"),
        ("vocabulary.txt", "\n".join(NAMES) + "\n" * 100_000, "B018"),
        ("vocabulary.txt", None, "B013"),
        ("config.json", '{"suppress_ids": "1"}', "B014"),
        ("config.json", "[]", "B014"),
        ("tokenizer.json", "{}", "D"),
        ("tokenizer.json", None, "D"),
    ],
)
def test_files_that_are_damaged_are_refused(name: str, content: str | None, code: str, folder: Path) -> None:
    (folder / name).unlink() if content is None else (folder / name).write_text(content, encoding="utf-8")
    with pytest.raises(OpenworkError) as refused:
        FORMS["ct2"].read(folder, None)
    assert refused.value.code is not None and refused.value.code.startswith(code) and refused.value.hint


def test_wrong_bytes_are_read_or_refused_and_nothing_else(folder: Path) -> None:
    draw, whole, refused = random.Random(7), (folder / "model.bin").read_bytes(), 0
    names = [found.start() for found in re.finditer(rb"(en|de)coder/", whole)]
    for _ in range(60):
        damaged = bytearray(whole)
        for place in draw.sample(names, 2):  # where names, shapes and types stand, more than in the numbers
            damaged[place + draw.randrange(50)] = draw.choice((0, 1, 255, draw.randrange(256)))
        (folder / "model.bin").write_bytes(damaged)
        try:
            FORMS["ct2"].read(folder, None)
        except BundleError:
            refused += 1
    assert refused > 30


# ------------------------------------------------------------------------------------------------ the real one

SPOKEN = "And so, my fellow Americans, ask not what your country can do for you, ask what you can do for your country."


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


@pytest.mark.slow
def test_the_real_model_writes_the_clip_word_for_word(
    whisper_folder: Callable[[], Path], openwork_data: Callable[[str], Path], tmp_path: Path
) -> None:
    clip = openwork_data("speech") / "jfk.flac"
    pytest.importorskip("soundfile", reason="needs the extra audio")
    write_bundle(tmp_path / "tiny.en", FORMS["ct2"].read(whisper_folder(), None))
    bundle = load_bundle(tmp_path / "tiny.en")
    for beam in (1, 5):
        decoding = bundle.settings.decoding.model_copy(update={"beam": beam})
        for timestamps in (False, True):
            ((found,),) = SoundTranscriber(bundle, decoding, timestamps=timestamps).transcribe([str(clip)])
            assert words(found.text) == words(SPOKEN) and found.finished
            if timestamps:
                assert [(one.start, one.end) for one in found.segments] == [(0.0, 8.0), (8.0, 11.0)]
                assert words(found.segments[1].text) == words("ask what you can do for your country")


@pytest.mark.slow
def test_the_real_model_writes_three_clips_in_a_row(
    whisper_folder: Callable[[], Path], openwork_data: Callable[[str], Path]
) -> None:
    """Thirty-six seconds, so two windows: each clip of 11 s and a second of silence has its text at its place."""
    clip = openwork_data("speech") / "jfk.flac"
    pytest.importorskip("soundfile", reason="needs the extra audio")
    bundle = FORMS["ct2"].read(whisper_folder(), None)
    assert bundle.settings.sound is not None
    once = np.concatenate([read_sound(str(clip), bundle.settings.sound), np.zeros(16_000, np.float32)])
    decoding = bundle.settings.decoding.model_copy(update={"beam": 1})
    ((found,),) = SoundTranscriber(bundle, decoding).transcribe([np.tile(once, 3)])
    assert words(found.text) == words(SPOKEN) * 3
    starts = [one.start for one in found.segments if one.text.startswith("And so")]
    assert starts == pytest.approx([0, 12, 24], abs=0.3)
    assert all(one.end <= other.start + 1e-6 for one, other in pairwise(found.segments))
