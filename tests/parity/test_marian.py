"""Marian's own scores and translations with models that it has trained, and ours with the bundles made of them.

Its search divides by the probability of all words; ours leaves out the unknown one, which neither writes.
"""

import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from openwork.base.symbols import SYMBOL_IDS
from openwork.bundles.bundle import Bundle, load_bundle
from openwork.inference.translator import BatchTranslator
from openwork.interop.marian.reading import bundle_from_marian
from text.external.learnt_from import WORDS as ENGLISH
from text.external.test_sentence_piece import made

pytest.importorskip("pymarian", reason="Marian is not installed: pip install --no-deps pymarian")
pytestmark = pytest.mark.slow

WORDS = [f"w{number}" for number in range(40)]
SIZES = "--type transformer --enc-depth 2 --dec-depth 2 --dim-emb 32 --transformer-dim-ffn 64 --transformer-heads 4"
TRAINING = "--cpu-threads 1 --seed 1 --mini-batch 64 --workspace 256 --learn-rate 0.003 --after-batches 200 --quiet"
PRE_NORM = "--transformer-preprocess n --transformer-postprocess da --transformer-postprocess-top n"
CHOICES = {
    "post-norm": "",
    "all tied": "--tied-embeddings-all --transformer-ffn-activation relu",
    "pre-norm": PRE_NORM,
}


def marian(options: str) -> str:
    """What a run of Marian writes; each has a process of its own."""
    command = [sys.executable, "-m", "pymarian", *options.split()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module", params=CHOICES)
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path, str]:
    """The choice, the folder with source.txt, target.txt and a model that reverses words, and its vocabularies."""
    folder, generator = tmp_path_factory.mktemp("marian"), random.Random(1)
    rows = [generator.choices(WORDS, k=generator.randint(2, 9)) for _ in range(2000)]
    (folder / "source.txt").write_text("".join(" ".join(row) + "\n" for row in rows))
    (folder / "target.txt").write_text("".join(" ".join(reversed(row)) + "\n" for row in rows))
    vocabularies = f"--vocabs {folder}/vocab.yml {folder}/vocab.yml"
    texts = f"--train-sets {folder}/source.txt {folder}/target.txt"
    marian(f"train --model {folder}/model.npz {vocabularies} {texts} {SIZES} {TRAINING} {CHOICES[request.param]}")
    for name in ("source", "target"):
        lines = (folder / f"{name}.txt").read_text().splitlines()[:30]
        (folder / f"{name}.txt").write_text("\n".join(lines) + "\n")
    return request.param, folder, vocabularies


@torch.no_grad()
def log_probability(bundle: Bundle, source: str, target: str) -> float:
    """With the unknown word among the possible ones."""
    ids, own = bundle.tokenizers.source.encode(source), bundle.tokenizers.target.encode(target)
    state = bundle.model.start(torch.tensor([[*ids, SYMBOL_IDS.end]]), torch.tensor([len(ids) + 1]))
    logits, _ = bundle.model.step(torch.tensor([[SYMBOL_IDS.start, *own]]), state)
    logits[..., [SYMBOL_IDS.pad, SYMBOL_IDS.start]] = -torch.inf
    outputs = torch.tensor([*own, SYMBOL_IDS.end])
    return float(logits[0].log_softmax(-1).gather(1, outputs[:, None]).sum())


def test_given_translations_have_marians_scores(trained: tuple[str, Path, str]) -> None:
    _, folder, vocabularies = trained
    texts = f"--train-sets {folder}/source.txt {folder}/target.txt"
    told = marian(f"score --model {folder}/model.npz {vocabularies} {texts} --cpu-threads 1 --quiet --workspace 256")
    bundle = bundle_from_marian(folder)
    sources, targets = ((folder / f"{name}.txt").read_text().splitlines() for name in ("source", "target"))
    found = [log_probability(bundle, *pair) for pair in zip(sources, targets, strict=True)]
    assert found == pytest.approx([float(line.split()[0]) for line in told.splitlines()], abs=2e-4)


