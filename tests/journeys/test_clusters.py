"""The recipes for clusters, as far as a machine without one can check them, and the plans that docs/clusters.md shows.

The scripts run with stand-ins for what starts commands elsewhere. Command lines are parsed by torchrun and by openwork.
"""

import argparse
import os
import shlex
import subprocess
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import psutil
import pytest
import typer
import yaml

from journeys.command import Finished
from journeys.pages import Command, blocks, shell_blocks
from openwork.runs.file.recipes import recipes_by_name

REPOSITORY = Path(__file__).resolve().parents[2]
CLUSTERS = REPOSITORY / "recipes" / "clusters"
RECIPE = "clusters/paper-base-two-nodes"
PATIENCE = 300


def parsed(words: list[str]) -> tuple[argparse.Namespace, dict[str, Any]]:
    """What torchrun and openwork understand of a command line; an unknown option of either is an error."""
    from torch.distributed.run import get_args_parser

    from openwork.cli.main import app

    assert words[0] == "torchrun"
    launcher = get_args_parser().parse_args(words[1:])
    assert (launcher.module, launcher.training_script) == (True, "openwork")
    name, *arguments = launcher.training_script_args
    group: Any = typer.main.get_command(app)
    return launcher, group.commands[name].make_context(name, arguments).params


def check_two_nodes(words: list[str], head: str) -> None:
    launcher, options = parsed(words)
    assert (launcher.nnodes, launcher.nproc_per_node, launcher.max_restarts) == ("2", "8", 3)
    assert (launcher.rdzv_backend, launcher.rdzv_endpoint) == ("c10d", head)
    assert launcher.rdzv_id != "none"  # two trainings at one address would be one
    assert options["run_file"] == Path(RECIPE) and RECIPE in recipes_by_name()
    assert options["out"] is not None and options["out"].name == "paper-base"


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Puts a script in the place of a command that this machine lacks."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    def put(name: str, text: str) -> None:
        (folder / name).write_text(f"#!/bin/bash\n{text}\n")
        (folder / name).chmod(0o755)

    return put


@pytest.mark.parametrize("script", sorted(CLUSTERS.glob("*.sh")), ids=lambda path: path.stem)
def test_a_script_is_one_that_bash_reads(script: Path) -> None:
    assert os.access(script, os.X_OK)
    subprocess.run(["bash", "-n", script], check=True, timeout=PATIENCE)


