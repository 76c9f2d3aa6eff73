"""Tables of a toolkit's options: what becomes of each option that can be judged alone."""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from importlib import resources
from typing import Any

from openwork.base.messages import msg
from openwork.migration import options
from openwork.migration.draft import Draft
from openwork.migration.equivalents import one_for_both

READERS: dict[str, options.Reader] = {
    name: getattr(options, name)
    for name in ("at_least_one", "boolean", "integer", "negated", "not_negative", "number", "present", "text")
}
"""How a table names the functions that read a value."""

# Why several toolkits' options have no counterpart, by the short names that the tables use.
REASONS = {
    "outside": msg("the command line names the output folder: openwork train RUN.toml --out FOLDER"),
    "tests": msg("the command line names what to translate or test: openwork translate, openwork evaluate"),
    "weights": msg("openwork cannot start a training from another toolkit's weights"),
    "checkpoints": msg("openwork keeps the checkpoints that training.average needs"),
    "validation": msg("openwork saves a checkpoint at each validation"),
    "device": msg("openwork trains on one device"),
    "gpu": msg("openwork takes a GPU where there is one"),
    "float16": msg("concerns float16, which openwork does not have"),
    "half": msg("openwork computes in float32 or bfloat16, never in float16, and needs no scaling of the loss"),
    "reading": msg("openwork reads, shuffles and batches by itself"),
    "filters": msg("counted in tokens there; openwork's filters count characters (filters.*)"),
    "vocabulary": msg("openwork learns the vocabulary from the training text"),
    "vocabulary-in-bundle": msg("openwork learns the vocabulary when training begins, and keeps it in the bundle"),
    "progress": msg("openwork has one way to show progress, and records it in the run's folder"),
    "part": msg("openwork has no such part"),
}


def copy_key(draft: Draft, name: str, key: str, reader: str, note: str = "") -> None:
    """The option is a key of a run file under another name; `note` says what differs in meaning."""
    draft.copy(key, name, READERS[reader], note=note)


def choose_value(draft: Draft, name: str, key: str, values: Mapping[str, Any], reason: str) -> None:
    """One of several words, each a value of the key; other words have no counterpart, for the reason given."""
    draft.choose(key, draft.value(name, str), values, reason, name)


def compare_fixed(draft: Draft, name: str, values: Sequence[Any], note: str, reason: str) -> None:
    """openwork always does what one of the values says; others have no counterpart, for the reason given."""
    value = draft.value(name, lambda value: value)
    draft.same(name, note, any(options.is_alike(value, one) for one in values), missing=reason)


def report_missing(draft: Draft, name: str, reason: str) -> None:
    """openwork has nothing of the kind; the reason in words, or its name in `REASONS`."""
    value = draft.value(name, lambda value: value)
    is_off = value is None or value is False or value in ([], {})
    draft.same(name, "off, as in openwork", is_off, missing=REASONS.get(reason, reason))


def switch_on(draft: Draft, name: str, key: str, value: Any, note: str = "") -> None:
    """The option without words stands for a value of the key; `note`: in words, or its name in `REASONS`."""
    if draft.given(name) and draft.value(name, options.boolean, False):
        draft.set(key, value, name, note=REASONS.get(note, note))


Rule = tuple[Callable[..., None], Sequence[Any]]
"""What to do about an option that has a value: a function of the draft and the option's name, and more arguments."""


@dataclass(frozen=True)
class Toolkit:
    """What is known of one toolkit. `read_toolkit` reads most of it from a table.

    Args:
        name: as the command line takes it.
        title: as its makers write it.
        signs: how its files differ from others, in words.
        table: the options that can be judged alone.
        groups: functions for the options that only make sense together.
        canonical: makes the table's name from what stands in a file.
        defaults: what the toolkit takes where a file says nothing.
        presets: the options that a name of one option stands for.
        programs: its commands, each with a prefix for the names of its options.
        ambiguous_programs: the same for names that other toolkits' commands have too.
        aliases: other names of options.
        flags: options that take no word, where a word alone has a meaning (`positional`).
        config: the option that names a file of options.
    """

    name: str
    title: str
    signs: str
    table: Mapping[str, Rule]
    groups: Sequence[Callable[[Draft], None]]
    canonical: Callable[[str], str]
    defaults: Mapping[str, options.Value]
    presets: Mapping[str, Mapping[str, options.Value]]
    programs: Mapping[str, str]
    ambiguous_programs: Mapping[str, str] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)
    flags: frozenset[str] | None = None
    positional: str = ""
    config: str = ""

    def option_name(self, shown: str, prefix: str = "") -> str:
        """The table's name of an option as it stands in a file, or behind a program with this prefix."""
        name = self.canonical(shown)
        name = name if name.startswith(prefix) else f"{prefix}{name}"
        return self.aliases.get(name, name)

    def knows(self, name: str) -> bool:
        """Whether the table or a group has an option of this name."""
        return name in self.table or name in self._grouped

    @cached_property
    def _grouped(self) -> frozenset[str]:
        empty = Draft(self.title, (), self.defaults)
        for group in self.groups:
            group(empty)
        return frozenset(empty.names_read)

    def apply(self, draft: Draft) -> None:
        """Judge every option."""
        for group in self.groups:
            group(draft)
        for name, (rule, arguments) in self.table.items():
            if draft.has(name):
                rule(draft, name, *arguments)


def read_toolkit(
    file: str, groups: Sequence[Callable[[Draft], None]], canonical: Callable[[str], str], base: Toolkit | None = None
) -> Toolkit:
    """The toolkit that a TOML file of this folder describes; its table and defaults add to those of `base`.

    [keys]      option = [key, reader, note]       `copy_key`
    [choices]   option = [key, values, reason]     `choose_value`
    [fixed]     option = [values, note, reason]    `compare_fixed`
    [switches]  option = [key, value, note]        `switch_on`
    [missing]   reason = options                   `report_missing`
    [notes]     note = options                     `Draft.warn`
    [both]      two options = [key, reader]        `one_for_both`

    Several options with one rule stand in one key, with blanks between them. A preset may have a base.
    """
    given = tomllib.loads(resources.files("openwork.migration").joinpath(f"{file}.toml").read_text("utf-8"))
    rules: dict[str, Rule] = {}
    for section, rule in (("missing", report_missing), ("notes", Draft.warn)):
        for words, names in given.pop(section, {}).items():
            rules |= dict.fromkeys(names.split(), (rule, [words]))
    for key, reader, *names in ((*entry, *names.split()) for names, entry in given.pop("both", {}).items()):
        groups = (*groups, partial(one_for_both, key=key, names=names, read=READERS[reader]))
    sections = {"keys": copy_key, "choices": choose_value, "fixed": compare_fixed, "switches": switch_on}
    for section, rule in sections.items():
        for names, arguments in given.pop(section, {}).items():
            rules |= dict.fromkeys(names.split(), (rule, arguments))
    presets: dict[str, dict[str, options.Value]] = {}
    for name, values in given.pop("presets", {}).items():
        presets[name] = {**presets.get(values.pop("base", ""), {}), **values}
    return Toolkit(
        presets=presets,
        table={**(base.table if base else {}), **rules},
        groups=groups,
        canonical=canonical,
        defaults={**(base.defaults if base else {}), **given.pop("defaults")},
        aliases=dict(pair.split("=") for pair in given.pop("aliases", "").split()),
        flags=frozenset(given.pop("flags").split()) if "flags" in given else None,
        **given,
    )