def test_translations_are_marians(trained: tuple[str, Path, str]) -> None:
    """But for models with pre-norm: see `interop/marian/settings.py`."""
    choice, folder, vocabularies = trained
    search: dict[str, Any] = {"beam": 4, "length_penalty": 0.6, "length_rule": "power"}
    bundle = bundle_from_marian(folder)
    translator = BatchTranslator.of(bundle, bundle.settings.decoding.model_copy(update=search))
    sources = (folder / "source.txt").read_text().splitlines()
    told = marian(
        f"decode --models {folder}/model.npz {vocabularies} --input {folder}/source.txt --beam-size 4 --normalize 0.6 "
        "--cpu-threads 1 --quiet --max-length-factor 6"
    )
    same = sum(a == b for a, b in zip(translator.best(sources), told.splitlines(), strict=True))
    assert same >= 29 if choice != "pre-norm" else same < 29


SENTENCES = [" ".join(random.Random(number).sample(ENGLISH, 4)) for number in range(1000)]
TRAINING_RUN = """
[data]
source = "{folder}/text.txt"
target = "{folder}/text.txt"
valid_source = "{folder}/text.txt"
valid_target = "{folder}/text.txt"

[text]
{text}

[batches]
tokens = 1024

[model]
preset = "nano"
positions = "split-sinusoidal"
start_vector = "zeros"
norm = "post"
output_bias = true

[training]
schedule = "inverse-square-root"
learning_rate = 0.005
warmup = 50
steps = 300
validate_every = 150
precision = "float32"

[decoding]
beam = 1
"""


@pytest.fixture(scope="module", params=["SentencePiece", "openwork's pieces"])
def exported(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Bundle]:
    """What openwork has trained to repeat lines, exported to Marian, and its bundle."""
    folder, text = tmp_path_factory.mktemp("openwork"), "vocabulary_size = 320"
    (folder / "text.txt").write_text("".join(f"{line}\n" for line in SENTENCES))
    if request.param == "SentencePiece":
        made(folder / "pieces.spm", vocab_size=90, model_type="unigram")
        text = f'source_file = "{folder}/pieces.spm"'
    (folder / "run.toml").write_text(TRAINING_RUN.format(folder=folder, text=text))
    openwork(f"train {folder}/run.toml --out {folder}/run --quiet")
    openwork(f"export {folder}/run/bundle --to marian --out {folder}/marian")
    return folder / "marian", load_bundle(folder / "run" / "bundle")


def openwork(command: str, given: str = "") -> str:
    done = subprocess.run(
        [sys.executable, "-m", "openwork", *command.split()], input=given, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_marian_translates_with_openworks_models(exported: tuple[Path, Bundle], tmp_path: Path) -> None:
    """Text for text where it has SentencePiece; else `openwork tokenize` makes ids of text, and text of ids.

    Greedy search: with a beam, Marian ends a search of its own accord.
    """
    folder, bundle = exported
    given = SENTENCES[:40]
    ours, text = BatchTranslator.of(bundle).best(given), "".join(f"{line}\n" for line in given)
    reads_text = (folder / "vocab.spm").is_file()
    pieces = folder.parent / "run" / "bundle"
    (tmp_path / "given.txt").write_text(text if reads_text else openwork(f"tokenize {pieces} --ids", text))
    told = marian(f"decode -c {folder}/decoder.yml --input {tmp_path}/given.txt --cpu-threads 1 --quiet")
    found = told if reads_text else openwork(f"tokenize {pieces} --side target --decode", told)
    assert found.splitlines() == ours
    assert len(set(ours)) > 20


def test_openworks_models_come_back_from_marian(exported: tuple[Path, Bundle]) -> None:
    folder, bundle = exported
    again, given = bundle_from_marian(folder), SENTENCES[:40]
    assert BatchTranslator.of(again, bundle.settings.decoding).best(given) == BatchTranslator.of(bundle).best(given)