@pytest.mark.slow
def test_slurm(stand_in: Callable[[str, str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first host of the job is where all meet, and srun gets torchrun, once for each node."""
    stand_in("scontrol", 'test "$*" = "show hostnames node[3-4]" && printf "node3\\nnode4\\n"')
    stand_in("srun", f'printf "%s\\n" "$@" > {tmp_path}/srun')
    for name, value in (("NODELIST", "node[3-4]"), ("NUM_NODES", "2"), ("ID", "17")):
        monkeypatch.setenv(f"SLURM_JOB_{name}", value)
    script = CLUSTERS / "slurm.sh"
    subprocess.run([script, RECIPE, "/shared/my runs/paper-base"], check=True, timeout=PATIENCE)
    option, *words = (tmp_path / "srun").read_text().splitlines()
    assert option == "--kill-on-bad-exit=1"
    check_two_nodes(words, "node3:29400")
    asked = dict(
        line.removeprefix("#SBATCH --").split("=") for line in script.read_text().splitlines() if "#SBATCH" in line
    )
    assert (asked["nodes"], asked["ntasks-per-node"], asked["gpus-per-node"]) == ("2", "1", "8")


@pytest.mark.slow
def test_ssh(stand_in: Callable[[str, str], None], tmp_path: Path) -> None:
    """Each host gets the same command, in the folder where the script was started."""
    stand_in("ssh", f'printf "%s" "$3" > {tmp_path}/$2')
    folder = tmp_path / "my runs"
    folder.mkdir()
    words = [CLUSTERS / "ssh.sh", RECIPE, folder / "paper-base", "one", "two"]
    subprocess.run(words, check=True, cwd=folder, timeout=PATIENCE)
    commands = [shlex.split((tmp_path / host).read_text()) for host in ("one", "two")]
    assert commands[0] == commands[1]
    change, there, joined, run, *rest = commands[0]
    assert (change, there, joined, run) == ("cd", str(folder), "&&", "exec")
    check_two_nodes(rest, "one:29400")


@pytest.mark.slow
def test_ssh_ends_all_when_one_fails(stand_in: Callable[[str, str], None], tmp_path: Path) -> None:
    """The other host's process loses the first signal, as a process may that bash has just started."""
    waits = f"for _ in {{1..{20 * PATIENCE}}}; do sleep 0.1; done"
    stand_in("ssh", f"[ $2 = bad ] && exit 7; trap 'trap - TERM' TERM; echo $$ > {tmp_path}/pid; {waits}")
    words = [CLUSTERS / "ssh.sh", RECIPE, tmp_path / "run", "good", "bad"]
    done = subprocess.run(words, check=False, timeout=PATIENCE, cwd=tmp_path)
    assert done.returncode == 7
    started = tmp_path / "pid"  # none where it was ended before it began
    assert not started.exists() or not psutil.pid_exists(int(started.read_text()))


# The fields of kubeflow.org/v1 that are used, as pkg/apis/kubeflow.org/v1 of Kubeflow's training operator has them.
FIELDS: dict[str, set[str]] = {
    "job": {"apiVersion", "kind", "metadata", "spec"},
    "spec": {"runPolicy", "elasticPolicy", "pytorchReplicaSpecs", "nprocPerNode"},
    "runPolicy": {
        "cleanPodPolicy", "ttlSecondsAfterFinished", "activeDeadlineSeconds", "backoffLimit", "schedulingPolicy",
        "suspend", "managedBy",
    },
    "elasticPolicy": {
        "minReplicas", "maxReplicas", "rdzvBackend", "rdzvPort", "rdzvHost", "rdzvId", "rdzvConf", "standalone",
        "nProcPerNode", "maxRestarts", "metrics",
    },
    "replicas": {"replicas", "template", "restartPolicy"},
}  # fmt: skip


@pytest.mark.slow
def test_kubernetes() -> None:
    (job,) = yaml.safe_load_all((CLUSTERS / "kubernetes.yaml").read_text("utf-8"))
    assert (job["apiVersion"], job["kind"], set(job)) == ("kubeflow.org/v1", "PyTorchJob", FIELDS["job"])
    spec, elastic = job["spec"], job["spec"]["elasticPolicy"]
    assert set(spec) <= FIELDS["spec"] and set(spec["runPolicy"]) <= FIELDS["runPolicy"]
    assert spec["runPolicy"]["cleanPodPolicy"] in ("None", "Running", "All")
    assert set(elastic) <= FIELDS["elasticPolicy"] and elastic["rdzvBackend"] == "c10d"
    ((kind, replicas),) = spec["pytorchReplicaSpecs"].items()
    assert kind == "Worker" and set(replicas) <= FIELDS["replicas"]  # an elastic job has no master
    assert replicas["restartPolicy"] in ("Always", "OnFailure", "Never", "ExitCode")
    pod = replicas["template"]["spec"]
    (container,) = pod["containers"]
    assert container["name"] == "pytorch"  # the operator's name of the container
    (port,) = container["ports"]
    assert port["name"] == "pytorchjob-port"
    check_two_nodes(container["command"], f"{job['metadata']['name']}-worker-0:{port['containerPort']}")
    launcher, options = parsed(container["command"])
    assert replicas["replicas"] == elastic["minReplicas"] == elastic["maxReplicas"] == int(launcher.nnodes)
    assert elastic["maxRestarts"] == launcher.max_restarts
    assert spec["nprocPerNode"] == launcher.nproc_per_node == str(container["resources"]["limits"]["nvidia.com/gpu"])
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    assert {volume["name"] for volume in pod["volumes"]} == set(mounts)
    assert options["out"].is_relative_to(mounts["shared"])
    (data,) = (one["value"] for one in container["env"] if one["name"] == "OPENWORK_DATA")
    assert Path(data).is_relative_to(mounts["shared"])


def test_the_recipes_differ_from_their_base_in_precision_alone() -> None:
    from openwork.base.config import read_run_file
    from openwork.runs.file.resolve import resolve_run

    for name in ("base", "big"):
        ours, paper = (
            resolve_run(read_run_file(recipes_by_name()[path])).model_dump()
            for path in (f"clusters/paper-{name}-two-nodes", f"paper-{name}-wmt14-en-de")
        )
        assert ours["training"].pop("precision") == "bfloat16" != paper["training"].pop("precision")
        assert ours == paper


@pytest.mark.slow
@pytest.mark.parametrize("page", ["docs/clusters.md", "docs/clusters.zh-CN.md"])
def test_the_command_lines_of_the_page(page: str) -> None:
    lines = [line for block in shell_blocks(page) for line in block.lines if line.startswith("torchrun")]
    assert len(lines) == 2
    for line in lines:
        launcher, options = parsed(shlex.split(line))
        assert launcher.nproc_per_node in ("2", "8") and options["out"] is not None


@pytest.mark.slow
@pytest.mark.parametrize(("page", "language"), [("docs/clusters.md", "en"), ("docs/clusters.zh-CN.md", "zh")])
def test_the_page_shows_what_the_plans_print(
    page: str, language: str, call: Callable[..., Finished], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENWORK_LANG", language)
    found = list(blocks(page))
    plans = [(one, other) for one, other in pairwise(found) if "--plan" in one.text]
    assert len(plans) == 2
    for command, shown in plans:
        (line,) = command.lines
        assert call(*Command.of(line).words).out.decode() == shown.text
