"""openwork experiment"""

import os
import shlex
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from typer import Argument, Option

from openwork.base.errors import OpenworkError, UsageError
from openwork.base.limits import THREADS
from openwork.base.toml import write_value
from openwork.cli.options import AsJson, as_command
from openwork.cli.terminal import INTERRUPTED, print_lines, print_result, progress_console, report, translated

if TYPE_CHECKING:
    from rich.console import Console, Group

    from openwork.experiments.experiment import Experiment
    from openwork.experiments.folder import ExperimentFolder
    from openwork.experiments.status import ExperimentState

LARGEST = 100.0  # standard deviation, in points of a score
REFRESH = 2.0  # seconds between two states of the live table
MOST_ROWS = 20  # trials in the live table

app = typer.Typer(help="Search settings and compare structures.", no_args_is_help=True)
Named = Annotated[Path, Argument(metavar="FOLDER", help="The folder of an experiment.")]


@dataclass(frozen=True)
class WorkerOptions:
    """Who carries out the trials."""

    workers: Annotated[
        int | None, Option(min=1, max=THREADS, help="Processes that share the trials; else as the file says.")
    ] = None
    on: Annotated[Literal["ray"] | None, Option(help="Workers of Ray do it (extra scale).")] = None
    address: Annotated[str | None, Option(help="HOST:PORT of a cluster of Ray, or auto; else Ray runs here.")] = None
    worker: Annotated[
        int | None, Option(min=1, max=2**31 - 1, hidden=True, help="Process that has started this one to do trials.")
    ] = None

    def check(self) -> None:
        """UsageError for an address without Ray."""
        if self.address is not None and self.on is None:
            raise UsageError("--address goes with --on ray", hint="add --on ray, or leave it out", code="U107")


def run(
    named: Annotated[Path, Argument(metavar="FILE-OR-FOLDER", help="An experiment file, or the folder of one.")],
    out: Annotated[Path | None, Option("--out", "-o", help="Folder of the experiment; else the file's name.")] = None,
    assignments: Annotated[
        list[str] | None, Option("--set", help="Change a key, such as budget.updates=500; repeatable.")
    ] = None,
    *,
    who: WorkerOptions,
) -> None:
    """Carry out an experiment, or go on with one.

    openwork experiment run experiments/grid-documents --out grid

    openwork experiment run grid --workers 2
    """
    from openwork.experiments.folder import ExperimentFolder, is_experiment
    from openwork.runs.file.recipes import find_run_file

    who.check()
    if who.worker is not None:
        _work_for(who.worker, ExperimentFolder(named))
        return
    if is_experiment(named):
        if assignments or (out is not None and out.resolve() != named.resolve()):
            raise UsageError(
                f"{named}: an experiment goes on in its own folder, as it is",
                hint="leave --out and --set out",
                code="U108",
            )
        _go_on(named, None, who)
    else:
        changes = assignments or []
        typed = shlex.join(["openwork", "experiment", "run", str(named), *(f"--set={change}" for change in changes)])
        noted = [*changes, f"experiment.command={write_value(typed)}"]
        _go_on(out or Path(named.stem), find_run_file(named), who, noted)


def resume(folder: Named, *, who: WorkerOptions) -> None:
    """Go on with an experiment.

    openwork experiment resume grid

    openwork experiment resume grid --workers 2
    """
    from openwork.experiments.folder import experiment_folder

    who.check()
    experiment_folder(folder)
    _go_on(folder, None, who)


def status(folder: Named, as_json: AsJson = False) -> None:
    """Show the trials of an experiment, and how long it will take.

    openwork experiment status grid

    openwork experiment status grid --json
    """
    from openwork.experiments.file import read_experiment
    from openwork.experiments.folder import experiment_folder
    from openwork.experiments.status import read_state, state_lines

    found = experiment_folder(folder)
    state = read_state(read_experiment(found.settings_file), found)
    print_result(state.to_json, lambda: state_lines(state), as_json=as_json)


def report_(folder: Named) -> None:
    """Write the report of an experiment: HTML, Markdown, figures.

    openwork experiment report grid

    openwork experiment report ablation
    """
    from openwork.base.messages import find_language
    from openwork.experiments.report import write_report

    for path in write_report(folder, find_language(os.environ)):
        report(f"written to {path}")


