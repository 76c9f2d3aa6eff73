"""The whole command `openwork translate`: start, load, translate, end."""

import subprocess
import sys
import time
from pathlib import Path

import speaking


def main() -> None:
    request = speaking.hear()
    command = [sys.executable, "-m", "openwork", "translate", "--precision", "auto", "--bundle", request["model"]]
    for _ in range(request["passes"]):
        begin = time.perf_counter()
        with Path(request["sources"]).open("rb") as source, Path(request["out"]).open("wb") as out:
            subprocess.run([*command, "--beam", str(request["beam"])], stdin=source, stdout=out, check=True)
        speaking.tell_pass(len(speaking.read_lines(request["sources"])), time.perf_counter() - begin, "whole command")
    speaking.tell_end()


main()
