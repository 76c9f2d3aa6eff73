"""The files in deploy/: each can be parsed, gives options that `openwork serve` has, and keeps what it promises."""

import configparser
import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from architecture.house import REPOSITORY
from calling import Call

DEPLOY = REPOSITORY / "deploy"
UNIT, DOCKERFILE, COMPOSE = DEPLOY / "openwork.service", DEPLOY / "Dockerfile", DEPLOY / "compose.yaml"


def unit() -> configparser.ConfigParser:
    found = configparser.ConfigParser(interpolation=None, delimiters=("=",))
    found.optionxform = str  # type: ignore[assignment,method-assign]
    found.read_string(UNIT.read_text(encoding="utf-8"))
    return found


def instructions(name: str) -> list[str]:
    """The arguments of each instruction of the Dockerfile with this name."""
    content = DOCKERFILE.read_text(encoding="utf-8").replace("\\\n", " ")
    return [line.split(maxsplit=1)[1] for line in content.splitlines() if line.startswith(f"{name} ")]


def commands() -> dict[str, list[str]]:
    """What each file starts, after `openwork serve`."""
    program, serve, *by_systemd = shlex.split(unit()["Service"]["ExecStart"])
    assert program.endswith("/openwork") and serve == "serve"
    entry = json.loads(instructions("ENTRYPOINT")[0])
    assert entry[:2] == ["openwork", "serve"]
    service = compose()
    return {
        "systemd": by_systemd,
        "docker": entry[2:] + json.loads(instructions("CMD")[0]),
        "compose": entry[2:] + service["command"],
    }


def compose() -> dict[str, Any]:
    return yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))["services"]["openwork"]


@pytest.mark.parametrize("file", ["systemd", "docker", "compose"])
def test_each_option_is_one_of_openwork_serve(call: Call, file: str) -> None:
    known = set(re.findall(r"--[a-z][a-z-]+", call("serve", "--help").out.decode()))
    given = {part for part in commands()[file] if part.startswith("--")}
    assert "--token-file" in given <= known


def test_the_service_has_few_rights() -> None:
    service = unit()["Service"]
    for name in ("DynamicUser", "NoNewPrivileges", "PrivateTmp", "ProtectHome", "RestrictNamespaces"):
        assert service[name] == "yes"
    assert service["ProtectSystem"] == "strict" and service["CapabilityBoundingSet"] == ""


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze, which reads units")
def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    """With a program that is here, since it looks for it."""
    place = tmp_path / "openwork.service"
    place.write_text(UNIT.read_text(encoding="utf-8").replace("/opt/openwork/bin/openwork", "/bin/true"))
    done = subprocess.run(["systemd-analyze", "verify", place], capture_output=True, text=True)
    assert done.returncode == 0 and "openwork.service" not in done.stderr, done.stderr


def test_the_image_is_of_another_user_than_root_and_is_looked_after() -> None:
    assert instructions("USER") == ["10001"] and "/health" in instructions("HEALTHCHECK")[0]
    for source in (one.split() for one in instructions("COPY")):
        assert all((REPOSITORY / name).exists() for name in source[:-1])


def test_the_container_is_for_this_machine_and_cannot_write() -> None:
    found = compose()
    assert found["ports"] == ["127.0.0.1:5000:5000"] and found["read_only"] and found["cap_drop"] == ["ALL"]
    assert all(volume.endswith(":ro") for volume in found["volumes"])
    build = found["build"]
    assert (DEPLOY / build["context"] / build["dockerfile"]).resolve() == DOCKERFILE
