"""Filter from pairs of lines to scores: one line of figures for each pair, whatever it holds."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, zip_longest
from pathlib import Path

from openwork.base.errors import DataError
from openwork.base.files import open_binary
from openwork.base.lines import MOST_LINES, Report, arriving_lines, cleaned, lines_of, standard_input
from openwork.base.printing import json_text, write_data
from openwork.inference.scorer import Scored, Scorer
from openwork.metrics.ratio import Ratio, perplexity


@dataclass(frozen=True)
class ScoredLine:
    """One pair of lines. `problem`: why it has no score; `blank`: the line was blank."""

    source: str = ""
    target: str = ""
    problem: str = ""
    blank: bool = False


def tabbed_lines(report: Report) -> Iterator[list[ScoredLine]]:
    """Reads standard input, source and target with a tab between, and yields lines as they arrive."""
    number = 0
    for batch in arriving_lines(standard_input()):
        lines = []
        for data in batch:
            number += 1
            lines.append(_pair_or_problem(cleaned(data, f"line {number}", report)))
        yield lines


def _pair_or_problem(text: str) -> ScoredLine:
    columns = text.split("\t")
    if not text.strip():
        return ScoredLine(blank=True)
    if len(columns) == 2:
        return ScoredLine(columns[0], columns[1])
    problem = f"columns: {len(columns)}; needed are two, source and target with one tab between"
    return ScoredLine(text, problem=problem)


def file_lines(source: Path, target: Path, report: Report) -> Iterator[list[ScoredLine]]:
    """Reads two aligned files. DataError at the end where one has more lines than the other."""
    counts = [0, 0]
    with open_binary(source) as source_file, open_binary(target) as target_file:
        pairs = zip_longest(lines_of(source_file), lines_of(target_file))
        while batch := list(islice(pairs, MOST_LINES)):
            lines = []
            for pair in batch:
                counts = [count + (data is not None) for count, data in zip(counts, pair, strict=True)]
                if pair[0] is not None and pair[1] is not None:
                    lines.append(
                        ScoredLine(
                            cleaned(pair[0], f"{source}:{counts[0]}", report),
                            cleaned(pair[1], f"{target}:{counts[1]}", report),
                        )
                    )
            yield lines
    if counts[0] != counts[1]:
        raise DataError(
            f"{source} and {target} have different numbers of lines: {counts[0]:,} and {counts[1]:,}",
            why="each line of one belongs to the same line of the other",
            hint="the printed lines belong to those that both have; give files of the same length",
            code="D096",
        )


def score_lines(scorer: Scorer, batches: Iterator[list[ScoredLine]], report: Report, *, as_json: bool) -> None:
    """Prints one line for each pair; one that cannot be scored is reported and has NaN for its figures."""
    whole = Ratio()
    number = 0
    for batch in batches:
        results = {place: Scored(problem=line.problem) for place, line in enumerate(batch) if line.problem}
        places = [place for place, line in enumerate(batch) if not line.problem and not line.blank]
        scored = scorer.score([(batch[place].source, batch[place].target) for place in places])
        results.update(zip(places, scored, strict=True))
        for place, line in enumerate(batch):
            number += 1
            result = results.get(place)
            if result is not None:
                _report_problems(result, number, report)
                whole += result.ratio
            write_data(f"{_printed(line, result, as_json=as_json)}\n")
    if whole.count:
        report(f"all lines: {whole.count:,} tokens, perplexity {perplexity(whole):.4f}")


def _report_problems(result: Scored, number: int, report: Report) -> None:
    if result.problem:
        report(f"line {number}: {result.problem}")
    if result.cut:
        report(f"line {number}: too long for the model, its end was left out")


def _printed(line: ScoredLine, result: Scored | None, *, as_json: bool) -> str:
    if as_json:
        texts = {"source": line.source, "target": line.target}
        return json_text({**texts, **(result or Scored(problem="a blank line")).to_json()})
    return result.line() if result is not None else ""
