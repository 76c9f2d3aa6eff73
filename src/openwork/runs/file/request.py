"""The settings of a training that is asked for: run file, rehearsal, assignments and options, one over the other."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from openwork.base.config import lay_over, read_run
from openwork.base.outputs import is_run
from openwork.base.phrases import Joined
from openwork.runs.file.automatic import chosen_lengths, resolve, tuning_lengths
from openwork.runs.file.inheritance import read_tuning
from openwork.runs.file.rehearsal import rehearsal
from openwork.runs.file.settings import RunSettings
from openwork.runs.file.show import run_file_of
from openwork.runs.file.warnings import find_conflicts
from openwork.runs.length import follow_steps


def requested_settings(
    run_file: Path | None,
    assignments: Sequence[str],
    given: Mapping[str, Any],
    say: Callable[[str], None],
    *,
    rehearse: int | None = None,
) -> RunSettings:
    """Run file, overridden by a rehearsal of so many updates, by assignments, and by the sections that are `given`.

    Without a run file the rest is chosen from the data. Says which settings do not go together; a rehearsal is short on
    purpose.
    """
    path = None if run_file is None else run_file_of(run_file)
    file = layer = read_run(path, [], {})
    if rehearse is not None:
        layer = rehearsal(layer, rehearse)
    layer = lay_over(layer, assignments, given)
    if path is not None and rehearse is None:
        chosen = chosen_lengths if read_tuning(file).from_bundle is None else tuning_lengths
        layer = follow_steps(file, layer, chosen if is_run(path.parent) else None, say)
    settings = resolve(layer, say, choose_rest=path is None)
    for conflict in find_conflicts(settings, layer) if rehearse is None else ():
        say(Joined("warning: ", conflict))
    return settings
