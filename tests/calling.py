"""A plugin of pytest: the command line within the test's own process or a forked one, and small bundles and files.

Nothing of openwork is imported before a test asks for it, so that tests without torch stay without it.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from faults.nursery import Nursery
from journeys.command import Finished

if TYPE_CHECKING:
    from openwork.bundles.bundle import Bundle

Call = Callable[..., Finished]


@pytest.fixture
def call(capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Call:
    """`call("train", ..., stdin=b"...")`: the command's exit code and what it printed."""

    from openwork.base.messages import LANGUAGE_VARIABLE
    from openwork.cli.main import main

    def run(*arguments: str | Path, stdin: bytes = b"") -> Finished:
        given = tmp_path / ".stdin"
        given.write_bytes(stdin)
        language = os.environ[LANGUAGE_VARIABLE]
        capfdbinary.readouterr()
        monkeypatch.setattr(sys, "argv", ["openwork", *map(str, arguments)])
        with given.open() as stream:
            monkeypatch.setattr(sys, "stdin", stream)
            with pytest.raises(SystemExit) as ended:
                main()
        monkeypatch.setenv(LANGUAGE_VARIABLE, language)  # --lang changes it, and must not for who comes next
        printed = capfdbinary.readouterr()
        code = ended.value.code
        return Finished(code if isinstance(code, int) else 0, printed.out, printed.err.decode())

    return run


@pytest.fixture(scope="session")
def nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    """Runs commands in copies of one process that has loaded everything."""
    made = Nursery(tmp_path_factory.mktemp("nursery"))
    yield made
    made.close()


@pytest.fixture(scope="session")
def tiny_bundle() -> "Bundle":
    """A model that has learnt nothing: what it says is odd, and always the same."""
    import torch

    from openwork.bundles.bundle import Bundle
    from openwork.bundles.settings import BundleSettings
    from openwork.data.corpora.synthetic import copy
    from openwork.decoding.settings import DecodingSettings
    from openwork.inference.golden import make_golden
    from openwork.models.build import build_model
    from openwork.models.settings import TransformerSettings
    from openwork.text.pair import train_pair
    from openwork.text.settings import TextSettings

    pairs = list(copy("train", 200))
    tokenizers = train_pair([p.source for p in pairs], [p.target for p in pairs], TextSettings(vocabulary_size=400))
    settings = TransformerSettings(
        width=16, heads=2, feedforward_width=24, encoder_layers=1, decoder_layers=1, norm="pre"
    )
    with torch.random.fork_rng():
        torch.manual_seed(3)
        size = tokenizers.source.vocabulary_size
        model = build_model(settings, size, size)
        for parameter in model.parameters():  # larger than usual, so that it does not say the same of everything
            parameter.data.mul_(2.0)
    decoding = DecodingSettings(beam=2, extra_length=3, maximum_length=12)
    bundle = Bundle(BundleSettings(model=settings, decoding=decoding), tokenizers, model.eval(), card="# tiny\n")
    return make_golden(bundle, ["a b c", "d e"])


def language_model(decoding: dict[str, object] | None = None, **model: object) -> "Bundle":
    """A language model that has learnt nothing, with these settings of search and model."""
    import torch

    from openwork.bundles.bundle import Bundle
    from openwork.bundles.settings import BundleSettings
    from openwork.data.corpora.synthetic import copy
    from openwork.decoding.settings import DecodingSettings
    from openwork.models.build import build_model
    from openwork.models.families import model_settings
    from openwork.text.pair import train_pair
    from openwork.text.settings import TextSettings

    lines = [pair.source for pair in copy("train", 200)]
    tokenizers = train_pair(lines, lines, TextSettings(kind="byte-level", vocabulary_size=300))
    small = {"kind": "decoder", "width": 16, "heads": 2, "feedforward_width": 24, "layers": 1, "norm": "pre"}
    settings = model_settings(small | model)
    with torch.random.fork_rng():
        torch.manual_seed(3)
        made = build_model(settings, *2 * [tokenizers.source.vocabulary_size])
        for parameter in made.parameters():  # as above
            parameter.data.mul_(2.0)
    chosen = DecodingSettings.model_validate(decoding or {})
    return Bundle(BundleSettings(model=settings, decoding=chosen), tokenizers, made.eval(), card="# tiny\n")


@pytest.fixture
def bundle_folder(tiny_bundle: "Bundle", tmp_path: Path) -> Path:
    """A fresh copy on disk, to be spoilt."""
    from openwork.bundles.bundle import write_bundle

    folder = tmp_path / "a-bundle"
    write_bundle(folder, tiny_bundle)
    return folder


@pytest.fixture
def pair_files(tmp_path: Path) -> tuple[Path, Path]:
    """Forty aligned lines on each side."""
    from openwork.data.corpora.synthetic import copy

    source, target = tmp_path / "train.en", tmp_path / "train.de"
    pairs = list(copy("train", 40, seed=5))
    source.write_text("".join(f"{pair.source}\n" for pair in pairs), encoding="utf-8")
    target.write_text("".join(f"{pair.target}\n" for pair in pairs), encoding="utf-8")
    return source, target


def imports_compiler(program: str) -> bool:
    """Whether a process that runs the program has imported torch's compiler at its end."""
    program += "\nimport sys; print('torch._dynamo' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    return said.split()[-1] == "True"
