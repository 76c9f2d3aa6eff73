"""A shortlist leaves out pieces and nothing else: what remains is searched as if the others had no probability."""

from inspect import signature
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from openwork.base.errors import BundleError, UsageError
from openwork.bundles.bundle import Bundle
from openwork.cli.translate import shortlist
from openwork.decoding.search import decode
from openwork.decoding.settings import DecodingSettings
from openwork.inference.loading import translator_of
from openwork.inference.prepared import prepare
from openwork.inference.shortlists import Shortlist, Sizes, is_shortlist, make_shortlist, read_shortlist
from openwork.inference.translator import BatchTranslator

TEXTS = ["a b c", "d e", "f", "c a g d"]


def translator(bundle: Bundle, shortlist: Shortlist | None, **changes: Any) -> BatchTranslator:
    decoding = bundle.settings.decoding.model_copy(update=changes)
    return BatchTranslator(bundle.model, bundle.tokenizers, decoding, shortlist=shortlist)


def some_pieces(bundle: Bundle, *ids: int) -> Shortlist:
    size = bundle.tokenizers.source.vocabulary_size
    return Shortlist(torch.tensor([0, 1, 2, 3, *ids]), torch.full((size, 1), -1), shared=False)


@pytest.mark.slow
@pytest.mark.parametrize("beam", [1, 3])
def test_with_all_pieces_nothing_changes(tiny_bundle: Bundle, beam: int) -> None:
    size = tiny_bundle.tokenizers.target.vocabulary_size
    everything = some_pieces(tiny_bundle, *range(4, size))
    changes = {"beam": beam, "best": beam}
    for found, expected in zip(
        translator(tiny_bundle, everything, **changes).translate(TEXTS),
        translator(tiny_bundle, None, **changes).translate(TEXTS),
        strict=True,
    ):
        assert [one.pieces for one in found] == [one.pieces for one in expected]
        assert [one.score for one in found] == pytest.approx([one.score for one in expected])


class Masked:
    """A model whose other pieces have no probability."""

    def __init__(self, model: Any, allowed: Tensor) -> None:
        self.model, self.allowed = model, allowed

    def start(self, *source: Tensor) -> Any:
        return self.model.start(*source)

    def step(self, tokens: Tensor, state: Any) -> tuple[Tensor, Any]:
        logits, state = self.model.step(tokens, state)
        masked = torch.full_like(logits, -torch.inf)
        masked[..., self.allowed] = logits[..., self.allowed]
        return masked, state


@pytest.mark.parametrize("beam", [1, 4])
@torch.inference_mode()
def test_the_others_are_as_if_they_had_no_probability(tiny_bundle: Bundle, beam: int) -> None:
    pieces = torch.tensor([0, 1, 2, 3, 17, 201, 260, 261, 270, 280])
    settings = DecodingSettings(beam=beam, best=beam, extra_length=4)
    source, lengths = torch.tensor([[270, 265, 3], [280, 3, 0]]), torch.tensor([3, 2])
    expected = decode(Masked(tiny_bundle.model, pieces), source, lengths, settings)
    found = decode(prepare(tiny_bundle.model).among(pieces), source, lengths, settings)  # type: ignore[attr-defined]
    for here, there in zip(found, expected, strict=True):
        assert [tuple(pieces[list(one.tokens)].tolist()) for one in here] == [one.tokens for one in there]
        assert [one.log_probability for one in here] == pytest.approx([one.log_probability for one in there], abs=1e-4)


@pytest.mark.slow
def test_only_what_is_listed_is_said_unless_more_is_asked_for(tiny_bundle: Bundle) -> None:
    few = some_pieces(tiny_bundle, 270, 271)
    plain = translator(tiny_bundle, few).translate(TEXTS)
    assert {piece for found in plain for one in found for piece in one.pieces} <= {270, 271}
    required = translator(tiny_bundle, few, required=("b",)).best(TEXTS)
    assert all("b" in text for text in required)
    streamed = translator(tiny_bundle, few, beam=1).stream(TEXTS[0], lambda piece: None)
    assert streamed.text == translator(tiny_bundle, None, beam=1).best(TEXTS[:1])[0]


