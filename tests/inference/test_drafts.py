"""openwork translate --draft: the same translations, in lines and shards; and who cannot have a draft."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from inference.bulk.folders import write_shards
from journeys.command import Finished, told
from openwork.bundles.bundle import Bundle, write_bundle
from openwork.data.corpora.synthetic import copy
from openwork.machine.device import has_narrow_kernels
from openwork.models.build import build_model
from openwork.text.pair import train_pair
from openwork.text.settings import TextSettings

Call = Callable[..., Finished]
LINES = "".join(f"{pair.source}\n" for pair in copy("train", 12, seed=8)).encode() + b"\n"


@pytest.fixture
def draft(tiny_bundle: Bundle, tmp_path: Path) -> Path:
    """Another model of the same vocabulary."""
    torch.manual_seed(11)
    model = build_model(tiny_bundle.settings.model, *tiny_bundle.tokenizers.sizes).eval()
    write_bundle(tmp_path / "draft", replace(tiny_bundle, model=model, golden=()))
    return tmp_path / "draft"


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_the_translations_are_those_of_greedy_search(
    call: Call, bundle_folder: Path, draft: Path, tmp_path: Path, precision: str
) -> None:
    command = ["translate", bundle_folder, "--beam", "1", "--precision", precision]
    plain, with_draft = (call(*command, *more, stdin=LINES) for more in ([], ["--draft", draft]))
    if precision == "bfloat16" and not has_narrow_kernels():
        assert plain.code == 0 and with_draft.code == 2 and "U177" in with_draft.err
        return
    assert plain.code == with_draft.code == 0, with_draft.err
    if precision == "float32":
        assert with_draft.out == plain.out and plain.lines[-1] == ""
    (tmp_path / "settings.toml").write_text('draft = "draft"\n[decoding]\nbeam = 1\n')
    file = call("translate", bundle_folder, "--settings", tmp_path / "settings.toml", stdin=LINES)
    assert file.out == call(*command[:4], "--draft", draft, stdin=LINES).out
    shards = write_shards(tmp_path / "in", {"a.txt": LINES})
    done = call(*command, "--draft", draft, "--source", shards, "--out", tmp_path / "out")
    assert done.code == 0, done.err
    if precision == "float32":
        assert (tmp_path / "out" / "a.txt").read_bytes() == plain.out


def test_who_cannot_have_a_draft(
    call: Call, bundle_folder: Path, draft: Path, tiny_bundle: Bundle, tmp_path: Path
) -> None:
    told(call("translate", bundle_folder, "--draft", draft), 2, "--draft goes with greedy search", "--beam 1")
    told(call("translate", bundle_folder, bundle_folder, "--beam", "1", "--draft", draft), 2, "by one model")
    told(call("translate", bundle_folder, "--beam", "1", "--samples", "2", "--draft", draft), 2, "--draft goes with")
    tokenizers = train_pair(["x y z"] * 3, ["x y z"] * 3, TextSettings(vocabulary_size=300))
    model = build_model(tiny_bundle.settings.model, *tokenizers.sizes).eval()
    write_bundle(tmp_path / "other", Bundle(tiny_bundle.settings, tokenizers, model))
    told(
        call("translate", bundle_folder, "--beam", "1", "--draft", tmp_path / "other"),
        4,
        "its vocabulary is not that of the model",
    )
    shape = tiny_bundle.settings.model.model_copy(update={"positions": "alibi"})
    torch.manual_seed(1)
    other = build_model(shape, *tiny_bundle.tokenizers.sizes).eval()
    settings = tiny_bundle.settings.model_copy(update={"model": shape})
    write_bundle(tmp_path / "alibi", Bundle(settings, tiny_bundle.tokenizers, other))
    for pair in ((tmp_path / "alibi", draft), (bundle_folder, tmp_path / "alibi")):
        told(call("translate", pair[0], "--beam", "1", "--draft", pair[1]), 2, "--draft does not go with these models")
