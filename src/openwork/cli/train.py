"""openwork train"""

import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from openwork.base.errors import ConfigError, OpenworkError, UsageError
from openwork.base.limits import LENGTH, OPERATIONS, RATIO, THREADS, UPDATES
from openwork.cli.options import Assignments
from openwork.cli.terminal import (
    INTERRUPTED,
    be_quiet,
    flush_streams,
    print_lines,
    print_result,
    progress_console,
    report,
    show_error,
)
from openwork.machine.launcher import is_first, is_first_here, is_launched, launch

if TYPE_CHECKING:
    from openwork.runs.file.settings import RunSettings
    from openwork.runs.folder import NewLength
    from openwork.runs.length import MinutesBudget


MOST_MINUTES = 10_000_000.0  # 19 years


@dataclass(frozen=True)
class DataOptions:
    """The training data."""

    source: Annotated[Path | None, Option(help="Source sentences, one a line (plain or gzip).")] = None
    target: Annotated[Path | None, Option(help="Their translations, one a line.")] = None
    valid_source: Annotated[Path | None, Option(help="Source sentences to validate with.")] = None
    valid_target: Annotated[Path | None, Option(help="Their translations.")] = None
    corpus: Annotated[str | None, Option(help="A known corpus instead of files, such as multi30k-en-de.")] = None
    pictures: Annotated[Path | None, Option(help="Pictures: a folder with one for each class, or a CSV file.")] = None
    valid_pictures: Annotated[Path | None, Option(help="Pictures to validate with.")] = None

    def section(self) -> dict[str, str]:
        """The keys of [data] that are given."""
        return {key: str(value) for key, value in vars(self).items() if value is not None}


@dataclass(frozen=True)
class LengthOptions:
    """The length of a training."""

    steps: Annotated[int | None, Option(min=1, max=UPDATES, help="Number of updates of the weights.")] = None
    minutes: Annotated[
        float | None,
        Option(min=0.01, max=MOST_MINUTES, help="End after about this many minutes of training from now on."),
    ] = None
    rehearse: Annotated[
        int | None,
        Option(min=1, max=UPDATES, help="Make only this many updates on built-in data, to test the set-up."),
    ] = None


@dataclass(frozen=True)
class PlanOptions:
    """The plan and its machine."""

    plan: Annotated[bool, Option(help="Only estimate the memory, time and price.")] = False
    devices: Annotated[
        int | None,
        Option(
            min=1, max=LENGTH, help="For --plan: number of devices (P100s, as in the paper) instead of this machine."
        ),
    ] = None
    rate: Annotated[
        float | None,
        Option(min=1.0, max=OPERATIONS, help="For --plan: operations per second of a device, instead of a P100's."),
    ] = None
    bandwidth: Annotated[
        float | None,
        Option(min=1.0, max=OPERATIONS, help="For --plan: bytes per second between devices (busbw of nccl-tests)."),
    ] = None
    overlap: Annotated[
        float | None,
        Option(min=0.0, max=1.0, help="For --plan: share of the communication hidden behind computing."),
    ] = None
    price: Annotated[float, Option(min=0.0, max=RATIO, help="For --plan: price of a device per hour.")] = 0.0
    hours: Annotated[float | None, Option(min=0.0, max=RATIO, help="For --plan: show what this many hours allow.")] = (
        None
    )


@dataclass(frozen=True)
class RunOptions:
    """The folder of a run, and how many processes train it."""

    out: Annotated[Path | None, Option("--out", "-o", help="Folder of the run; a run that is there continues.")] = None
    processes: Annotated[
        int, Option(min=1, max=THREADS, help="Train in this many processes on this machine, as torchrun would.")
    ] = 1


@dataclass(frozen=True)
class InsteadOptions:
    """What to do instead of training."""

    profile: Annotated[bool, Option(help="Make a few updates, keep nothing, and show where their time goes.")] = False
    check_resume: Annotated[bool, Option(help="Kill and restart this training early, and compare the results.")] = False
    preflight: Annotated[bool, Option(help="Only check whether the training can run here, and what it needs.")] = False
    as_json: Annotated[
        bool, Option("--json", help="The plan, the profile or the preflight as JSON on standard output.")
    ] = False


