"""Where the time of a run's updates goes, and how near they are to the limit of the machine; they change nothing."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from openwork.base.messages import msg
from openwork.base.phrases import AsIs, Joined, Padded, shown_width
from openwork.cost.cost import FORMULA, Cost, cost_of
from openwork.machine.precision import choose_precision, matrix_rate
from openwork.runs.assembly import prepare_training, settle_computing
from openwork.runs.corpus import Report, prepare_corpus
from openwork.runs.file.settings import RunSettings
from openwork.runs.folder import RunFolder
from openwork.runs.plan import duration
from openwork.training.checkpoint import checkpoints
from openwork.training.computing.profiling import Updates, make_updates, profiled_updates
from openwork.training.computing.time_division import GROUPS, Division

WARM_UP, TIMED, RECORDED = 3, 10, 5  # updates: before anything counts, for the speed, for where the time goes
LONGEST = 30.0  # seconds after which a part is cut short
NAMED = 3  # operators that a line names


@dataclass(frozen=True)
class StepProfile:
    """The measurements. `timed` ran as always, `recorded` under the profiler, which takes time itself.

    `matrix_rate`: operations a second of a large matrix product in the run's number type.
    """

    settings: RunSettings
    device: str
    threads: int
    matrix_rate: float
    cost: Cost
    timed: Updates
    recorded: Updates
    division: Division

    @property
    def tokens_per_second(self) -> float:
        """Target tokens, without padding."""
        return self.timed.target_tokens / self.timed.seconds

    @property
    def flops_per_second(self) -> float:
        """Operations of the real tokens, by the formulas of the cost model."""
        passes = 2 if self.settings.training.r_drop else 1
        return passes * self.cost.training_flops * self.tokens_per_second

    @property
    def share_of_limit(self) -> float:
        """The share of the rate of a large matrix product on this machine."""
        return self.flops_per_second / self.matrix_rate


def profile_training(settings: RunSettings, out: Path | None, report: Report) -> StepProfile:
    """Profiles some first updates with the parts that train the run; they change nothing.

    The data of a run in the folder `out` that has a checkpoint are used. The run stays as it is; only data that are
    damaged there are prepared again.
    """
    folder = None if out is None else RunFolder(out)
    settings, device = settle_computing(settings, folder)
    with tempfile.TemporaryDirectory(prefix="openwork-") as scratch:
        fresh, corpus = RunFolder(Path(scratch)), None
        if folder is not None and checkpoints(folder.checkpoints):
            report(f"data: as prepared in {folder.path}")
            corpus = prepare_corpus(settings, folder, report)
        setup = prepare_training(settings, fresh, device, report, corpus)
        rate = matrix_rate(choose_precision(settings.training.precision, device), device)
        report(f"profiling: {WARM_UP} updates to warm up, {TIMED} to take the time of, {RECORDED} to look into")
        given = setup.updater, setup.stream, setup.progress
        make_updates(*given, WARM_UP, LONGEST)
        timed = make_updates(*given, TIMED, LONGEST)
        recorded, division = profiled_updates(*given, RECORDED, LONGEST)
    tokenizers = setup.corpus.tokenizers
    sentences = sum(update.sentences for update in timed.reports)
    cost = cost_of(
        settings.model, *tokenizers.sizes,
        source_length=sum(update.source_tokens for update in timed.reports) / sentences,
        target_length=timed.target_tokens / sentences,
    )  # fmt: skip
    return StepProfile(settings, str(device), torch.get_num_threads(), rate, cost, timed, recorded, division)


def profile_lines(profile: StepProfile) -> list[str]:
    timed, training = profile.timed, profile.settings.training
    tokens, share = timed.target_tokens / len(timed.reports), profile.division.share("waiting for data")
    slower = profile.recorded.seconds / profile.recorded.target_tokens * profile.tokens_per_second - 1
    return [
        msg(
            f"speed: {profile.tokens_per_second:,.0f} target tokens a second; {timed.seconds_each:.3g} seconds an "
            f"update of {tokens:,.0f} target tokens, padding not counted; {training.precision} on {profile.device}"
        ),
        msg(f"operations: {profile.flops_per_second:.3g} a second ({FORMULA})"),
        msg(
            f"limit: {profile.share_of_limit:.0%} of the {profile.matrix_rate:.3g} operations a second that a product "
            f"of large matrices reaches here in {training.precision} with {profile.threads} thread(s)"
        ),
        msg(f"waiting for data: {share:.1%} of the time"),
        msg(
            f"the whole run: {duration(timed.seconds_each * training.steps)} for {training.steps:,} updates at this "
            "speed, validations not counted"
        ),
        "",
        msg("where the time of an update goes:"),
        *_table_lines(profile.division, len(profile.recorded.reports)),
        "",
        msg(
            f"threads: all are recorded; while any computes, {profile.division.threads:.2f} do on average, and a "
            "moment is divided evenly among them"
        ),
        msg(
            f"of {len(profile.recorded.reports)} updates under the profiler, which made them {slower:.0%} slower; "
            "matrix products: also those inside attention's projections and the loss; Python and the rest: also "
            "waiting for other threads"
        ),
    ]


def _table_lines(division: Division, updates: int) -> Iterator[str]:
    width = max(map(shown_width, GROUPS))
    for group in sorted(GROUPS, key=division.share, reverse=True):
        milliseconds = 1000 * division.seconds(group) / updates
        figures = AsIs(f"  {division.share(group):6.1%} {milliseconds:9.1f} ms  ")
        operators = division.operators.get(group, {})
        largest = sorted((name for name in operators if name.startswith("aten::")), key=lambda name: -operators[name])
        named = ", ".join(name.removeprefix("aten::") for name in largest[:NAMED])
        yield Joined(figures, Padded(group, width), AsIs(f"  {named}".rstrip()))


def profile_values(profile: StepProfile) -> dict[str, Any]:
    """For a program: seconds, shares from 0 to 1, operations a second."""
    division, updates = profile.division, len(profile.recorded.reports)
    return {
        "device": profile.device,
        "threads": profile.threads,
        "precision": profile.settings.training.precision,
        "updates": {"timed": len(profile.timed.reports), "recorded": updates},
        "seconds_an_update": {"timed": profile.timed.seconds_each, "recorded": profile.recorded.seconds_each},
        "target_tokens_per_second": profile.tokens_per_second,
        "flops_per_target_token": profile.cost.training_flops,
        "flops_per_second": profile.flops_per_second,
        "matrix_flops_per_second": profile.matrix_rate,
        "share_of_limit": profile.share_of_limit,
        "share_waiting_for_data": division.share("waiting for data"),
        "threads_computing": division.threads,
        "groups": {
            group: {
                "share": division.share(group),
                "seconds_an_update": division.seconds(group) / updates,
                "operators": {name: spent / updates for name, spent in sorted(division.operators[group].items())},
            }
            for group in GROUPS
        },
    }
