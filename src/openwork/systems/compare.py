"""Two systems on the same sentences: their scores, and whether the difference is more than luck."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from openwork.base.errors import DataError, UsageError
from openwork.base.files import read_lines
from openwork.metrics.significance import SIGNIFICANT, Difference, Effort, Interval
from openwork.metrics.significance import compare as compare_lines
from openwork.systems.evaluation_folder import is_evaluation, read_evaluation

Say = Callable[[str], None]


@dataclass(frozen=True)
class Output:
    """What one system said. `references` and `signatures` are known of a saved evaluation."""

    name: str
    translations: Sequence[str]
    references: Sequence[str] | None = None
    language: str | None = None
    signatures: dict[str, str] | None = None


@dataclass(frozen=True)
class Compared:
    """Two systems by each metric."""

    first: str
    second: str
    sentences: int
    differences: tuple[Difference, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        metrics = [{**asdict(one), "difference": one.value, "significant": one.significant} for one in self.differences]
        return {"first": self.first, "second": self.second, "sentences": self.sentences, "metrics": metrics}

    def lines(self) -> list[str]:
        """For a person: the scores, the difference with what both tests say of it, and the signature."""
        lines = [f"A {self.first}", f"B {self.second}", f"{self.sentences:,} sentences"]
        for one in self.differences:
            first, second = _score_line(one.first), _score_line(one.second)
            lines += [
                "",
                f"{one.metric:<8} A {first}   B {second}   difference {one.value:+.2f}",
                f"         p = {one.bootstrap:.4f} by paired bootstrap, {one.randomisation:.4f} by randomisation",
                f"         {_verdict_line(one)}",
                f"         {one.signature}",
            ]
        return lines


def _score_line(score: Interval) -> str:
    return f"{score.value:.2f} (95 %: {score.low:.2f} to {score.high:.2f})"


def _verdict_line(one: Difference) -> str:
    if one.significant:
        return f"{'B' if one.value > 0 else 'A'} is better: p < {SIGNIFICANT} by both tests"
    return f"no significant difference: p >= {SIGNIFICANT} by at least one test"


def read_output(path: Path) -> Output:
    """A saved evaluation, or a file of translations, one a line."""
    if is_evaluation(path):
        saved = read_evaluation(path)
        return Output(str(path), saved.translations, saved.references, saved.language, saved.signatures)
    if path.is_dir():
        raise DataError(
            f"{path}: a folder without a saved evaluation",
            hint="name a file of translations, what openwork evaluate --out wrote, or give --corpus to compare bundles",
        )
    return Output(str(path), list(read_lines(path)))


def compare(
    first: Output, second: Output, references: Sequence[str] | None, language: str | None, effort: Effort
) -> Compared:
    """Both tests on the two outputs; DataError where they cannot be compared.

    `references` are those given besides; `language` decides over what the outputs know of it.
    """
    _check_signatures(first, second)
    shared = _shared_references([("--reference", references), *((one.name, one.references) for one in (first, second))])
    for one in (first, second):
        if len(one.translations) != len(shared):
            raise DataError(
                f"{one.name} has {len(one.translations):,} translations, and there are {len(shared):,} references",
                hint="compare outputs for the same test set, line for line",
            )
    target = language or first.language or second.language
    found = compare_lines(first.translations, second.translations, shared, language=target, effort=effort)
    return Compared(first.name, second.name, len(shared), found)


def _check_signatures(first: Output, second: Output) -> None:
    if first.signatures is None or second.signatures is None:
        return
    for name in sorted(first.signatures.keys() | second.signatures.keys()):
        one, other = first.signatures.get(name, "none"), second.signatures.get(name, "none")
        if one != other:
            raise DataError(
                f"{first.name} and {second.name} were scored in different ways: {name} has different signatures",
                why=f"{one} against {other}",
                hint="evaluate both again with the same --language and the same version of sacreBLEU",
            )


def _shared_references(known: Sequence[tuple[str, Sequence[str] | None]]) -> Sequence[str]:
    """The references, if all that are known are the same."""
    given = [(name, lines) for name, lines in known if lines is not None]
    if not given:
        raise UsageError("there is nothing to compare with", hint="give the references: --reference FILE")
    name, lines = given[0]
    for other_name, others in given[1:]:
        if len(lines) != len(others):
            raise DataError(
                f"not the same references: {name} has {len(lines):,} lines, {other_name} has {len(others):,} lines",
                hint="compare outputs for the same test set",
            )
        for number, (line, other) in enumerate(zip(lines, others, strict=True), start=1):
            if line != other:
                raise DataError(
                    f"not the same references: line {number} differs between {name} and {other_name}",
                    hint="compare outputs for the same test set",
                )
    return lines
