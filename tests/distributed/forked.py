"""`python -m distributed.forked RESTARTS ARGUMENTS...`: two processes of openwork, started again as torchrun does.

Each start forks this process, which has imported everything (it is itself forked from one that has), so that it
takes no seconds to load torch; and that a process has ended is noticed sooner: what a test with many kills would spend
its time on.
"""

import sys

from torch.distributed.launcher.api import LaunchConfig, elastic_launch

from openwork.machine import watch


def work(arguments: list[str]) -> None:
    """What each process does."""
    from openwork.cli.main import main

    sys.argv = ["openwork", *arguments]
    main()


def start(restarts: int, arguments: list[str]) -> None:
    """Starts the processes, and starts all of them again where one has ended, so many times at most."""
    watch.BEAT, watch.SUSPICION, watch.GRACE = 0.1, 1.0, 0.5
    config = LaunchConfig(
        min_nodes=1, max_nodes=1, nproc_per_node=2, max_restarts=restarts, run_id="tests", rdzv_backend="c10d",
        rdzv_endpoint="localhost:0", start_method="fork",
    )  # fmt: skip
    elastic_launch(config, work)(arguments)


if __name__ == "__main__":
    start(int(sys.argv[1]), sys.argv[2:])
