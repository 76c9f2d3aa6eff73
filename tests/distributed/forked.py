"""`python -m distributed.forked RESTARTS ARGUMENTS...`: two processes of openwork, started again as torchrun does.

Each start forks this process, which has imported everything, so that it takes no seconds to load torch: what a test
with many kills would spend its time on.
"""

import importlib
import sys

from torch.distributed.launcher.api import LaunchConfig, elastic_launch

# what `openwork train` imports
LOADED = ("openwork.cli.main", "openwork.cli.train", "openwork.runs.train", "openwork.training.computing.sharding",
          "openwork.training.shards")  # fmt: skip


def work(arguments: list[str]) -> None:
    """What each process does."""
    from openwork.cli.main import main

    sys.argv = ["openwork", *arguments]
    main()


def start(restarts: int, arguments: list[str]) -> None:
    """Starts the processes, and starts all of them again where one has ended, so many times at most."""
    for module in LOADED:
        importlib.import_module(module)
    config = LaunchConfig(
        min_nodes=1, max_nodes=1, nproc_per_node=2, max_restarts=restarts, run_id="tests", rdzv_backend="c10d",
        rdzv_endpoint="localhost:0", start_method="fork",
    )  # fmt: skip
    elastic_launch(config, work)(arguments)


if __name__ == "__main__":
    start(int(sys.argv[1]), sys.argv[2:])
