"""The parts of the compiled step, compiled for each kind of processor: NEON in an emulator, where there is one."""

import shutil
import subprocess
from pathlib import Path

import pytest

from openwork.inference.prepared.native import problem
from openwork.inference.prepared.native.sources import FUNCTIONS
from openwork.machine.native import building

CHECK = Path(__file__).parent / "native_parts" / "check.cpp"
ARM = ("aarch64-linux-gnu-g++", "qemu-aarch64")
NEEDED = {"-march=alderlake": "avx_vnni", "-march=skylake-avx512": "avx512bw"}
MOST = {
    "products": 4e-6,
    "integers": 1e-6,
    "exponentials": 3e-7,
    "norms": 3e-6,
    "attention": 4e-6,
    "choices": 1e-5,
    "keeping": 0.0,
}


def differences(compiler: str, instructions: str, runner: tuple[str, ...], folder: Path) -> dict[str, float]:
    program = folder / "check"
    flags = [instructions if flag == building.OWN else flag for flag in building.FLAGS if flag != "-fPIC"]
    static = ["-static"] if runner else []
    command = [compiler, *flags, *static, f"-I{building.SHARED}", f"-I{FUNCTIONS.folder}", CHECK, "-o", program]
    subprocess.run(command, check=True, capture_output=True)
    told = subprocess.run([*runner, program], check=True, capture_output=True, text=True).stdout
    return {name: float(value) for name, value in (line.split() for line in told.splitlines())}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("instructions", "lanes"),
    [
        (building.OWN, None),
        ("-march=haswell", 8),
        ("-march=alderlake", 8),
        ("-march=skylake-avx512", 16),
        ("-march=armv8-a", 4),
        ("-march=armv8.2-a+dotprod", 4),
    ],
    ids=str,
)
def test_each_part_is_what_a_plain_loop_gives(instructions: str, lanes: int | None, tmp_path: Path) -> None:
    if lanes == 4:
        if not all(map(shutil.which, ARM)):
            pytest.skip("needs Debian's packages g++-aarch64-linux-gnu and qemu-user")
        found = differences(ARM[0], instructions, ARM[1:], tmp_path)
    elif reason := problem():
        pytest.skip(f"no compiled step: {reason}")
    elif instructions in NEEDED and NEEDED[instructions] not in Path("/proc/cpuinfo").read_text():
        pytest.skip(f"the processor has no {NEEDED[instructions]}")
    else:
        found = differences(building.find_compiler(), instructions, (), tmp_path)
    compiled_for = found.pop("lanes")
    assert lanes in (None, compiled_for)
    assert {name: value for name, value in found.items() if value > MOST[name]} == {} and found.keys() == MOST.keys()
