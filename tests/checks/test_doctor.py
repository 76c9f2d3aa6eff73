"""What the doctor says is what torch, the packages and the system say, in columns and as JSON."""

import json
import shutil
from collections import namedtuple
from pathlib import Path
from typing import Any

import pytest
import torch

from journeys.command import openwork
from openwork import __version__
from openwork.checks import doctor
from openwork.checks.doctor import doctor_lines, doctor_values, examine
from openwork.inference.prepared.products import available
from training.cards import H100, OLD, WITHOUT_TRITON

pytestmark = pytest.mark.slow


def found_of(name: str) -> doctor.DoctorLine:
    (found,) = [finding for finding in examine(measure=False) if finding.name == name]
    return found


def test_it_tells_versions_products_and_room() -> None:
    assert __version__ in found_of("openwork").found
    assert f"torch {torch.__version__}" in found_of("libraries").found
    assert ", ".join(available()) in found_of("instructions").found
    assert str(torch.get_num_threads()) in found_of("processor").found
    assert "GB free" in found_of(str(Path.cwd())).found
    found = examine(measure=False)  # once: free memory is another the next time
    lines = list(doctor_lines(found))
    columns = {line.index(finding.found) for line, finding in zip(lines, found, strict=False)}
    assert lines[0].startswith("openwork") and len(columns) == 1


def test_what_was_measured_is_a_speed() -> None:
    names = [finding.name for finding in examine()]
    assert names[-2:] == ["matrix products", "training chooses"]


def test_it_advises_only_where_something_could_be_better(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(doctor, "_version", lambda package: "1.0")
    monkeypatch.setattr(doctor, "available", lambda: ["float32", "int8"])
    monkeypatch.setattr(shutil, "disk_usage", lambda place: usage(9e12, 0, 9e12))
    monkeypatch.setattr(torch.version, "cuda", None)  # whoever installs torch the plain way has a build for CUDA
    monkeypatch.delenv("OPENWORK_DATA", raising=False)
    assert list(doctor_lines(examine(measure=False)))[-1] == "nothing is missing"
    monkeypatch.setattr(shutil, "disk_usage", lambda place: usage(9e12, 0, 5e6))
    monkeypatch.setattr(doctor, "available", lambda: ["float32"])
    monkeypatch.setattr(doctor, "_version", lambda package: "-")
    monkeypatch.setenv("OPENWORK_DATA", str(tmp_path / "nowhere"))
    advised = {finding.name for finding in examine(measure=False) if finding.advice}
    assert {"OPENWORK_DATA", str(Path.cwd()), "instructions"} <= advised
    if doctor._packages_of("spm"):  # installed, not run from its sources
        assert "SentencePiece models" in advised


def test_machines_that_say_little_are_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> str:
        raise PermissionError

    monkeypatch.setattr(Path, "read_text", refuse)
    assert isinstance(doctor.processor_name(), str)


def test_from_the_command_line(call: Any) -> None:
    plain = call("doctor", "--quick")
    assert plain.code == 0 and b"libraries" in plain.out
    values = json.loads(call("doctor", "--quick", "--json").out)
    assert [one["name"] for one in values] == [one["name"] for one in doctor_values(examine(measure=False))]
    chinese = openwork("--lang", "zh", "doctor", "--quick")
    assert "处理器".encode() in chinese.out


def test_it_says_how_a_graphics_card_computes() -> None:
    old, plain, captured = (doctor.computing_on(card) for card in (OLD, WITHOUT_TRITON, H100))
    assert "float32" in str(old.found) and not old.advice
    assert "bfloat16 on packed rows" in str(plain.found) and "Triton" in str(plain.advice)
    assert "captured" in str(captured.found) and not captured.advice