def test_it_holds_common_pieces_translations_and_the_source(tiny_bundle: Bundle) -> None:
    pairs = [([260, 261], [270, 271]), ([260], [270]), ([262], [272]), ([262], [273])]
    made = make_shortlist(pairs, tiny_bundle.tokenizers, Sizes(each=1, common=1))
    assert made.always.tolist() == [0, 1, 2, 3, 270] and made.shared
    assert made.pieces(torch.tensor([[261, 3], [262, 3]])).tolist() == [0, 1, 2, 3, 261, 262, 270, 271, 272]
    assert made.pieces(torch.tensor([[279, 3]])).tolist() == [0, 1, 2, 3, 270, 279]


def test_the_command_has_the_sizes_that_are_usual() -> None:
    given = signature(shortlist).parameters
    assert Sizes(given["each"].default, given["common"].default) == Sizes()


@pytest.mark.slow
def test_from_the_command_line(call: Any, bundle_folder: Path, pair_files: Any, tmp_path: Path) -> None:
    source, target = pair_files
    file = tmp_path / "copy.shortlist"
    made = call("shortlist", "--bundle", bundle_folder, "--source", source, "--target", target, "--out", file)
    assert made.code == 0, made.err
    translated = call("translate", "--bundle", bundle_folder, "--shortlist", file, stdin=b"a b\n\nc\n")
    assert translated.code == 0 and len(translated.out.splitlines()) == 3
    both = call("translate", "--bundle", bundle_folder, "--bundle", bundle_folder, "--shortlist", file, stdin=b"a\n")
    assert both.code == UsageError.exit_code and "shortlist" in both.err
    nothing = call("shortlist", "--bundle", bundle_folder, "--out", file)
    assert nothing.code != 0 and "corpus" in nothing.err
    source.write_text("\n" * 40)
    blank = call("shortlist", "--bundle", bundle_folder, "--source", source, "--target", target, "--out", file)
    assert blank.code != 0 and "no pairs" in blank.err


def test_files_of_another_kind_are_refused(tiny_bundle: Bundle, tmp_path: Path) -> None:
    other = tmp_path / "other"
    tokenizers = tiny_bundle.tokenizers
    with pytest.raises(BundleError, match="cannot be read"):
        read_shortlist(other, tokenizers)
    other.write_bytes(b"not safetensors")
    assert not is_shortlist(other) and not is_shortlist(tmp_path / "nothing")
    with pytest.raises(BundleError, match="not a shortlist"):
        read_shortlist(other, tokenizers)
    size = tokenizers.source.vocabulary_size
    good = {"always": torch.tensor([0, 1, 2, 3, 270]), "table": torch.full((size, 2), -1)}
    save_file(good, other, {"tokenizers": "of others"})
    with pytest.raises(BundleError, match="other vocabularies"):
        read_shortlist(other, tokenizers)
    own = {"tokenizers": tokenizers.fingerprint}
    save_file(good, other, own)
    assert read_shortlist(other, tokenizers).always.tolist() == [0, 1, 2, 3, 270]
    for name, tensor in (
        ("always", torch.tensor([0, 1, 2, 3, size])),
        ("always", torch.tensor([3, 2, 1, 0])),
        ("always", torch.tensor([0, 1, 2, 3, 4.5])),
        ("always", torch.zeros(0, dtype=torch.long)),
        ("table", torch.full((size - 1, 2), -1)),
        ("table", torch.full((size, 2), size)),
        ("table", torch.full((size, 2), -2)),
        ("table", torch.zeros(size, 0, dtype=torch.long)),
    ):
        save_file({**good, name: tensor}, other, own)
        with pytest.raises(BundleError, match="not a shortlist"):
            read_shortlist(other, tokenizers)
    save_file({"always": good["always"]}, other, own)
    with pytest.raises(BundleError, match="not a shortlist"):
        read_shortlist(other, tokenizers)
    with pytest.raises(UsageError):
        translator_of([tiny_bundle, tiny_bundle], tiny_bundle.settings.decoding, shortlist=other)
