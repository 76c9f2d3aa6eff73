"""Every key of settings models in words, and all mistakes of a file at once."""

import tomllib
from typing import Annotated, Literal

from pydantic import Field, model_validator

from openwork.base.config import Settings, build, find_mistakes, to_toml
from openwork.base.fields import all_keys
from openwork.base.toml import ValueOrigin


class Round(Settings):
    kind: Literal["round"] = "round"
    radius: float = Field(default=1.5, gt=0, le=9, description="from the middle to the edge")
    colour: Literal["red", "blue"] = "red"


class Square(Settings):
    kind: Literal["square"] = "square"
    side: int = Field(default=2, ge=1)
    colour: Literal["red", "blue"] = "red"


class Part(Settings):
    name: str
    weight: float | None = Field(default=None, gt=0)


class Everything(Settings):
    shape: Annotated[Round | Square, Field(discriminator="kind")] = Round()
    parts: tuple[Part, ...] = ()
    title: str | None = None
    pair: tuple[int, int] = (1, 2)
    live: bool = True

    @model_validator(mode="after")
    def _live_needs_title(self) -> "Everything":
        if not self.live and self.title is None:
            raise ValueError("live = false needs a title")
        return self


KEYS = {(key.name, key.kinds): key for key in all_keys(Everything)}


def test_each_key_comes_with_what_it_takes_and_its_default():
    radius = KEYS["shape.radius", ("round",)]
    assert (radius.takes, radius.default) == ("a number, more than 0 and at most 9", "1.5")
    assert (radius.section, radius.last, radius.header) == ("shape", "radius", "[shape]")
    assert radius.description == "from the middle to the edge"
    assert KEYS["live", ()].default == "true"
    assert KEYS["pair", ()].default == "[1, 2]"
    assert KEYS["title", ()].default == "" and KEYS["title", ()].shown_default == "not set"


def test_kinds_of_a_section():
    """What both kinds have in the same way comes once; the tag comes once, with all its values."""
    assert KEYS["shape.colour", ("round", "square")].takes == 'one of "red", "blue"'
    tag = KEYS["shape.kind", ()]
    assert (tag.takes, tag.default) == ('one of "round", "square"', '"round"')
    assert ("shape.side", ("square",)) in KEYS and ("shape.side", ("round",)) not in KEYS


def test_tables_of_an_array():
    assert KEYS["parts[].weight", ()].takes == "a number, more than 0"
    assert KEYS["parts[].weight", ()].header == "[[parts]]"
    assert KEYS["parts", ()].default == "[]"


def test_all_mistakes_at_once():
    mapping = {"shape": {"kind": "round", "radius": 0, "colour": "green", "sides": 3}, "live": "yes", "tilte": "x"}
    origins = {"shape.radius": ValueOrigin("a.toml", 3), "tilte": ValueOrigin("a.toml", 7)}
    whats = [error.what for error in find_mistakes(Everything, mapping, origins)]
    assert len(whats) == 5
    assert whats[0].endswith("unknown key shape.sides") and "a.toml:7: unknown key tilte" in whats[1]
    assert any(what.startswith("a.toml:3: shape.radius = 0") for what in whats)


def test_rules_between_keys_are_told_when_the_values_are_right():
    assert [error.what for error in find_mistakes(Everything, {"live": False}, {})] == ["live = false needs a title"]
    assert find_mistakes(Everything, {"live": False, "title": "x"}, {}) == []


def test_comments_stand_behind_values_and_change_nothing():
    settings = build(Everything, {"title": "a # b", "parts": [{"name": "x"}]})
    text = to_toml(settings, {"title": "run.toml:1", "shape.radius": "two\nlines", "live": "default"})
    assert 'title = "a # b"  # run.toml:1\n' in text and "radius = 1.5  # two\\nlines\n" in text
    assert build(Everything, tomllib.loads(text)) == settings
