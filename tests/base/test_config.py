"""Run files: every mistake is named with key, file, line and remedy."""

from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Annotated, Literal, Self

import pytest
from pydantic import Field, ValidationError, model_validator

from openwork.base.config import (
    Layer,
    Settings,
    apply_assignments,
    build,
    fingerprint,
    read_run_file,
    to_toml,
)
from openwork.base.errors import ConfigError, UsageError


class Norm(Enum):
    PRE = "pre"
    POST = "post"


class TransformerSettings(Settings):
    kind: Literal["transformer"] = "transformer"
    width: int = Field(default=256, ge=1, le=4096, description="numbers per position")
    heads: int = 4
    norm: Norm = Norm.POST

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.width % self.heads:
            raise ValueError(f"width {self.width} is not divisible by heads {self.heads}")
        return self


class LstmSettings(Settings):
    kind: Literal["lstm"] = "lstm"
    hidden: int = 64


class TrainingSettings(Settings):
    rate: float = Field(default=1.0, gt=0)
    betas: tuple[float, float] = (0.9, 0.98)
    out: Path = Path("run")
    steps: int | None = None


class RunSettings(Settings):
    model: Annotated[TransformerSettings | LstmSettings, Field(discriminator="kind")] = TransformerSettings()
    training: TrainingSettings = TrainingSettings()
    seed: int = 1
    name: str = "run"
    live: bool = True


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def written(text: str, name: str = "run.toml") -> Path:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    return written


def refused(path: Path, settings: type[Settings] = RunSettings) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        layer = read_run_file(path)
        build(settings, layer.mapping, layer.origins)
    return caught.value


def test_values_arrive_in_their_types(write: Callable[..., Path]) -> None:
    layer = read_run_file(
        write('seed = 7\n[model]\nkind = "transformer"\nnorm = "pre"\n[training]\nbetas = [0.5, 1]\nout = "a/b"\n')
    )
    settings = build(RunSettings, layer.mapping, layer.origins)
    assert settings.seed == 7
    assert isinstance(settings.model, TransformerSettings)
    assert settings.model.norm is Norm.PRE
    assert settings.training.betas == (0.5, 1.0)
    assert settings.training.out == Path("a/b")
    assert settings.training.steps is None


def test_settings_are_frozen() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        RunSettings().seed = 2  # type: ignore[misc]


def test_an_unknown_key_gets_the_nearest_name(write: Callable[..., Path]) -> None:
    path = write('seed = 1\n\n[model]\nkind = "transformer"\nwidht = 3\n')
    error = refused(path)
    assert error.what == f"{path}:5: unknown key model.widht"
    assert error.hint == "did you mean width?"
    assert "heads, kind, norm, width" in error.why and "hidden" not in error.why


def test_an_unknown_section_and_a_misplaced_key(write: Callable[..., Path]) -> None:
    assert refused(write("\n[trainnig]\nrate = 1\n")).hint == "did you mean training?"
    error = refused(write("rate = 2\n"))
    assert error.what.endswith("run.toml:1: unknown key rate")
    assert error.hint == "did you mean training.rate? It belongs in the section [training]"


@pytest.mark.parametrize("value", ['"256"', "true", "2.0", "inf", "[1]", "1979-05-27"])
def test_a_whole_number_is_a_whole_number(write: Callable[..., Path], value: str) -> None:
    path = write(f"name = 'x'\nseed = {value}\n")
    error = refused(path)
    assert error.what.startswith(f"{path}:2: seed = ")
    assert error.why == "seed is a whole number"
    assert error.hint


@pytest.mark.parametrize(
    ("line", "why", "hint"),
    [
        (
            'model = {kind = "transformer", width = 5000}',
            "at least 1 and at most 4096 (numbers per position)",
            "default",
        ),
        ('model = {kind = "cnn"}', "kind is one of 'transformer', 'lstm'", "default"),
        ('model = {kind = "transformer", norm = "mid"}', 'norm is one of "pre", "post"', "default"),
        ("training = 3", "training is a section", "[training]"),
        ("training.rate = 0", "rate is a number, more than 0", "default"),
        ("training.rate = nan", "rate is a number", "default"),
        ('training.betas = [0.9, "b"]', "betas is a list of: a number, a number", "default"),
        ('live = "true"', "live is true or false", "without quotes: live = true"),
        ("name = 3", "name is a text in quotes", 'name = "3"'),
    ],
)
def test_a_bad_value_says_what_is_allowed(write: Callable[..., Path], line: str, why: str, hint: str) -> None:
    path = write(f"# first\n{line}\n")
    error = refused(path)
    assert error.what.startswith(f"{path}:2: ") and error.what.endswith("is not allowed")
    assert why in error.why
    assert hint in error.hint