def train(
    *,
    run_file: Annotated[
        Path | None,
        Argument(help="A run file (TOML), a recipe's name, or a run's folder to go on with; else settings are chosen."),
    ] = None,
    run: RunOptions,
    data: DataOptions,
    from_bundle: Annotated[Path | None, Option(help="Fine-tune this bundle on new data.")] = None,
    assignments: Assignments = None,
    length: LengthOptions,
    plan: PlanOptions,
    instead: InsteadOptions,
) -> None:
    """Train a translator on sentence pairs.

    openwork train --source train.en --target train.de --out en-de

    openwork train multi30k-en-de --out multi30k

    openwork train multi30k-en-de --preflight

    openwork train --source train.en --target train.de --minutes 30 --out en-de

    Given a run folder, continue that run; --steps and --minutes change its length.

    openwork train en-de --steps 600
    """
    out = run.out
    given: dict[str, Any] = {"data": data.section()} if data.section() else {}
    if from_bundle is not None:
        given["fine_tuning"] = {"from_bundle": str(from_bundle)}

    is_run = run_file is not None and run_file.is_dir()
    _check(out, plan, instead, length, is_run=is_run)
    if run_file is not None and is_run and not _modes(plan, instead):
        _check_continued(run_file, out, length, given)
        with launched_once(run.processes):
            _change(run_file, assignments or [], length, run.processes)
        return
    if instead.profile and out is not None and run_file is None and not given:
        settings = _settings_there(out, assignments or [])
    else:
        from openwork.runs.file.resolve import resolve

        steps = [f"training.steps={length.steps}"] if length.steps is not None else []
        asked = [*(assignments or []), *steps]
        with launched_once(run.processes):
            settings = resolve(run_file, asked, given, report, rehearse=length.rehearse).settings
    if plan.plan:
        _plan(plan, settings, as_json=instead.as_json)
    elif instead.profile:
        _profile(settings, out, as_json=instead.as_json)
    elif instead.check_resume:
        _check_resume(settings)
    elif instead.preflight:
        _preflight(settings, out, as_json=instead.as_json)
    elif out is not None and length.minutes is not None:
        train_for(length.minutes, settings, out, set_keys(assignments), run.processes)
    elif out is not None:
        train_settings(settings, out, run.processes)


def _modes(plan: PlanOptions, instead: InsteadOptions) -> int:
    """How many of the options are given that do something instead of training."""
    return plan.plan + instead.profile + instead.check_resume + instead.preflight


def _check(
    out: Path | None, plan: PlanOptions, instead: InsteadOptions, length: LengthOptions, *, is_run: bool
) -> None:
    if _modes(plan, instead) > 1:
        raise UsageError(
            "--plan, --profile, --preflight and --check-resume are different answers",
            hint="give one of them",
            code="U028",
        )
    check_length(length)
    if length.minutes is not None and _modes(plan, instead):
        raise UsageError(
            "--minutes is measured when a training begins",
            hint="give --steps with --plan, --profile and their like",
            code="U087",
        )
    if instead.as_json and not (plan.plan or instead.profile or instead.preflight):
        raise UsageError(
            "--json is the form of a plan, a profile or a preflight",
            hint="add --plan, --profile or --preflight",
            code="U029",
        )
    if plan.bandwidth is not None and (plan.devices or 1) == 1:
        raise UsageError(
            "--bandwidth is between devices, and the plan is for one",
            hint="say how many there are, such as --devices 8",
            code="U100",
        )
    if plan.overlap is not None and plan.bandwidth is None:
        raise UsageError(
            "--overlap hides communication, and without --bandwidth none is counted",
            hint="give the bandwidth, such as --bandwidth 12e9",
            code="U101",
        )
    if out is None and not is_run and not _modes(plan, instead):
        raise UsageError("--out is missing", hint="name a folder for the run, such as --out en-de", code="U030")


def check_length(length: LengthOptions) -> None:
    if length.steps is not None and length.minutes is not None:
        raise UsageError("--steps and --minutes are two lengths of one run", hint="give one of them", code="U085")


def _check_continued(folder: Path, out: Path | None, length: LengthOptions, given: dict[str, Any]) -> None:
    if not (folder / "run.toml").is_file():
        raise ConfigError(f"{folder}: there is no run", hint="name the folder of a run", code="C106")
    if length.rehearse is not None or given or (out is not None and out.resolve() != folder.resolve()):
        raise UsageError(
            f"{folder}: a run goes on in its own folder, with its own data",
            hint=f"for another run with its settings, give its run file: {folder / 'run.toml'}",
            code="U088",
        )


def set_keys(assignments: list[str] | None) -> frozenset[str]:
    """The keys of [training] that the user has set."""
    return frozenset(one.partition("=")[0].strip().removeprefix("training.") for one in assignments or [])


def _settings_there(out: Path, assignments: list[str]) -> "RunSettings":
    from openwork.base.config import read_run
    from openwork.runs.file.resolve import resolve_run
    from openwork.runs.folder import RunFolder

    path = RunFolder(out).settings_file
    if not path.is_file():
        raise ConfigError(
            f"{out}: there is no run to profile", hint="name a run file, or the folder of a run", code="C014"
        )
    return resolve_run(read_run(path, assignments, {}))


def _plan(plan: PlanOptions, settings: "RunSettings", *, as_json: bool) -> None:
    from openwork.cost.communication import Network
    from openwork.cost.cost import Machine
    from openwork.runs.plan import P100, make_plan, plan_lines, plan_values

    if plan.devices is None and plan.rate is None:
        from openwork.machine.device import choose_device
        from openwork.machine.precision import choose_precision, matrix_rate

        device = choose_device()
        machine = Machine(matrix_rate(choose_precision(settings.training.precision, device), device), 1, plan.price)
        report("for this machine, by the rate of its matrix products: no training is faster")
    else:
        machine = Machine(plan.rate or P100, plan.devices or 1, plan.price)
    network = None if plan.bandwidth is None else Network(plan.bandwidth, overlap=plan.overlap or 0.0)
    made = make_plan(settings, machine, network)
    print_result(lambda: plan_values(made, plan.hours), lambda: plan_lines(made, plan.hours), as_json=as_json)


