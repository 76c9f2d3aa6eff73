"""`openwork verify` passes what is sound; each fault made on purpose fails in its own line and in no other.

The golden line may fail besides wherever a broken model says other things than the sound one said: that is what it is
for. Checks that compare by means of what is broken are skipped and say so.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from bundles.kept import NEWEST
from journeys.command import Finished, openwork
from openwork.base.files import sha256_file
from openwork.base.tasks import task_of
from openwork.bundles.bundle import Bundle, load_bundle, write_bundle
from openwork.bundles.settings import BundleSettings, tokenizers_for_task
from openwork.checks import keeping
from openwork.checks.check import CheckResult, Status, table_lines, to_json
from openwork.checks.verify import CHECKS, verify, verify_bundle
from openwork.decoding.beam import Finished as FinishedHypotheses
from openwork.decoding.lone import Results
from openwork.inference.golden import make_golden
from openwork.inference.prepared import products
from openwork.inference.prepared.native import problem
from openwork.inference.prepared.products import available
from openwork.models.build import build_model
from openwork.models.families import ModelSettings
from openwork.models.recurrent import RecurrentModel
from openwork.models.recurrent_settings import RecurrentLabelsSettings, RecurrentSettings
from openwork.models.weights import tensors_to_bytes
from openwork.nn.cache import KeyValue
from openwork.nn.kernels import fused
from openwork.nn.layers import LayerCache
from openwork.nn.masks import EVERYTHING, Mask
from openwork.nn.positions import SinusoidalPositions
from openwork.text.pair import TokenizerPair
from openwork.text.pieces.words import Labels

pytestmark = pytest.mark.slow

Call = Callable[..., Finished]
Patch = pytest.MonkeyPatch


@pytest.fixture
def bundle() -> Bundle:
    return load_bundle(NEWEST)


def failed(outcomes: list[CheckResult]) -> set[str]:
    """The lines that failed, the golden one left out."""
    return {outcome.name for outcome in outcomes if outcome.status is Status.FAILED} - {"golden"}


def line(outcomes: list[CheckResult], name: str) -> CheckResult:
    return next(outcome for outcome in outcomes if outcome.name == name)


def place(outcomes: list[CheckResult], name: str) -> tuple[str, str, int]:
    """Where the line says that two ways part."""
    finding = line(outcomes, name).finding
    assert finding is not None and finding.spot is not None
    return finding.spot.module, finding.spot.side, finding.spot.position


def test_a_sound_bundle_passes(bundle: Bundle):
    outcomes = verify_bundle(bundle)
    left_out = [outcome.name for outcome in outcomes if outcome.status is not Status.PASSED]
    missing = {"eight-bits": "int8" not in available() and bool(problem()), "compiled-step": bool(problem())}
    assert left_out == [*(name for name, is_missing in missing.items() if is_missing), "compiled"]
    assert [outcome.name for outcome in outcomes] == [check.name for check in CHECKS]
    assert line(outcomes, "compiled").reason == "compiling can take minutes; --compiled waits for it"


def leak_the_future(bundle: Bundle) -> None:
    """Self-attention of the decoder without its mask."""
    attention = bundle.model.get_submodule("decoder.layers.0.self_attention")
    attention.register_forward_pre_hook(lambda _, arguments: (*arguments[:2], EVERYTHING))


def test_a_mask_that_leaks_the_future(bundle: Bundle):
    leak_the_future(bundle)
    outcomes = verify_bundle(bundle)
    assert failed(outcomes) == {"future"}
    assert place(outcomes, "future") == ("decoder.layers.0.self_attention", "target", 0)
    assert line(outcomes, "cached").reason == "skipped because this check failed: the future is masked"


def test_a_mask_that_leaks_padding(bundle: Bundle, monkeypatch: Patch):
    monkeypatch.setattr("openwork.models.seq2seq.Mask", lambda key_lengths: Mask())
    outcomes = verify_bundle(bundle)
    assert failed(outcomes) == {"padding"}
    assert place(outcomes, "padding") == ("encoder.layers.0.self_attention", "source", 0)


def test_a_cache_that_forgets(bundle: Bundle, monkeypatch: Patch):
    def extend(self: KeyValue, later: KeyValue) -> KeyValue:
        key = torch.cat((self.key[..., 1:, :], later.key), dim=-2)
        return KeyValue(key, torch.cat((self.value[..., 1:, :], later.value), dim=-2))

    monkeypatch.setattr(KeyValue, "extend", extend)
    outcomes = verify_bundle(bundle)
    assert failed(outcomes) == {"cached"}
    assert place(outcomes, "cached") == ("decoder.layers.0.self_attention", "target", 1)


def test_positions_that_shift_when_cached(bundle: Bundle, monkeypatch: Patch):
    sound = SinusoidalPositions.forward
    monkeypatch.setattr(SinusoidalPositions, "forward", lambda self, x, first=0: sound(self, x, first + (first > 0)))
    outcomes = verify_bundle(bundle)
    assert failed(outcomes) == {"cached"}
    assert place(outcomes, "cached") == ("target_positions", "target", 1)


def test_a_cache_that_does_not_follow_its_hypothesis(bundle: Bundle, monkeypatch: Patch):
    sound = LayerCache.select
    monkeypatch.setattr(LayerCache, "select", lambda self, rows: sound(self, torch.zeros_like(rows)))
    outcomes = verify_bundle(bundle)
    assert failed(outcomes) == {"scores"}
    assert line(outcomes, "beam").status is Status.SKIPPED


def test_heads_swapped_between_kernels(bundle: Bundle):
    def swapped(
        query: Tensor, key: Tensor, value: Tensor, mask: Mask, scale: float, dropout: float = 0.0,
        bias: Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        return fused.attention(query, key, value, mask, scale, dropout, bias).flip(1)

    bundle.model.get_submodule("decoder.layers.0.cross_attention").kernel = swapped  # type: ignore[assignment]
    outcomes = verify_bundle(bundle)
    assert failed(outcomes) == {"kernels"}
    assert place(outcomes, "kernels") == ("decoder.layers.0.cross_attention", "target", 0)


def test_packed_weights_that_lost_a_bias(bundle: Bundle, monkeypatch: Patch):
    whole = products.PRODUCTS["float32"]
    without = {"float32": lambda weight, bias, *others: whole(weight, None, *others)}
    monkeypatch.setattr("openwork.inference.prepared.transformer.PRODUCTS", without)
    with torch.no_grad():
        bundle.model.get_submodule("decoder.layers.0.feedforward.expand").bias += 0.5  # type: ignore[union-attr]
    assert failed(verify_bundle(bundle)) == {"prepared"}


def test_half_precision_that_overflows(bundle: Bundle):
    def overflowing(
        query: Tensor, key: Tensor, value: Tensor, mask: Mask, scale: float, dropout: float = 0.0,
        bias: Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        """In half precision it scales the scores after the product, which float16 cannot hold."""
        if query.dtype is torch.bfloat16:
            query, scale = ((query * 1000).half() @ key.half().mT @ key.half()).bfloat16(), scale / 1000
        return fused.attention(query, key, value, mask, scale, dropout, bias)

    bundle.model.get_submodule("encoder.layers.0.self_attention").kernel = overflowing  # type: ignore[assignment]
    outcomes = verify_bundle(bundle)
    assert failed(outcomes) == {"half-precision"}
    assert place(outcomes, "half-precision")[:2] == ("encoder.layers.0.self_attention", "source")


def test_weights_that_half_precision_could_not_hold(bundle: Bundle):
    weight = bundle.model.get_parameter("encoder.layers.0.self_attention.value.weight")
    weight.data = (weight.data * 1e6).half().float()
    outcomes = verify_bundle(bundle)
    assert failed(outcomes) == {"finite"}
    assert place(outcomes, "finite")[0] == "encoder.layers.0.self_attention.value.weight"
    assert line(outcomes, "golden").reason.startswith("the model gave no probabilities for the next token: ")


def test_activations_that_are_no_numbers(bundle: Bundle):
    bundle.model.get_submodule("decoder.layers.0.feedforward").register_forward_hook(lambda _, __, y: y / 0)
    outcomes = verify_bundle(bundle)
    assert failed(outcomes) == {"finite"}
    assert place(outcomes, "finite") == ("decoder.layers.0.feedforward", "target", 0)


def test_sentences_of_a_batch_that_mix(bundle: Bundle):
    def mix(_: nn.Module, __: object, y: Tensor) -> Tensor:
        y = y.clone()
        y[:, 0] += y[:, 0].roll(1, 0)
        return y

    bundle.model.get_submodule("encoder.layers.0.feedforward").register_forward_hook(mix)
    outcomes = verify_bundle(bundle)
    assert failed(outcomes) == {"batch"}
    assert place(outcomes, "batch") == ("encoder.layers.0.feedforward", "source", 0)


def test_a_wrong_length_penalty(bundle: Bundle, monkeypatch: Patch):
    monkeypatch.setattr("openwork.decoding.scoring.length_penalty", lambda length, alpha, rule: float(length) ** alpha)
    assert failed(verify_bundle(bundle)) == {"scores"}


@pytest.mark.parametrize("search", ["of many", "of one"])
def test_a_search_that_gives_up_early(bundle: Bundle, monkeypatch: Patch, search: str):
    if search == "of many":
        sound = FinishedHypotheses.done
        hasty = lambda self, live: sound(self, live) | (live.tokens.shape[2] > 3)  # noqa: E731
        monkeypatch.setattr(FinishedHypotheses, "done", hasty)
    else:
        settled = Results.are_settled
        monkeypatch.setattr(Results, "are_settled", lambda self, own, length: settled(self, own, length) or length > 2)
    assert failed(verify_bundle(bundle)) == {"beam"}


def test_weights_that_are_rounded_when_written(bundle: Bundle, monkeypatch: Patch):
    halved = lambda tensors: tensors_to_bytes({name: tensor.half() for name, tensor in tensors.items()})  # noqa: E731
    monkeypatch.setattr("openwork.bundles.bundle.tensors_to_bytes", halved)
    assert failed(verify_bundle(bundle)) == {"written-again"}


def test_a_card_that_is_lost_when_written(bundle: Bundle, monkeypatch: Patch):
    monkeypatch.setattr(keeping, "load_bundle", lambda path: replace(load_bundle(path), card="another"))
    outcomes = verify_bundle(bundle)
    finding = line(outcomes, "written-again").finding
    assert failed(outcomes) == {"written-again"}
    assert finding is not None and finding.wrong == "these differ after reading again: card"


def stale_tokenizers(bundle: Bundle, folder: Path) -> Bundle:
    """The same model with a vocabulary of the same size, in which two pieces have each other's numbers.

    The lone space is a piece that the model has never met. (Two letters would not do: copying is the same for all.)
    """
    data = json.loads((NEWEST / "tokenizer.json").read_text("utf-8"))
    pieces = data["model"]["vocab"]
    pieces[" e"], pieces[" "] = pieces[" "], pieces[" e"]
    (folder / "tokenizer.json").write_text(json.dumps(data), "utf-8")
    return replace(bundle, tokenizers=TokenizerPair.load(folder))


def test_a_stale_tokenizer(bundle: Bundle, tmp_path: Path):
    outcomes = verify_bundle(stale_tokenizers(bundle, tmp_path))
    golden = line(outcomes, "golden")
    assert failed(outcomes) == set() and golden.status is Status.FAILED
    assert golden.finding is not None and golden.finding.spot is not None and golden.finding.spot.sentence == 1
    assert golden.finding.wrong.startswith("'e g g e c g j a d h c j' gave 'e g g e c g j a d h c j', now ")


def edit_weights(folder: Path, source: Bundle, *, signed: bool) -> None:
    """The bundle with one number of its weights changed, with checksums to match or without."""
    write_bundle(folder, source)
    sums = json.loads((folder / "bundle.json").read_text())
    weight = source.model.get_parameter("decoder.layers.0.cross_attention.value.weight")
    weight.data[0] *= -1
    tensors = {name: parameter.detach() for name, parameter in source.model.named_parameters()}
    (folder / "weights.safetensors").write_bytes(tensors_to_bytes(tensors))
    if signed:
        sums["sha256"]["weights.safetensors"] = sha256_file(folder / "weights.safetensors")
        (folder / "bundle.json").write_text(json.dumps(sums))


def test_edited_weights(tmp_path: Path, bundle: Bundle):
    edit_weights(tmp_path / "edited", bundle, signed=False)
    outcomes = verify(tmp_path / "edited")
    assert [outcome.name for outcome in outcomes if outcome.status is Status.FAILED] == ["files"]
    assert "weights.safetensors is damaged or was changed" in outcomes[0].reason
    assert {outcome.reason for outcome in outcomes[1:]} == {"the bundle cannot be loaded"}


def test_edited_weights_with_checksums_to_match(tmp_path: Path, bundle: Bundle):
    edit_weights(tmp_path / "edited", bundle, signed=True)
    outcomes = verify(tmp_path / "edited")
    assert [outcome.name for outcome in outcomes if outcome.status is Status.FAILED] == ["golden"]


def of_a_family(bundle: Bundle, settings: ModelSettings) -> Bundle:
    """A bundle of the same texts with another model, and with labels as targets where that predicts labels."""
    tokenizers = bundle.tokenizers
    if task_of(settings) != "write":
        tokenizers = tokenizers_for_task(TokenizerPair(tokenizers.source, Labels.of("uvwxyz")), task_of(settings))
    with torch.random.fork_rng():
        torch.manual_seed(4)
        sizes = (tokenizers.source.vocabulary_size, tokenizers.target.vocabulary_size)
        model = build_model(settings, *sizes)
    other = Bundle(BundleSettings(model=settings, decoding=bundle.settings.decoding), tokenizers, model.eval())
    return make_golden(other, ["a b c", "d e"])


@pytest.fixture
def recurrent(bundle: Bundle) -> Bundle:
    return of_a_family(bundle, RecurrentSettings(width=8, decoder_layers=2))


RECURRENT = {
    "additive": RecurrentSettings(width=8, decoder_layers=2),
    "general": RecurrentSettings(width=8, cell="gru", attention="general"),
    "none": RecurrentSettings(width=8, cell="rnn", attention="none", decoder_layers=2),
    "tagger": RecurrentLabelsSettings(width=8, task="tag"),
    "classifier": RecurrentLabelsSettings(width=8, task="classify", cell="gru", bidirectional=False),
}


@pytest.mark.parametrize("name", RECURRENT)
def test_a_recurrent_bundle(bundle: Bundle, name: str):
    outcomes = verify_bundle(of_a_family(bundle, RECURRENT[name]))
    left_out = {outcome.name: outcome.reason for outcome in outcomes if outcome.status is not Status.PASSED}
    assert left_out.keys() == {"kernels", "prepared", "eight-bits", "compiled-step", "shortlist", "draft", "compiled"}
    assert left_out["kernels"] == "it has no attention that a kernel computes"


def test_a_recurrent_state_that_is_lost(recurrent: Bundle, monkeypatch: Patch):
    sound = RecurrentModel.advance

    def forgetting(self: RecurrentModel, tokens: Tensor, state: object) -> object:
        hidden, after = sound(self, tokens, state)  # type: ignore[arg-type]
        return hidden, replace(after, cells=state.cells)  # type: ignore[attr-defined]

    monkeypatch.setattr(RecurrentModel, "advance", forgetting)
    outcomes = verify_bundle(recurrent)
    assert failed(outcomes) == {"cached"}
    assert place(outcomes, "cached")[1:] == ("target", 1)


def test_a_bundle_without_golden_examples(bundle: Bundle):
    outcome = line(verify_bundle(replace(bundle, golden=())), "golden")
    assert (outcome.status, outcome.reason) == (Status.SKIPPED, "the bundle has no golden examples")


def test_the_table_and_the_values(bundle: Bundle):
    leak_the_future(bundle)
    outcomes = verify_bundle(bundle)
    lines = table_lines(outcomes)
    number = next(number for number, text in enumerate(lines) if text.startswith("FAIL    the future is masked"))
    place = "first at decoder.layers.0.self_attention, sentence 1, target position 0: "
    assert lines[number + 1].strip().startswith(place)
    assert lines[-1] == "passed: 9, failed: 1, skipped: 9"
    values = to_json("here", outcomes)
    assert (values["version"], values["passed"]) == (1, False)
    future = next(check for check in values["checks"] if check["name"] == "future")
    assert future["status"] == "failed" and future["difference"] > future["tolerance"] > 0
    assert future["place"]["module"] == "decoder.layers.0.self_attention"
    assert json.loads(json.dumps(values, allow_nan=False)) == values


def test_the_command(call: Call, tmp_path: Path, bundle: Bundle):
    sound = call("verify", NEWEST, "--json")
    assert sound.code == 0 and json.loads(sound.out)["passed"]
    edit_weights(tmp_path / "edited", bundle, signed=False)
    broken = call("verify", tmp_path / "edited")
    assert broken.code == 1 and broken.lines[0].startswith("FAIL    the files are complete")
    nothing = call("verify", tmp_path / "nothing")
    assert nothing.code == 4 and "no such folder" in nothing.err


def wrong(made: object) -> object:
    """Numbers that are a little off; whatever else a model gives stays."""
    if isinstance(made, tuple):
        return tuple(map(wrong, made))
    return made + 0.1 * made.roll(1, -1) if isinstance(made, Tensor) and made.is_floating_point() else made


def broken_compiler(function: object) -> None:
    raise RuntimeError("no compiler\nand much more")


@pytest.mark.parametrize(
    ("compiler", "status", "why"),
    [
        (lambda function: function, Status.PASSED, ""),
        (lambda function: lambda *given: wrong(function(*given)), Status.FAILED, ""),
        (broken_compiler, Status.SKIPPED, "torch.compile does not work on this machine: no compiler"),
    ],
    ids=["sound", "wrong", "absent"],
)
def test_what_is_compiled_is_compared(
    bundle: Bundle, monkeypatch: Patch, compiler: Callable[..., object], status: Status, why: str
):
    """With another compiler: the real one takes half a minute, and is that of the test below."""
    monkeypatch.setattr(torch, "compile", compiler)
    compiled = line(verify_bundle(bundle, compiling=True), "compiled")
    assert (compiled.status, compiled.reason[: len(why)]) == (status, why)


@pytest.mark.long
def test_compiled_is_eager_where_it_works():
    """In a process of its own, since the shape checks of the tests cannot be compiled."""
    checks = json.loads(openwork("verify", NEWEST, "--compiled", "--json").out)["checks"]
    (compiled,) = (check for check in checks if check["name"] == "compiled")
    assert compiled["status"] == "passed" or "does not work on this machine" in compiled["reason"]
