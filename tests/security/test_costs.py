"""What a stranger's small file may cost: it is refused before it takes memory or time, in the same words everywhere."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import ValidationError

from fuzz.folders import sign_bundle
from openwork.base.config import Layer, read_run_file
from openwork.base.errors import BundleError, ConfigError
from openwork.bundles.bundle import load_bundle
from openwork.models import layer_settings
from openwork.models.settings import TransformerSettings
from openwork.runs.file.inheritance import inherit
from openwork.runs.tuning import Pretrained


def go_on(bundle: Path) -> object:
    """What `openwork train --from-bundle` does with it first."""
    return inherit(Layer({"data": {"corpus": "copy"}, "fine_tuning": {"from_bundle": str(bundle)}}))


READERS = (load_bundle, go_on, lambda bundle: Pretrained.of(str(bundle)))


def refusals(bundle: Path) -> list[tuple[str, str]]:
    """What and why, as each reader of a bundle says it."""
    said = []
    for read in READERS:
        with pytest.raises(BundleError) as refused:
            read(bundle)
        said.append((refused.value.what, refused.value.why))
    return said


def change(bundle: Path, edit: Callable[[str], str]) -> None:
    path = bundle / "config.toml"
    text = path.read_text()
    assert edit(text) != text
    path.write_text(edit(text))
    sign_bundle(bundle)


ODD: dict[str, Callable[[str], str]] = {
    "no model": lambda text: "[decoding]\nbeam = 1\n",
    "nothing": lambda text: "",
    "model is a text": lambda text: 'model = "x"\n',
    "an unknown section": lambda text: text + "\n[more]\nx = 1\n",
    "an unknown key": lambda text: text.replace("[model]\n", "[model]\nwidht = 4\n"),
    "an unknown kind": lambda text: text.replace('kind = "transformer"', 'kind = "x"'),
    "a preset": lambda text: text.replace("[model]\n", '[model]\npreset = "base"\n'),
    "a wrong value": lambda text: re.sub(r"(?m)^width = \d+$", "width = 0", text),
    "no TOML": lambda text: "[[",
    "a beam that fills the memory": lambda text: re.sub(r"(?m)^beam = \d+$", "beam = 100000000", text),
    "a billion heads": lambda text: re.sub(r"(?m)^heads = \d+$", "heads = 1000000000", text),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", ODD)
def test_odd_settings_with_right_checksums(bundle_folder: Path, case: str) -> None:
    """`train --from-bundle` took some of them for a mistake in openwork."""
    change(bundle_folder, ODD[case])
    first, *others = refusals(bundle_folder)
    assert "its config.toml is not understood" in first[0]
    assert others == [first] * len(others)


def test_more_layers_than_weights(bundle_folder: Path) -> None:
    change(bundle_folder, lambda text: re.sub(r"(?m)^encoder_layers = \d+$", "encoder_layers = 1000", text))
    for what, why in refusals(bundle_folder):
        assert "these weights belong to another model" in what and "more layers" in why


def test_a_model_larger_than_its_weights_before_a_training_takes_memory(bundle_folder: Path) -> None:
    change(bundle_folder, lambda text: re.sub(r"(?m)^feedforward_width = \d+$", f"feedforward_width = {1 << 17}", text))
    with pytest.raises(BundleError, match="these weights belong to a model of other sizes"):
        Pretrained.of(str(bundle_folder))


# -------------------------------------------------------------------------------------------------------------- hints


@pytest.mark.parametrize("number", [1, 2, 12, 97, 360, 1024, 9973 * 2])
def test_divisors_are_those_that_trying_all_numbers_finds(number: int) -> None:
    assert layer_settings._divisors(number) == [count for count in range(1, number + 1) if number % count == 0]


def test_a_hint_costs_no_more_than_the_mistake() -> None:
    """Every number up to the heads was tried."""
    assert len(layer_settings._divisors(10**9)) == 10 * 10
    assert layer_settings._divisors(10**18 + 9) == [1, 10**18 + 9]  # a prime


def test_heads_that_do_not_divide_the_width_are_told_which_do() -> None:
    with pytest.raises(ValidationError, match="width 512 is not divisible by 7 heads") as refused:
        TransformerSettings.model_validate({"width": 512, "heads": 7})
    assert refused.value.errors()[0]["ctx"]["error"].hint.startswith("take 4 heads, a width of 518")


def test_heads_that_share_keys_unevenly_are_told_the_divisors() -> None:
    with pytest.raises(ValidationError, match="8 heads cannot share 3") as refused:
        TransformerSettings.model_validate({"width": 64, "heads": 8, "key_value_heads": 3})
    assert refused.value.errors()[0]["ctx"]["error"].hint == "set key_value_heads to one of 1, 2, 4, 8"


def test_a_base_that_no_file_can_have(tmp_path: Path) -> None:
    for base in (r"\u0000", "x" * 5000):
        (tmp_path / "run.toml").write_text(f'base = "{base}"\n')
        with pytest.raises(ConfigError, match=r"is not there|holds a NUL character"):
            read_run_file(tmp_path / "run.toml")
