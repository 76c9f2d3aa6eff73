"""Whole folders of which one thing is not as it should be: a file changed, gone, another's, a link, a folder or a pipe.

An input says what: a letter for the way, the file's name, the end of the line, and the file's new content. Bundles and
checkpoints are sealed with checksums, which refuse nearly everything at once; so each is tried twice, as found and
with the checksums made to fit, as one would who means ill.
"""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import torch
from safetensors.torch import save

from fuzz.sentence_piece import sentence_piece_model
from fuzz.target import Target
from interop.alone import adopted, decoder, encoder, own
from interop.small_bundles import small_bundle, tokenizers
from openwork.base.files import sha256_values
from openwork.base.records import RecordWriter
from openwork.bundles.bundle import Bundle, load_bundle, write_bundle
from openwork.data.store import TokenStore, write_store
from openwork.evaluation.saved import SavedEvaluation, read_evaluation, write_evaluation
from openwork.inference.golden import make_golden
from openwork.inference.shortlists import Sizes, make_shortlist, read_shortlist
from openwork.interop.ctranslate2.reading import bundle_from_ctranslate2
from openwork.interop.ctranslate2.writing import write_ctranslate2
from openwork.interop.forms import bundle_from_hugging_face, write_hugging_face_folder
from openwork.interop.hugging_face.tokenizers import read_tokenizers
from openwork.models.build import build_model
from openwork.models.settings import TransformerSettings
from openwork.runs.file.settings import RunSettings
from openwork.runs.folder import RunFolder
from openwork.training.checkpoint import resume_latest
from openwork.training.optimisers import make_optimiser
from openwork.training.progress import Progress, Validation
from openwork.training.settings import TrainingSettings
from training.tiny import save_checkpoint

Contents = Mapping[str, bytes]
Sign = Callable[[Path], None]


def spoil(folder: Path, contents: Contents, data: bytes) -> None:
    """Makes the folder anew, with what the input says done to it; a name that is none of its files makes another."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, content in contents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    head, _, content = data.partition(b"\n")
    name = head[1:].decode(errors="replace")
    path = folder / (name if name in contents else "other")
    match head[:1]:
        case b"d":
            path.unlink(missing_ok=True)
        case b"f":
            path.unlink(missing_ok=True)
            path.mkdir()
        case b"p":
            path.unlink(missing_ok=True)
            os.mkfifo(path)
        case b"l":
            path.unlink(missing_ok=True)
            path.symlink_to(content[:50].decode(errors="replace").replace("\0", "") or path.name)
        case b"s":
            path.write_bytes(contents[sorted(contents)[len(content) % len(contents)]])
        case _:
            path.write_bytes(content)


def spoilt(make: Callable[[Path], None], read: Callable[[Path], object], sign: Sign = lambda folder: None) -> Target:
    """The target of a folder that `make` writes."""

    @cache
    def contents() -> Contents:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / "folder"
            make(folder)
            files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
            return {str(path.relative_to(folder)): path.read_bytes() for path in files}

    def seeds() -> list[bytes]:
        whole = [b"w%s\n%s" % (name.encode(), content) for name, content in contents().items()]
        names = [name.encode() for name in contents()]
        ways = [b"d%s\n", b"f%s\n", b"p%s\n", b"s%s\nx", b"l%s\n/etc/passwd", b"l%s\n/dev/zero", b"l%s\n../input"]
        return whole + [way % name for name in names for way in ways]

    def read_spoilt(path: Path) -> object:
        folder = path.parent / "folder"
        spoil(folder, contents(), path.read_bytes())
        sign(folder)
        return read(folder)

    return Target("input", seeds, read_spoilt)


def _content(path: Path) -> bytes:
    """Of a file; what might never end is left alone."""
    if not path.is_file():
        raise OSError(path)
    return path.read_bytes()


def sign_bundle(folder: Path) -> None:
    """Makes the checksums of a manifest those of the files."""
    try:
        manifest = json.loads(_content(folder / "bundle.json"))
        for name in manifest["sha256"]:
            manifest["sha256"][name] = hashlib.sha256(_content(folder / name)).hexdigest()
        (folder / "bundle.json").write_text(json.dumps(manifest))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        pass  # there is nothing to sign


def sign_checkpoint(folder: Path) -> None:
    """Likewise for the newest checkpoint."""
    path = folder / "step-00000002"
    try:
        state = json.loads(_content(path / "state.json"))
        for name in state["sha256"]:
            known = name == "progress"
            state["sha256"][name] = (
                sha256_values(state[name]) if known else hashlib.sha256(_content(path / name)).hexdigest()
            )
        (path / "state.json").write_text(json.dumps(state))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        pass


@cache
def _trained() -> tuple[torch.nn.Module, torch.optim.Optimizer]:
    settings = TransformerSettings(width=4, heads=1, feedforward_width=4, encoder_layers=1, decoder_layers=1)
    model = build_model(settings, 6, 6)
    optimiser = make_optimiser(model, TrainingSettings())
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimiser.step()
    return model, optimiser


def _checkpoints(folder: Path) -> None:
    model, optimiser = _trained()
    seen = [Validation(1, 2.0, 7.4, bleu=1.0, sample=("a", "b", "c"))]
    for step in (1, 2):
        save_checkpoint(folder, model, optimiser, Progress(step=step, validations=seen[: step - 1]))


def _store(folder: Path) -> None:
    write_store(folder, [([5, 6], [7]), ([8], [9, 5, 6])], vocabulary_size=20, fingerprint="x")


def _evaluation(folder: Path) -> None:
    score = {"name": "BLEU", "value": 1.0, "signature": "nrefs:1|bs:10|seed:1"}
    write_evaluation(folder, SavedEvaluation(["a"], ["b"], ["c"], "de", {"scores": [score]}))


def _smallest() -> Bundle:
    return small_bundle(encoder_layers=1, decoder_layers=1)


def _bundle(folder: Path) -> None:
    write_bundle(folder, make_golden(_smallest(), ["a b c"]))


def _run(folder: Path) -> None:
    folder.mkdir()
    (folder / "run.toml").write_text('[data]\ncorpus = "copy"\n[model]\npreset = "nano"\n')
    (folder / "records.jsonl").write_text('{"time": 1.5, "kind": "step", "step": 1}\n')


def _continued(folder: Path) -> None:
    """Begins a run, or goes on with it: claims the folder as a training does, and opens its records."""
    with RunFolder(folder).locked(RunSettings.model_validate({"data": {"corpus": "copy"}})):
        RecordWriter(RunFolder(folder).records).close()


@cache
def _shortlist() -> list[bytes]:
    pieces = tokenizers(shared=True)
    made = make_shortlist([([5, 6], [7]), ([8], [9, 5, 6])], pieces, Sizes(each=2, common=3))
    told = {"tokenizers": pieces.fingerprint}
    return [save({"always": made.always, "table": made.table.to(torch.int32)}, told)]


def _bert(folder: Path) -> None:
    """A classifier with a tokenizer of BERT's own."""
    with tempfile.TemporaryDirectory() as place:
        write_hugging_face_folder(folder, encoder(adopted(Path(place)), "classify", layers=1, maximum_length=20))


