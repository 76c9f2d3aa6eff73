"""Configurations that no toolkit's rules can be found for."""

from collections.abc import Callable
from pathlib import Path

from journeys.command import Finished, told

Call = Callable[..., Finished]


def test_a_variable_that_doubles_itself(call: Call, tmp_path: Path):
    path = tmp_path / "train.sh"
    path.write_text("A=aaaaaaaaaa\n" + 'A="$A$A"\n' * 20 + "fairseq-train data --arch $A\n")
    told(
        call("config", "from", path), 3, "the variables expand to more than 1,000,000 characters", "command line alone"
    )


def test_options_that_nobody_knows(call: Call, tmp_path: Path):
    path = tmp_path / "train.yaml"
    path.write_text("colour: blue\nsize: 3\n")
    told(call("config", "from", path), 3, "it is not clear which toolkit this configuration is for", "--toolkit")
