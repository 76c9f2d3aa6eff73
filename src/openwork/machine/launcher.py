"""Starting the processes of a training, and what a started one finds in its environment. Loads torch only to start."""

import logging
import os
import signal
import sys
from collections.abc import Mapping, Sequence

from openwork.base.errors import OpenworkError

LAUNCHED = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
"""What torchrun sets for each process that it starts."""


LAST_UPDATE = 3600  # seconds that an interrupted training may take to end its update or validation, and to save


def is_launched(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether torchrun, or a launcher that does as it does, has started this process."""
    return all(name in environment for name in LAUNCHED)


def is_first(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether this process writes and reports: it was started alone, or is the first of several."""
    return not is_launched(environment) or environment["RANK"] == "0"


def is_first_here(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether this is the first process of its machine."""
    return environment.get("LOCAL_RANK", "0") == "0"


def launch(count: int, arguments: Sequence[str]) -> int:
    """Runs `openwork ARGUMENTS` in `count` processes on this machine, as torchrun does; returns the exit code.

    Each gets its share of the cores. The processes report what goes wrong, all but a signal that ended all of them.
    """
    from torch.distributed.elastic.multiprocessing import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    logging.disable(logging.ERROR)  # torch reports ends of processes in dozens of lines
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // count)))
    config = LaunchConfig(
        min_nodes=1, max_nodes=1, nproc_per_node=count, max_restarts=0, run_id="openwork",
        rdzv_backend="c10d", rdzv_endpoint="localhost:0", signals_to_handle="SIGTERM,SIGINT,SIGHUP",
        shutdown_timeout=LAST_UPDATE,
    )  # fmt: skip
    try:
        elastic_launch(config, sys.executable)("-m", "openwork", *arguments)
    except SignalException as interrupted:
        return 128 + (signal.SIGINT if interrupted.sigval != signal.SIGTERM else signal.SIGTERM)
    except ChildFailedError as error:
        if ended := [failure.exitcode for failure in error.failures.values() if failure.exitcode > 0]:
            return ended[0]
        rank, first = error.get_first_failure()  # torch ends the others, by signal 15, when it sees one end
        raise OpenworkError(
            f"process {rank} of this training was ended by signal {-first.exitcode}",
            why="the machine may have no memory left",
            hint="the same command continues the run from its newest checkpoint",
            code="E036",
        ) from error
    return 0