def power(
    differences: Annotated[
        list[float] | None,
        Argument(metavar="[DIFFERENCE]...", min=0.01, max=100, help="In points of the score.", show_default=False),
    ] = None,
    *,
    experiment: Annotated[Path | None, Option(help="Take the deviations that this experiment measured.")] = None,
    seeds: Annotated[
        float | None, Option(min=0, max=LARGEST, help="Standard deviation of a method's score between seeds.")
    ] = None,
    sentences: Annotated[
        float | None,
        Option(min=0, max=LARGEST, help="Standard deviation of a sentence's difference between methods."),
    ] = None,
    both: Annotated[
        float, Option(min=0, max=LARGEST, help="Standard deviation of a sentence's score between seeds.")
    ] = 0.0,
) -> None:
    """Calculate how many seeds and sentences a difference needs.

    openwork experiment power --seeds 0.4 --sentences 12

    openwork experiment power 0.5 1 --experiment ablation
    """
    from openwork.experiments.power import DIFFERENCES, power_lines, spread_of_experiment
    from openwork.metrics.power import Spread

    if (experiment is None) == (seeds is None and sentences is None):
        raise UsageError(
            "how much scores vary is measured or given",
            hint="name a finished experiment, --experiment FOLDER, or give --seeds and --sentences",
            code="U109",
        )
    if experiment is not None:
        spread = spread_of_experiment(experiment)
    else:
        spread = Spread(seeds or 0.0, sentences or 0.0, both)
    print_lines(power_lines(spread, differences or DIFFERENCES))


def _go_on(out: Path, file: Path | None, who: WorkerOptions, assignments: Sequence[str] = ()) -> None:
    from openwork.experiments.file import read_experiment
    from openwork.experiments.folder import ExperimentFolder

    folder = ExperimentFolder(out)
    experiment = read_experiment(file or folder.settings_file, assignments)
    experiment.check()
    experiment.check_extras()
    # here: a wrong file is refused before torch is loaded
    from openwork.experiments.final import test_set
    from openwork.experiments.run import begin, finish

    test_set(experiment)  # which may be missing
    experiment = begin(experiment, folder, report)
    if not _carry_out(experiment, folder, who):
        report("saved; to continue, run the same command again")
        raise typer.Exit(INTERRUPTED)
    finish(experiment, folder, report, lambda place, count: report(f"test set: trial {place:,} of {count:,}"))
    report(f"done: {folder.path}; its report: openwork experiment report {folder.path}")


def _work_for(parent: int, folder: "ExperimentFolder") -> None:
    from openwork.experiments.trials.work import ParentObserver, work

    if not work(folder, [ParentObserver(parent)]):
        raise typer.Exit(INTERRUPTED)


def _carry_out(experiment: "Experiment", folder: "ExperimentFolder", who: WorkerOptions) -> bool:
    """Carries out the trials, and shows them meanwhile; False where it was interrupted."""
    from openwork.experiments.status import read_state
    from openwork.experiments.trials.work import Crew, ray_worker, work
    from openwork.machine.ray_pool import RayPool

    count = who.workers or experiment.settings.experiment.workers
    pool = RayPool(count, who.address) if who.on == "ray" else None
    with _shown(partial(read_state, experiment, folder, count)):
        if pool is not None:
            results = list(pool.run(partial(ray_worker, str(folder.path.absolute())), range(count)))
            failed = [result for _, result in results if isinstance(result, OpenworkError)]
            if failed:
                raise failed[0]
            return all(result for _, result in results)
        try:
            if count == 1:
                return work(folder)
            with Crew(folder, count) as crew:
                return crew.wait()
        except KeyboardInterrupt:  # between two trials; a training saves itself
            return False


@contextmanager
def _shown(state: Callable[[], "ExperimentState"]) -> Iterator[None]:
    """A context with a live table on a terminal, and elsewhere a line for each trial that is over."""
    console, over = progress_console(), threading.Event()
    is_live = console.is_terminal and not console.is_dumb_terminal
    show = partial(_show_table, console) if is_live else _show_lines
    thread = threading.Thread(target=show, args=(state, over), name="openwork-experiment", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _show_lines(state: Callable[[], "ExperimentState"], over: threading.Event) -> None:
    from openwork.experiments.status import WAITS, summary_line, trial_line

    seen: dict[int, str] = {}
    is_last = False
    while not is_last:
        is_last = over.wait(REFRESH)
        now = state()
        changed = [one for one in now.trials if seen.get(one.number) != one.state and one.state != WAITS]
        for trial in changed:
            report(trial_line(trial, now.metric))
        if any(trial.state != "running" for trial in changed):
            report(summary_line(now))
        seen |= {trial.number: trial.state for trial in now.trials}


def _show_table(console: "Console", state: Callable[[], "ExperimentState"], over: threading.Event) -> None:
    from rich.live import Live

    with Live(console=console, auto_refresh=False) as live:
        is_last = False
        while not is_last:
            is_last = over.wait(REFRESH)
            live.update(_table(state()), refresh=True)


def _table(state: "ExperimentState") -> "Group":
    """The newest trials, and how far the experiment is."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from openwork.experiments.status import summary_line, trial_cells

    table = Table.grid(padding=(0, 1))
    for trial in state.trials[-MOST_ROWS:]:
        table.add_row(*(Text(translated(cell), overflow="ellipsis", no_wrap=True) for cell in trial_cells(trial)))
    return Group(table, Text(translated(summary_line(state))))


for _name, _command in {"run": run, "resume": resume, "status": status, "report": report_, "power": power}.items():
    app.command(_name)(as_command(_command))