def test_a_rule_between_two_keys_points_at_one_of_them(write: Callable[..., Path]) -> None:
    path = write('[model]\nkind = "transformer"\nheads = 3\nwidth = 250\n')
    assert refused(path).what == f"{path}:4: width 250 is not divisible by heads 3"


def test_a_missing_key_and_a_missing_kind(write: Callable[..., Path]) -> None:
    class Needed(Settings):
        source: str = Field(description="path of the source side")

    class Outer(Settings):
        data: Needed

    path = write("\n[data]\n")
    error = refused(path, Outer)
    assert (error.what, error.hint) == (f"{path}:2: data.source is missing", "add a line: source = ...")
    assert "path of the source side" in error.why
    assert refused(write("[model]\nwidth = 4\n")).what.endswith("model.kind is missing")


def test_further_mistakes_are_counted(write: Callable[..., Path]) -> None:
    error = refused(write('seed = "a"\nsede = 2\n'))
    assert error.what.endswith(":2: unknown key sede")
    assert error.why.endswith("1 more mistake(s) after this one")


@pytest.mark.parametrize(
    ("text", "line"), [("a = 1\nb = \n", 2), ("a = 1\n\na = 2\n", 3), ("[x\n", 1), ("a = 1\nb = [1,\n2", 3)]
)
def test_bad_toml_names_its_line(write: Callable[..., Path], text: str, line: int) -> None:
    path = write(text)
    assert refused(path).what.startswith(f"{path}:{line}: not valid TOML")


def test_files_that_cannot_be_read(write: Callable[..., Path], tmp_path: Path) -> None:
    assert "no such run file" in refused(tmp_path / "none.toml").what
    assert "cannot be read" in refused(tmp_path).what
    path = write("")
    path.write_bytes(b"\xef\xbb\xbfa = 1\r\nb = '\xff'\r\n")
    assert refused(path).what == f"{path}:2: invalid UTF-8 in a run file"
    path.write_bytes(b"\xef\xbb\xbfseed = 4\r\n")
    assert read_run_file(path).mapping == {"seed": 4}


def test_a_base_lies_under_its_variant(write: Callable[..., Path]) -> None:
    write('seed = 1\nname = "base"\n[training]\nrate = 0.5\nsteps = 9\n', "small/base.toml")
    path = write('base = "small/base.toml"\nseed = 2\n[training]\nsteps = 10\n')
    layer = read_run_file(path)
    assert layer.mapping == {"seed": 2, "name": "base", "training": {"rate": 0.5, "steps": 10}}
    assert str(layer.origins["training.rate"]).endswith("base.toml:4")
    assert str(layer.origins["training.steps"]) == f"{path}:4"


def test_a_mistake_in_the_base_is_named_there(write: Callable[..., Path]) -> None:
    base = write("seed = 1\n\n[training]\nraet = 0.5\n", "base.toml")
    path = write('base = "base.toml"\n[training]\nsteps = 10\n')
    assert refused(path).what == f"{base}:4: unknown key training.raet"


def test_a_base_that_is_circular_missing_or_no_name(write: Callable[..., Path]) -> None:
    write('base = "run.toml"\n', "other.toml")
    assert "leads back to" in refused(write('base = "other.toml"\n')).what
    assert "is not there" in refused(write('seed = 1\nbase = "gone.toml"\n')).what
    assert "must be the name" in refused(write("base = 3\n")).what


def test_assignments_lie_over_the_file(write: Callable[..., Path]) -> None:
    layer = read_run_file(write('[training]\nrate = 0.5\n[model]\nkind = "lstm"\n'))
    assignments = ["training.rate=2", "name=two words", "training.betas=[1, 2]", "live = false", 'model.kind="lstm"']
    over = apply_assignments(layer, assignments)
    settings = build(RunSettings, over.mapping, over.origins)
    assert (settings.training.rate, settings.name, settings.live) == (2.0, "two words", False)
    assert settings.training.betas == (1.0, 2.0)
    assert layer.mapping["training"] == {"rate": 0.5}  # the layer given stays as it was


def test_a_wrong_assignment_names_itself() -> None:
    for text in ("model.width", "=3", "model..width=3"):
        with pytest.raises(UsageError, match="not an assignment"):
            apply_assignments(Layer(), [text])
    layer = apply_assignments(Layer(), ["training.raet=3"])
    with pytest.raises(ConfigError, match=r"--set training\.raet=3: unknown key training\.raet"):
        build(RunSettings, layer.mapping, layer.origins)
    assert apply_assignments(Layer(), ["name=1\nseed = 3"]).mapping == {"name": "1\nseed = 3"}


