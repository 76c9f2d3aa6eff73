"""Options that do not go together, and what is not there: refused in a sentence before anything is loaded or made."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from journeys.command import Finished, told

pytestmark = pytest.mark.slow

Call = Callable[..., Finished]

# The command line; words of what is said, and of the remedy. FILE is a file of two lines, FOLDER an empty folder.
REFUSED = [
    ("explain", "give one of these: a sentence, --example, --list", "openwork explain"),
    ("explain Hallo Welt --list", "give one of these: a sentence, --example, --list", "openwork explain BUNDLE"),
    ("explain Hallo", "a sentence and a bundle go together", "openwork train --out wrote"),
    ("explain --list --layer 0", "--layer, --head and --all are for a sentence", "leave them out"),
    ("train --corpus copy --plan --check-resume", "are different answers", "give one of them"),
    ("train --corpus copy --plan --bandwidth 1e9", "the plan is for one", "such as --devices 8"),
    ("train --corpus copy --plan --devices 2 --overlap 1", "without --bandwidth none", "such as --bandwidth 12e9"),
    ("train --corpus copy --json --out FOLDER/a", "a plan, a profile or a preflight", "add --plan"),
    ("train --corpus copy", "--out is missing", "--out en-de"),
    ("train --out FOLDER/a", "there is nothing to train on", "--corpus"),
    ("train --profile --out FOLDER", "there is no run to profile", "name a run file"),
    ("translate --bundle FOLDER --guard --alternatives 2", "--guard does not go with --alternatives", "leave one"),
    ("translate --bundle FOLDER --stream --guard", "--stream does not go with --guard", "leave one"),
    ("translate", "no bundle was named", "openwork train --out wrote"),
    ("data check copy --languages en", "--languages en: no pair of languages", "--languages en-de"),
    ("data check", "there is nothing to check", "--source and --target"),
    ("data check --source FILE", "its other side was not named", "both files"),
    ("data stats", "name what to measure", "--source and --target"),
    ("import ct3 FOLDER --out FOLDER/a", "'ct3' is no form that openwork knows", "ct2, hf and marian"),
    ("export FOLDER --to tflite --out FOLDER/a", "'tflite' is no form that openwork knows", "ct2, hf, marian and onnx"),
    ("import ct2 FOLDER --out FOLDER/a --target-tokenizer FILE", "--target-tokenizer needs --source-tokenizer",
        "--source-tokenizer FILE"),
    ("tokenize", "it is not clear which tokenizer to use", "--tokenizer a tokenizer's file"),
    ("tokenize --bundle FOLDER --tokenizer FILE", "not clear which tokenizer to use", "--bundle takes the folder"),
    ("tokenize --bundle FOLDER --side left", "--side left: there is no such side", "source or target"),
    ("score --bundle FOLDER --source FILE", "--source and --target go together", "give both files"),
    ("baseline --corpus copy --behind :", "--behind is for baselines of texts", "add --by lead"),
    ("evaluate --bundle FOLDER", "name what to evaluate on", "--corpus"),
    ("evaluate --bundle FOLDER --corpus copy --texts --next", "score different things", "leave one of them out"),
    ("config show", "there is nothing to show", "--set data.corpus=copy"),
    ("config explain model.wdith", "no run file has such a key", "did you mean"),
    ("info nano tiny", "asked for several things at once", "add --compare"),
    ("info no-such-thing", "neither a folder nor a preset", "hint"),
    ("paper eq 1 --markdown", "--markdown is for the whole list", "openwork paper --markdown"),
    ("paper eq 99", "openwork paper has no", "there are"),
    ("paper theorem", "nothing of the paper is called theorem", "openwork paper lists"),
    ("study --set width=3", "no study is named", "openwork study lists them"),
    ("study no-such-study", "no study is named no-such-study", "there are"),
    ("completion powershell", "there is no completion for this shell", "choose from"),
    ("explain --example no-such-example", "there is no example no-such-example", "--list names them"),
    ("train --set nonsense --corpus copy --out FOLDER/a", "not an assignment", "model.width=256"),
    ("no-such-command", "no such command", "--help shows what there is"),
    ("train --no-such-option", "no such option", "--help shows what there is"),
    ("compare a", "missing argument", "--help shows what there is"),
    ("export FOLDER", "missing option", "--help shows what there is"),
    ("translate --bundle FOLDER --beam two", "invalid value for", "--help shows what there is"),
    ("translate --bundle", "requires an argument", "--help shows what there is"),
    ("translate --json=yes", "does not take a value", "--help shows what there is"),
    ("doctor surplus", "unexpected extra argument", "--help shows what there is"),
    ("doctor more surplus", "unexpected extra argument", "--help shows what there is"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "words", "remedy"), REFUSED, ids=[entry[0] for entry in REFUSED])
def test_a_wrong_command_line_is_refused(line: str, words: str, remedy: str, call: Call, tmp_path: Path):
    file, folder = tmp_path / "lines.txt", tmp_path / "folder"
    file.write_text("one\ntwo\n")
    folder.mkdir()
    arguments = [word.replace("FILE", str(file)).replace("FOLDER", str(folder)) for word in line.split()]
    result = call(*arguments)
    assert result.code in (2, 3) and result.out == b""
    told(result, result.code, words, remedy)
    assert list(folder.iterdir()) == []


def test_telling_languages_without_its_package(call: Call, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "py3langid.langid", None)
    result = call("data", "check", "copy", "--languages", "en-de")
    told(result, 2, "py3langid, which is not installed", "leave --languages out")


WITHOUT_BUNDLE = [
    "translate --bundle FOLDER/no", "classify --bundle FOLDER/no", "complete --bundle FOLDER/no",
    "evaluate --bundle FOLDER/no --corpus copy", "score --bundle FOLDER/no", "verify FOLDER/no",
    "bits --bundle FOLDER/no --text FILE", "shortlist --bundle FOLDER/no --corpus copy --out FOLDER/s",
    "explain Hallo --bundle FOLDER/no", "export FOLDER/no --to hf --out FOLDER/x",
    "export FOLDER --to tflite --out FOLDER/x",
]  # fmt: skip


def test_a_missing_bundle_is_told_before_torch_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a\n")
    places = str(tmp_path / "file"), str(tmp_path)
    commands = [line.replace("FILE", places[0]).replace("FOLDER", places[1]).split() for line in WITHOUT_BUNDLE]
    program = (
        "import sys, json\n"
        "from openwork.cli.main import main\n"
        "for command in json.loads(sys.argv[1]):\n"
        "    sys.argv = ['openwork', *command]\n"
        "    try: main()\n"
        "    except SystemExit as end: assert end.code in (2, 4), (command, end.code)\n"
        "    assert 'torch' not in sys.modules, command\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, json.dumps(commands)], stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("no such folder") == len(WITHOUT_BUNDLE) - 1
