"""Draft of a run file, made from another toolkit's options, and the verdict on each option."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from openwork.base.messages import msg
from openwork.base.phrases import Joined
from openwork.data.settings import DataSettings
from openwork.migration.options import ExternalOption, Reader, Value, show
from openwork.models.families import model_settings
from openwork.runs.file.settings import RunSettings


class Verdict(StrEnum):
    """The four lists of a translation's report; every option is in exactly one."""

    MAPPED = "mapped"
    SAME = "same"
    ATTENTION = "attention"
    MISSING = "missing"


@dataclass(frozen=True)
class DraftLine:
    """A line of the run file to be: a key, its value, where it came from, and what differs in meaning.

    implied: whether it comes from the toolkit's defaults, and from no option of the file.
    """

    key: str
    value: Any
    source: str
    note: str = ""
    implied: bool = False


class OptionVerdict(NamedTuple):
    """The verdict on one option. `settings` are the keys and values that it led to."""

    option: ExternalOption
    verdict: Verdict
    settings: Mapping[str, Any]
    note: str


@dataclass
class _Known:
    """Findings so far on one option of the file."""

    option: ExternalOption
    settings: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    missing: str = ""
    same: str = ""

    def add_note(self, note: str) -> None:
        if note and note not in self.notes:
            self.notes.append(note)


