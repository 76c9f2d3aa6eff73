"""The keys of [decoding] as options: what is given on the command line goes before what the bundle says."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any

import typer

from openwork.base.errors import UsageError


@dataclass(frozen=True)
class SearchOptions:
    """How translations are searched for."""

    beam: Annotated[int | None, typer.Option(min=1, help="Hypotheses per sentence; 1 is greedy search.")] = None
    best: Annotated[int | None, typer.Option(min=1, help="Translations per line, with scores, separated by tabs.")] = (
        None
    )
    length_penalty: Annotated[float | None, typer.Option(min=0.0, help="Above 0 favours longer ones.")] = None
    coverage_penalty: Annotated[
        float | None, typer.Option(min=0.0, help="Above 0 ranks lower what leaves source words out.")
    ] = None
    no_repeat: Annotated[
        int | None, typer.Option(min=0, help="No so many pieces in a row come twice; 0: they may.")
    ] = None
    groups: Annotated[
        int | None, typer.Option(min=1, help="Parts of the beam that avoid each other (diverse beam).")
    ] = None
    diversity: Annotated[float | None, typer.Option(min=0.0, help="How strongly groups avoid each other.")] = None
    minimum_bayes_risk: Annotated[
        str | None, typer.Option(help="Take what the other hypotheses agree with: chrf, bleu, none.")
    ] = None


@dataclass(frozen=True)
class SamplingOptions:
    """How translations are drawn."""

    samples: Annotated[
        int | None, typer.Option(min=0, help="Draw so many translations at random instead of searching.")
    ] = None
    temperature: Annotated[float | None, typer.Option(help="Of samples: below 1 the probable comes more often.")] = None
    top_k: Annotated[int | None, typer.Option(min=0, help="Of samples: only the k most probable pieces.")] = None
    top_p: Annotated[
        float | None, typer.Option(help="Of samples: only the head that has this probability together.")
    ] = None
    seed: Annotated[int | None, typer.Option(min=0, help="Of samples: the same seed gives the same.")] = None


@dataclass(frozen=True)
class WishOptions:
    """What every translation must or must not hold."""

    prefix: Annotated[str | None, typer.Option(help="Text that every translation begins with.")] = None
    required: Annotated[
        list[str] | None, typer.Option("--require", help="Text that every translation holds; repeatable.")
    ] = None
    forbidden: Annotated[
        list[str] | None, typer.Option("--forbid", help="Text that no translation holds; repeatable.")
    ] = None


def given(*groups: Any) -> dict[str, Any]:
    """What the command line gives of the fields of groups of options."""
    values = {field.name: getattr(group, field.name) for group in groups for field in fields(group)}
    return {key: value for key, value in values.items() if value is not None and value is not False and value != []}


def settings_over(settings: Any, options: dict[str, Any], origins: Mapping[str, Any] | None = None) -> Any:
    """The bundle's settings with the options over them; what was not asked for makes room for what was.

    `origins` tells which options come from a file, and from where in it.
    """
    from openwork.systems.translation_file import decoding_settings

    values = {**settings.model_dump(mode="json"), "best": 1, **options}
    if options.get("samples") == 0 or "beam" in options:  # a search, whatever the bundle does
        plain = type(settings)()
        kept = {"samples": 0, "temperature": plain.temperature, "top_k": plain.top_k, "top_p": plain.top_p}
        values = {**values, **{key: value for key, value in kept.items() if key not in options}}
    if values["samples"]:
        for key, value in (("groups", 1), ("coverage_penalty", 0.0)):
            values[key] = options.get(key, value)
        if "samples" in options and "best" not in options and values["minimum_bayes_risk"] == "none":
            values["best"] = values["samples"]
    elif "beam" not in options:
        values["beam"] = max(values["best"], settings.beam)
    elif values["best"] > values["beam"]:
        best = values["best"]
        raise UsageError(f"--best {best} needs a beam of at least {best}", hint=f"--beam {best}, or leave it out")
    return decoding_settings(values, origins or {})


NOT_STREAMED = ("beam", "best", "groups", "coverage_penalty", "minimum_bayes_risk", "required")


def settings_for_streaming(settings: Any, options: dict[str, Any], origins: Mapping[str, Any] | None = None) -> Any:
    """One hypothesis, written from left to right; UsageError for options that need more than that."""
    for key in NOT_STREAMED:
        if key in options and not (key in ("beam", "best") and options[key] == 1):
            name = "--require" if key == "required" else f"--{key.replace('_', '-')}"
            raise UsageError(f"--stream does not go with {name}", hint="what is written cannot be taken back")
    single = {"beam": 1, "best": 1, "groups": 1, "coverage_penalty": 0.0, "minimum_bayes_risk": "none"}
    return settings_over(settings, {**options, **single, "samples": min(options.get("samples", 0), 1)}, origins)