def _alone(folder: Path, preset: str) -> None:
    write_hugging_face_folder(folder, decoder(own(), preset, layers=1))


def _marian(folder: Path) -> None:
    """Both sides' pieces and the vocabulary that numbers them, as Hugging Face's MarianTokenizer has them."""
    folder.mkdir()
    model = sentence_piece_model("unigram")
    for side in ("source", "target"):
        (folder / f"{side}.spm").write_bytes(model)
    names = ["</s>", "<unk>", "\u2581", "\u2581E", "in", "H", "<pad>"]
    (folder / "vocab.json").write_text(json.dumps({name: number for number, name in enumerate(names)}))


FOLDERS: dict[str, Target] = {
    "bundle": spoilt(_bundle, load_bundle),
    "bundle, signed": spoilt(_bundle, load_bundle, sign_bundle),
    "checkpoints": spoilt(_checkpoints, lambda folder: resume_latest(folder, *_trained())),
    "checkpoints, signed": spoilt(_checkpoints, lambda folder: resume_latest(folder, *_trained()), sign_checkpoint),
    "token store": spoilt(_store, lambda folder: TokenStore.open(folder).verify()),
    "evaluation": spoilt(_evaluation, read_evaluation),
    "run folder": spoilt(_run, lambda folder: RunFolder(folder).read_settings()),
    "run folder, continued": spoilt(_continued, _continued),
    "shortlist": Target("a.shortlist", _shortlist, lambda path: read_shortlist(path, tokenizers(shared=True))),
    "Hugging Face's folder": spoilt(
        lambda folder: write_hugging_face_folder(folder, _smallest()), bundle_from_hugging_face
    ),
    "BERT's folder": spoilt(_bert, bundle_from_hugging_face),
    "GPT-2's folder": spoilt(lambda folder: _alone(folder, "gpt-small"), bundle_from_hugging_face),
    "LLaMA's folder": spoilt(lambda folder: _alone(folder, "llama-small"), bundle_from_hugging_face),
    **({"Marian's pieces": spoilt(_marian, read_tokenizers)} if find_spec("sentencepiece") else {}),
    "CTranslate2's folder": spoilt(lambda folder: write_ctranslate2(folder, _smallest()), bundle_from_ctranslate2),
}