class Draft:
    """Maps options of a toolkit to keys of a run file.

    A value comes from the option that was given, else from a preset that was (`expand`), else from the toolkit's
    defaults, never from openwork's.
    """

    def __init__(self, toolkit: str, options: Iterable[ExternalOption], defaults: Mapping[str, Value]) -> None:
        self.toolkit = toolkit
        self.to_do: list[str] = []
        self.remarks: list[str] = []
        self.names_read: set[str] = set()
        self._known: list[_Known] = []
        self._given: dict[str, _Known] = {}
        self._values = dict(defaults)
        self._givers: dict[str, _Known] = {}  # the options that gave the values, themselves or as presets
        self._lines: dict[str, DraftLine] = {}
        for option in options:
            if earlier := self._given.get(option.name):
                earlier.missing = msg(f"given again at {option.place}, which takes precedence")
            self._known.append(_Known(option))
            self._given[option.name] = self._givers[option.name] = self._known[-1]
            self._values[option.name] = option.value

    def given(self, *names: str) -> str | None:
        """The first of the names that the file gives."""
        return next((name for name in names if name in self._given), None)

    def names(self) -> list[str]:
        return list(self._given)

    def has(self, name: str) -> bool:
        """Whether there is a value, given, of a preset, or by default."""
        return name in self._values

    def value(self, name: str, read: Reader, otherwise: Any = None) -> Any:
        """The value under a name as `read` understands it, or `otherwise`; what it does not understand is noted."""
        self.names_read.add(name)
        value = self._values.get(name)
        if value is None:
            return otherwise
        try:
            return read(value)
        except (ValueError, TypeError, OverflowError):
            self.warn(name, "this value was not understood, so it is left out")
            return otherwise

    def first(self, read: Reader, *names: str, otherwise: Any = None) -> Any:
        found = self.given(*names) or next((name for name in names if self.has(name)), None)
        return self.value(found, read, otherwise) if found else otherwise

    def expand(self, name: str, values: Mapping[str, Value]) -> None:
        """A preset: values for other names, which options that are given override."""
        for other in values.keys() - self._given.keys():
            self._values[other] = values[other]
            if name in self._given:
                self._givers[other] = self._given[name]

    def set(self, key: str, value: Any, *names: str, note: str = "") -> None:
        """Write `key = value`, which the options of these names led to; `note` says what differs in meaning."""
        self.names_read.update(names)
        if value is None:
            return
        origins = list({id(known): known for name in names if (known := self._givers.get(name))}.values())
        for known in origins:
            known.settings[key] = value
            known.add_note(note)
        if origins:
            source = "from " + "; ".join(f"{known.option.text} ({known.option.place})" for known in origins)
        else:
            defaults = [f"{name} {show(self._values[name])}" for name in names if name in self._values]
            source = msg(f"{self.toolkit}'s default: {', '.join(defaults) or ', '.join(names)}")
        self._lines[key] = DraftLine(key, value, source, note, implied=not origins)

    def copy(self, key: str, name: str, read: Reader, otherwise: Any = None, *, note: str = "") -> None:
        """Write the value of one option under a key."""
        self.set(key, self.value(name, read, otherwise), name, note=note)

    def choose(self, key: str, word: str, values: Mapping[str, Any], reason: str, *names: str, note: str = "") -> None:
        """Write the value of a word under a key; without one the first option has no counterpart, for this reason."""
        if word in values:
            self.set(key, values[word], *names, note=note)
        else:
            self.missing(names[0], reason)

    def add(self, key: str, value: Any, source: str, note: str = "") -> None:
        """Write a line that no option led to; `source` says in words why it is there."""
        self._lines[key] = DraftLine(key, value, source, note, implied=True)

    def drop(self, key: str, reason: str) -> None:
        """Remove a line; the options that led to it get the reason."""
        self._lines.pop(key, None)
        for known in self._known:
            if known.settings.pop(key, None) is not None:
                known.notes.append(reason)

    def warn(self, names: str | Sequence[str], note: str) -> None:
        """Note what differs in meaning about the options of these names that were given."""
        for name in self._reading(names):
            if known := self._given.get(name):
                known.add_note(note)

    def missing(self, names: str | Sequence[str], reason: str) -> None:
        """The options have no counterpart here, for this reason."""
        for name in self._reading(names):
            if known := self._given.get(name):
                known.missing = known.missing or reason
            elif name in self._values and name not in self._givers:
                self.remarks.append(msg(f"{self.toolkit}'s default {name} {show(self._values[name])}: {reason}"))

    def same(
        self, names: str | Sequence[str], note: str, when: bool = True, *, missing: str = "", warning: str = ""
    ) -> None:
        """If `when`, the options ask for what openwork does anyway; else they are missing, or a warning says more."""
        if not when:
            return self.missing(names, missing) if missing else self.warn(names, warning)
        for name in self._reading(names):
            if known := self._given.get(name):
                known.same = known.same or note

    def _reading(self, names: str | Sequence[str]) -> Sequence[str]:
        """The names as a list, now known to be read."""
        found = [names] if isinstance(names, str) else names
        self.names_read.update(found)
        return found

    def current(self, key: str) -> Any:
        """The draft's value of a key so far, or openwork's default."""
        return self._lines[key].value if key in self._lines else self.defaults().get(key)

    def defaults(self) -> dict[str, Any]:
        """openwork's defaults by key, for the draft's kind of model."""
        kind = self._lines["model.kind"].value if "model.kind" in self._lines else "transformer"
        found: dict[str, Any] = {}
        for section, described in RunSettings.model_fields.items():
            if section == "model":
                settings: Any = model_settings({"kind": kind})
            elif section == "data":  # it has no default as a whole
                found |= {f"data.{key}": entry.default for key, entry in DataSettings.model_fields.items()}
                continue
            else:
                settings = described.get_default(call_default_factory=True)
            if settings is None:  # a section that other toolkits have not, such as [picture]
                continue
            found |= {f"{section}.{key}": getattr(settings, key) for key in type(settings).model_fields}
        return {**found, "model.kind": "transformer"}

    def lines(self) -> list[DraftLine]:
        """The lines that differ from openwork's defaults or have a note, in the order of the settings."""
        defaults = self.defaults()
        order = list(defaults)
        wanted = [line for key, line in self._lines.items() if line.note or line.value != defaults.get(key)]
        return sorted(wanted, key=lambda line: order.index(line.key) if line.key in order else len(order))

    def findings(self) -> list[OptionVerdict]:
        """The verdict on every option, in the order of the file."""
        defaults = self.defaults()
        return [self._finding(known, defaults) for known in self._known]

    def _finding(self, known: _Known, defaults: Mapping[str, Any]) -> OptionVerdict:
        verdict, note, is_set = Verdict.SAME, known.same, known.option.value is not None
        if known.missing and not known.settings and is_set:
            verdict, note = Verdict.MISSING, known.missing
        elif known.notes:  # each may contain semicolons
            verdict, note = Verdict.ATTENTION, Joined(*[part for note in known.notes for part in ("; ", note)][1:])
        elif any(value != defaults.get(key) for key, value in known.settings.items()):
            verdict = Verdict.MAPPED
        elif not known.settings and not is_set:
            note = msg("not set")
        elif not known.settings and not known.same:
            verdict, note = Verdict.MISSING, msg(f"openwork does not know this option of {self.toolkit}")
        return OptionVerdict(known.option, verdict, known.settings, note)