def _profile(settings: "RunSettings", out: Path | None, *, as_json: bool) -> None:
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # read when torch is loaded: silences its profiler
    from openwork.runs.profile import profile_lines, profile_training, profile_values

    profile = profile_training(settings, out, report)
    print_result(lambda: profile_values(profile), lambda: profile_lines(profile), as_json=as_json)


def _preflight(settings: "RunSettings", out: Path | None, *, as_json: bool) -> None:
    from openwork.runs.preflight.check import preflight_alone
    from openwork.runs.preflight.report import preflight_lines, preflight_values

    found = preflight_alone(settings, out, report)
    print_result(lambda: preflight_values(found), lambda: preflight_lines(found), as_json=as_json)


def _check_resume(settings: "RunSettings") -> None:
    from openwork.runs.check_resume import check_resume, resume_lines

    found = check_resume(settings, report)
    print_lines(resume_lines(found))
    if not all(one.holds for one in found):
        raise typer.Exit(1)


def _change(folder: Path, assignments: list[str], length: LengthOptions, processes: int) -> None:
    """Continues the run in the folder, with another length if one is given."""
    from openwork.base.config import read_run
    from openwork.runs.file.resolve import resolve_run
    from openwork.runs.folder import RunFolder
    from openwork.runs.length import Wanted, length_lines, new_length

    run_folder = RunFolder(folder)
    before = run_folder.read_settings()
    assert before is not None, "a run has settings"
    layer = read_run(run_folder.settings_file, assignments, {})
    steps = layer.mapping["training"].get("steps")
    if not isinstance(steps, int) or steps < 1:
        resolve_run(layer)  # raises the error about it
    others = [one for one in assignments if one.partition("=")[0].strip() != "training.steps"]
    settings = resolve_run(read_run(run_folder.settings_file, others, {}))
    wanted = Wanted(settings, length.steps or steps, length.minutes, set_keys(assignments))
    changed = new_length(run_folder, before, wanted)
    for line in length_lines(changed) if changed.changes else ():
        report(line)
    train_settings(changed.after, folder, processes, length=changed)


def train_for(minutes: float, settings: "RunSettings", out: Path, kept: frozenset[str], processes: int) -> None:
    """Trains for about this many minutes; a run started so keeps its number of updates."""
    from openwork.runs.folder import RunFolder
    from openwork.runs.length import MinutesBudget, with_budget_of_then

    then = with_budget_of_then(RunFolder(out), settings, minutes)
    if then is None:
        train_settings(settings, out, processes, budget=MinutesBudget(minutes, kept))
    else:
        train_settings(then, out, processes)


def train_settings(
    settings: "RunSettings",
    out: Path,
    processes: int,
    *,
    length: "NewLength | None" = None,
    budget: "MinutesBudget | None" = None,
) -> None:
    if processes > 1 and not is_launched():
        raise typer.Exit(launch(processes, sys.argv[1:]))
    # here: wrong settings are reported before torch is loaded
    from openwork.machine.processes import join
    from openwork.runs.train import train_bundle
    from openwork.training.observers.console import console_observer

    with be_quiet(not is_first()):
        watchers = [console_observer(progress_console())]
        joined = join(end_process)
        try:
            outcome = train_bundle(settings, out, report, watchers, length=length, budget=budget, processes=joined)
        except KeyboardInterrupt:
            report("stopped at once; to continue from what was saved last, run the same command again")
            raise
        if outcome.bundle is None:
            report(f"saved after update {outcome.progress.step:,}; to continue, run the same command again")
            report(f"it can be used as it is; to end it here, at its best: openwork finish {shlex.quote(str(out))}")
            raise typer.Exit(INTERRUPTED)
        report_result(outcome.bundle, settings, out)


@contextmanager
def launched_once(processes: int) -> Iterator[None]:
    """A context in which one of several processes on a machine reports, and shows an error that all of them meet.

    What launches `processes` is silent until it knows that they can begin.
    """
    launches = processes > 1 and not is_launched()
    try:
        with be_quiet(launches or not is_first()):
            yield
    except OpenworkError as error:
        if not is_first_here():
            raise typer.Exit(error.exit_code) from error
        raise


def end_process(error: OpenworkError | None) -> None:
    """Ends this process from another thread than the one that trains; its checkpoints are whole at any moment."""
    if error is not None:
        show_error(error)
    flush_streams()
    os._exit(OpenworkError.exit_code)


def report_result(written: Path, settings: "RunSettings", out: Path) -> None:
    """Reports the bundle and the command to use it."""
    from openwork.base.tasks import first_use

    report(f"done: the translator is {written}")
    report(first_use(settings, shlex.quote(str(out))))
