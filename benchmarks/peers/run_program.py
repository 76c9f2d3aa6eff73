"""A program that writes its figures to a file itself, such as a micro-benchmark."""

import subprocess
import sys
from pathlib import Path

import speaking


def main() -> None:
    request = speaking.hear()
    Path(request["out"]).parent.mkdir(parents=True, exist_ok=True)
    command = [request["python"], request["program"], request["out"]]
    subprocess.run(command, check=True, stdout=sys.stderr)
    speaking.tell_end()


main()