def test_settings_survive_the_journey_through_toml(write: Callable[..., Path]) -> None:
    settings = RunSettings(
        model=LstmSettings(hidden=3),
        training=TrainingSettings(rate=1e-9, out=Path("a b"), steps=4),
        name='quo"te\\ \n\x7f é 爱',
    )
    layer = read_run_file(write(to_toml(settings)))
    again = build(RunSettings, layer.mapping, layer.origins)
    assert again == settings
    assert fingerprint(again) == fingerprint(settings)


def test_the_fingerprint_follows_the_values() -> None:
    plain = fingerprint(RunSettings())
    assert fingerprint(RunSettings(seed=1)) == plain
    assert fingerprint(RunSettings(seed=2)) != plain
    assert len(plain) == 16 and set(plain) <= set("0123456789abcdef")


class Part(Settings):
    name: str = "x"
    weight: float = Field(default=1.0, gt=0)


class Mixed(Settings):
    mix: tuple[Part, ...] = ()


MIX = '[[mix]]\nname = "a"\n\n[[mix]]\nname = "b"\nweight = %s\n'


def test_the_tables_of_an_array_have_their_own_lines(write: Callable[..., Path]) -> None:
    path = write(MIX % "3")
    layer = read_run_file(path)
    assert str(layer.origins["mix.0.name"]) == f"{path}:2"
    assert str(layer.origins["mix.1.weight"]) == f"{path}:6"
    assert build(Mixed, layer.mapping).mix == (Part(name="a"), Part(name="b", weight=3))
    assert refused(write(MIX % "0"), Mixed).what == f"{path}:6: mix.1.weight = 0 is not allowed"
    assert refused(write(MIX % "1\nwieght = 2"), Mixed).what == f"{path}:7: unknown key mix.1.wieght"


def test_an_array_over_an_array_replaces_it_and_its_origins(write: Callable[..., Path]) -> None:
    write(MIX % "3", "base.toml")
    path = write('base = "base.toml"\n[[mix]]\nweight = 2\n')
    layer = read_run_file(path)
    assert layer.mapping == {"mix": [{"weight": 2}]}
    assert {key: str(origin) for key, origin in layer.origins.items()} == {
        "mix": f"{path}:2",
        "mix.0": f"{path}:2",
        "mix.0.weight": f"{path}:3",
    }


def test_an_assignment_reaches_into_an_array(write: Callable[..., Path]) -> None:
    path = write(MIX % "3")
    layer = apply_assignments(read_run_file(path), ["mix.1.weight=5", "mix.0.name=c"])
    assert build(Mixed, layer.mapping).mix == (Part(name="c"), Part(name="b", weight=5))
    assert str(layer.origins["mix.1.weight"]) == "--set mix.1.weight=5"
    assert str(layer.origins["mix.1.name"]) == f"{path}:5"
    for wrong in ("mix.2.weight=5", "mix.01.weight=5"):
        with pytest.raises(ConfigError, match="mix"):
            layer = apply_assignments(read_run_file(path), [wrong])
            build(Mixed, layer.mapping, layer.origins)


def test_tables_within_tables_end_somewhere(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text(f"a = {'[' * 30}{']' * 30}\n")
    with pytest.raises(ConfigError, match="are nested more than 20 times") as refused:
        read_run_file(tmp_path / "run.toml")
    assert "key = value" in refused.value.hint


def test_keys_of_version_0_1_0_are_read_under_their_new_names(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """In a file over a file that has the new name, and in --set: the later value counts, and errors name the line."""
    (tmp_path / "base.toml").write_text("[model]\nmaximum_length = 512\n", encoding="utf-8")
    (tmp_path / "run.toml").write_text('base = "base.toml"\n[model]\nlongest = 300\nmarks_prompts = true\n', "utf-8")
    layer = read_run_file(tmp_path / "run.toml")
    assert layer.mapping == {"model": {"maximum_length": 300, "separate_prompt": True}}
    assert str(layer.origins["model.maximum_length"]).endswith("run.toml:3")
    assert apply_assignments(layer, ["model.longest=7"]).mapping["model"]["maximum_length"] == 7
    assert '"model.longest" is now called "model.maximum_length"' in caplog.text
    (tmp_path / "both.toml").write_text("[model]\nlongest = 1\nmaximum_length = 2\n", encoding="utf-8")
    assert set(read_run_file(tmp_path / "both.toml").mapping["model"]) == {"longest", "maximum_length"}
