"""Scorer of given translations: the log-probability of each piece."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

import torch

from openwork.base.errors import DataError
from openwork.base.files import open_binary
from openwork.base.lines import MOST_LINES, Report, arriving_lines, cleaned, lines_of, standard_input
from openwork.base.messages import msg
from openwork.base.printing import json_text, write_data
from openwork.base.symbols import SYMBOL_IDS
from openwork.decoding.rescore import score_tokens
from openwork.inference.batches import LONGEST, batches, padded
from openwork.metrics.ratio import Ratio, perplexity
from openwork.models.interfaces import SequenceModel
from openwork.text.pair import TokenizerPair

BATCH_TOKENS = 2048  # padded target positions that are computed together: each has logits for the whole vocabulary


@dataclass(frozen=True)
class Scored:
    """The score of one target: its pieces with the end symbol, and the log-probability (nats) of each.

    `problem`: why it cannot be scored; then there are no pieces. `cut`: the source was too long and lost its end.
    """

    pieces: tuple[str, ...] = ()
    log_probabilities: tuple[float, ...] = ()
    problem: str = ""
    cut: bool = False

    @property
    def total(self) -> float:
        """log P(target | source), as a search gives it; NaN where nothing was scored."""
        return math.nan if self.problem else math.fsum(self.log_probabilities)

    @property
    def ratio(self) -> Ratio:
        """Negative log-likelihood and number of pieces, which add up over lines."""
        return Ratio() if self.problem else Ratio(-self.total, len(self.pieces))

    def line(self) -> str:
        """Log-probability, the same per piece, and perplexity, separated by tabs."""
        ratio = self.ratio
        return f"{self.total:.4f}\t{-ratio.value:.4f}\t{perplexity(ratio):.4f}"

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON; minus infinity and NaN are null."""
        ratio = self.ratio
        terms = zip(self.pieces, self.log_probabilities, strict=True)
        return {
            "log_probability": _finite(self.total),
            "per_token": _finite(-ratio.value),
            "perplexity": _finite(perplexity(ratio)),
            "tokens": [{"piece": piece, "log_probability": _finite(term)} for piece, term in terms],
            "source_cut": self.cut,
            "problem": self.problem,
        }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


class Scorer:
    """Scores pairs in batches of like lengths; the order of the results is that of the pairs."""

    def __init__(self, model: SequenceModel, tokenizers: TokenizerPair) -> None:
        self.model = model.eval()
        self.tokenizers = tokenizers
        self.longest_source = min(LONGEST, model.maximum_length or LONGEST)
        self.longest_target = self.longest_source  # a part of a target would have another probability

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[Scored]:
        """For each (source, target) the probability of the target with its end symbol."""
        encoded = list(self.tokenizers.encode_pairs([source for source, _ in pairs], [target for _, target in pairs]))
        sources, targets = [source for source, _ in encoded], [target for _, target in encoded]
        results = [Scored(problem=self._problem(target)) for target in targets]
        places = [place for place, result in enumerate(results) if not result.problem]
        for batch in batches({place: len(targets[place]) + 1 for place in places}, BATCH_TOKENS):
            kept = [sources[place][: self.longest_source - 1] for place in batch]
            for place, terms in zip(batch, self._terms(kept, [targets[place] for place in batch]), strict=True):
                pieces = tuple(map(self.tokenizers.target.piece, [*targets[place], SYMBOL_IDS.end]))
                results[place] = Scored(pieces, tuple(terms), cut=len(sources[place]) >= self.longest_source)
        return results

    def _problem(self, target: list[int]) -> str:
        if len(target) < self.longest_target:
            return ""
        return msg(f"the target has {len(target)} tokens, and {self.longest_target - 1} is the most that can be scored")

    @torch.inference_mode()
    def _terms(self, sources: list[list[int]], targets: list[list[int]]) -> list[list[float]]:
        device = next(self.model.parameters()).device
        terms = score_tokens(self.model, *padded(sources, device), targets).tolist()
        return [row[: len(target) + 1] for row, target in zip(terms, targets, strict=True)]


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
        numbered = list(enumerate(batch, start=number + 1))
        number += len(numbered)
        yield [_pair_or_problem(cleaned(data, f"line {place}", report)) for place, data in numbered]


def _pair_or_problem(text: str) -> ScoredLine:
    columns = text.split("\t")
    if not text.strip():
        return ScoredLine(blank=True)
    if len(columns) == 2:
        return ScoredLine(columns[0], columns[1])
    problem = msg(f"columns: {len(columns)}; needed are two, source and target with one tab between")
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
