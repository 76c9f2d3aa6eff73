"""How one option of another toolkit becomes one of ours, or why not: what the tables of the toolkits are made of."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

from openwork.migration.draft import Draft
from openwork.migration.options import Reader, Value


@runtime_checkable
class OptionRule(Protocol):
    """What is to be done about an option that has a value."""

    def apply(self, draft: Draft, name: str) -> None: ...


@dataclass(frozen=True)
class To:
    """The option is one of ours under another name; `note` says what differs in meaning."""

    key: str
    read: Reader
    note: str = ""

    def apply(self, draft: Draft, name: str) -> None:
        draft.set(self.key, draft.value(name, self.read), name, note=self.note)


@dataclass(frozen=True)
class ChoiceRule:
    """One of several words, each of which is a value of ours; other words have no counterpart, for the reason given."""

    key: str
    values: Mapping[str, Any]
    otherwise: str

    def apply(self, draft: Draft, name: str) -> None:
        word = draft.value(name, str)
        if word in self.values:
            draft.set(self.key, self.values[word], name)
        else:
            draft.missing(name, self.otherwise)


@dataclass(frozen=True)
class Without:
    """There is nothing of the kind here."""

    reason: str

    def apply(self, draft: Draft, name: str) -> None:
        value = draft.value(name, lambda value: value)
        if value is None or value is False or value in ([], {}):
            draft.same(name, "off there, and not here")
        else:
            draft.missing(name, self.reason)


@dataclass(frozen=True)
class Always:
    """Openwork always does what the value says; any other value has no counterpart, for the reason given."""

    values: Sequence[Any]
    note: str
    otherwise: str

    def apply(self, draft: Draft, name: str) -> None:
        value = draft.value(name, lambda value: value)
        if any(value == meant or str(value).lower() == str(meant).lower() for meant in self.values):
            draft.same(name, self.note)
        else:
            draft.missing(name, self.otherwise)


@dataclass(frozen=True)
class Toolkit:
    """What is known of one toolkit.

    table: the options that can be judged alone. groups: functions for those that only make sense together. programs:
    names of its commands, each with a prefix for the names of its options; vague_programs are names that others have
    too. signs: what tells its files from others, in words. defaults: what it takes where a file says nothing. canonical
    makes the table's name from what stands in a file; short has other names for options. flags are the options that
    take no word, where a word alone has a meaning (`positional`); config names the option that gives a file of options.
    """

    name: str
    title: str
    signs: str
    programs: Mapping[str, str]
    table: Mapping[str, OptionRule]
    groups: Sequence[Callable[[Draft], None]]
    defaults: Mapping[str, Value]
    canonical: Callable[[str], str]
    vague_programs: Mapping[str, str] = field(default_factory=dict)
    short: Mapping[str, str] = field(default_factory=dict)
    flags: frozenset[str] | None = None
    positional: str = ""
    config: str = ""

    def knows(self, name: str) -> bool:
        """Whether the toolkit has an option of this name, as far as we know."""
        return name in self.table or name in self._grouped

    @cached_property
    def _grouped(self) -> frozenset[str]:
        """The options that the groups ask for."""
        empty = Draft(self.title, (), self.defaults)
        for group in self.groups:
            group(empty)
        return frozenset(empty.asked)

    def takes_words(self, name: str) -> bool:
        """Whether words that follow the option belong to it."""
        return self.flags is None or name not in self.flags

    def apply(self, draft: Draft) -> None:
        """Judge every option."""
        for group in self.groups:
            group(draft)
        for name, rule in self.table.items():
            if draft.has(name):
                rule.apply(draft, name)


def table(rules: Mapping[str, OptionRule], without: Mapping[str, str]) -> dict[str, OptionRule]:
    """A table of rules; `without` gives a reason, and the names of the options that have no counterpart for it."""
    missing = {name: Without(reason) for reason, names in without.items() for name in names.split()}
    return {**missing, **rules}


def aliases(text: str) -> dict[str, str]:
    """Other names of options, written as other=name with blanks between."""
    return dict(pair.split("=") for pair in text.split())
