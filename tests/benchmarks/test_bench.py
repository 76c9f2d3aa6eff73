"""The harness of `make bench`, without any peer: counting, medians, resuming, ratios, tables."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from bench import environments, harness, processes
from bench.comparison import AT_MOST, Wanted, best, shares, wanted
from bench.environments import CannotPrepare, Environment, torch_commands
from bench.harness import measure, missing, result_of
from bench.measurement import Measurement, middle, percentile, rate
from bench.options import Options, read_options
from bench.processes import Answer, ask, heard
from bench.record import Record
from bench.report import figures_of, number, spread, summary_of, table, tables

MACHINE = {"processor": "one", "commit": "abc", "date": "2026-11-21"}
OPTIONS = Options(rounds=2, threads=2)


def silent(line: str) -> None:
    """For those who do not watch."""


def measurement(key: str, *, peer: str = "openwork", rounds: int = 0) -> Measurement:
    return Measurement(
        key, peer, "script.py", 1, lambda number: {"round": number}, lambda answer: {"speed": 1.0}, rounds=rounds
    )


def record(tmp_path: Path, options: Options = OPTIONS, machine: dict[str, Any] = MACHINE) -> Record:
    return Record(tmp_path / "results.json", machine, options.compared())


# ------------------------------------------------------------------------------------------------------------- figures


def test_a_rate_weighs_updates_by_how_long_they_last_and_leaves_out_the_warm_up():
    lines = [{"units": 9, "seconds": 90.0}, {"units": 300, "seconds": 1.0}, {"units": 300, "seconds": 3.0}]
    assert rate(lines, warm_up=1) == 600 / 4
    assert rate(lines[:1], warm_up=1) == 0.0


@pytest.mark.parametrize(("share", "expected"), [(0.5, 10), (0.95, 19), (1.0, 20), (0.01, 1)])
def test_percentiles_are_values_that_were_measured(share: float, expected: int):
    assert percentile([float(value) for value in range(20, 0, -1)], share) == expected


def test_the_middle_of_rounds_has_its_spread_and_nothing_has_none():
    found = middle([3.0, 1.0, 2.0])
    assert found is not None
    assert found.to_json() == {"median": 2.0, "low": 1.0, "high": 3.0, "rounds": 3}
    assert middle([]) is None


def test_figures_of_settings_are_kept_apart():
    rounds = [{"sentences_per_second": {"a": 1.0, "b": 5.0}, "bleu": 30.0}, {"sentences_per_second": {"a": 3.0}}]
    found = figures_of(rounds)
    assert found["sentences_per_second, a"]["median"] == 2.0
    assert found["sentences_per_second, b"]["rounds"] == 1
    assert found["bleu"]["median"] == 30.0


# ------------------------------------------------------------------------------------------------------------ processes


def test_only_lines_that_are_meant_for_us_are_heard():
    lines = ['{"kind": "update", "units": 3}\n', "a warning\n", "[1, 2]\n", '{"other": 1}\n', "17\n"]
    assert heard(lines) == [{"kind": "update", "units": 3}]


def run_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, limit: float = 900.0) -> Answer:
    (tmp_path / "peer.py").write_text(code)
    monkeypatch.setattr(processes, "SCRIPTS", tmp_path)
    return ask(Path(sys.executable), "peer.py", {"word": "hello"}, threads=3, limit=limit)


@pytest.mark.slow
def test_a_peer_is_asked_once_and_its_memory_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    code = (
        "import json, os, sys\n"
        f"sys.path.insert(0, {str(processes.SCRIPTS)!r})\n"
        "import speaking\n"
        "word = json.load(sys.stdin)['word']\n"
        "held = b'x' * (100 << 20)\n"
        "print('noise')\n"
        "print(json.dumps({'kind': 'facts', 'word': word, 'threads': os.environ['OMP_NUM_THREADS']}))\n"
        "speaking.tell_end()\n"
    )
    answer = run_script(tmp_path, monkeypatch, code)
    assert answer.failure == ""
    assert answer.facts == {"word": "hello", "threads": "3"}
    assert 100 < answer.peak_megabytes < 150  # its own, however much pytest holds


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import sys; sys.exit('no such model')", "exit code 1: no such model"),
        ("pass", "exit code 0"),  # it must say that it came to its end
        ('print(\'{"kind": "refused", "reason": "no such type"}\')', "no such type"),
        ("import time; time.sleep(60)", "longer than 1 s"),
    ],
)
def test_why_a_peer_failed_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, said: str):
    answer = run_script(tmp_path, monkeypatch, code, limit=1.0 if "sleep" in code else 900.0)
    assert said in answer.failure


def test_what_was_told_before_a_failure_is_not_taken_for_a_result():
    told = [{"kind": "update", "units": 1, "seconds": 1.0}]
    result = result_of(measurement("a"), Answer(told, 5.0, "exit code 1"))
    assert result == {"failure": "exit code 1", "peak_megabytes": 5.0}


# ------------------------------------------------------------------------------------------------------------- resuming


def answering(monkeypatch: pytest.MonkeyPatch, failing: Sequence[str] = ()) -> list[tuple[int, str]]:
    """Measurements answer at once; gives back the list of (round, key) in which they will be made."""
    made: list[tuple[int, str]] = []

    def result(measurement: Measurement, number: int, options: Options, say: harness.Say) -> dict[str, Any]:
        made.append((number, measurement.key))
        return {"failure": "broken"} if measurement.key in failing else {"speed": float(number)}

    monkeypatch.setattr(harness, "_result_of", result)
    return made


def test_rounds_are_interleaved_and_what_failed_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    made = answering(monkeypatch, failing=["b"])
    plan = [measurement("a"), measurement("b"), measurement("c", rounds=1)]
    assert measure(plan, record(tmp_path), OPTIONS, silent) == 0
    assert made == [(1, "a"), (1, "b"), (1, "c"), (2, "a")]


def test_a_second_call_goes_on_where_the_first_was_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    plan = [measurement("a"), measurement("b")]

    def stopped(*_: object) -> dict[str, Any]:
        if stopped_after.pop():
            raise KeyboardInterrupt
        return {"speed": 7.0}

    stopped_after = [True, False]
    monkeypatch.setattr(harness, "_result_of", stopped)
    with pytest.raises(KeyboardInterrupt):
        measure(plan, record(tmp_path), OPTIONS, silent)

    made = answering(monkeypatch)
    again = record(tmp_path)
    assert again.continued
    assert [key for _, key in [(number, one.key) for number, one in missing(plan, again, OPTIONS)]] == ["b", "a", "b"]
    assert measure(plan, again, OPTIONS, silent) == 0
    assert made == [(1, "b"), (2, "a"), (2, "b")]
    assert [result["speed"] for result in again.rounds("a")] == [7.0, 2.0]


def test_after_its_seconds_a_call_begins_nothing_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    made = answering(monkeypatch)
    times = iter([0.0, 1.0, 61.0])
    monkeypatch.setattr(harness.time, "monotonic", lambda: next(times))
    plan = [measurement("a"), measurement("b")]
    left = measure(plan, record(tmp_path), Options(rounds=1, seconds=60.0), silent)
    assert (made, left) == ([(1, "a")], 1)


def test_results_of_other_options_or_machines_are_not_joined(tmp_path: Path):
    record(tmp_path).add("a", {"speed": 1.0})
    assert record(tmp_path).rounds("a") == [{"speed": 1.0, "commit": "abc", "date": "2026-11-21"}]
    assert record(tmp_path, Options(rounds=2, threads=4)).rounds("a") == []
    assert record(tmp_path, machine={**MACHINE, "processor": "another"}).rounds("a") == []


def test_failures_can_be_forgotten(tmp_path: Path):
    kept = record(tmp_path)
    kept.add("a", {"failure": "broken"})
    kept.add("b", {"speed": 1.0})
    kept.forget_failures()
    assert list(kept.results) == ["b"]


def test_a_peer_that_cannot_be_installed_is_a_result(monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object) -> Environment:
        raise CannotPrepare("marian cannot be installed: no such version")

    monkeypatch.setattr(harness, "prepare", refuse)
    result = harness._result_of(measurement("a", peer="marian"), 1, OPTIONS, silent)
    assert result == {"failure": "marian cannot be installed: no such version"}


# --------------------------------------------------------------------------------------------------------- environments


def test_a_processor_never_gets_the_build_for_graphics_cards():
    ways = torch_commands(["install"], "torch==2.13.0", "cpu", "PLACE")
    assert [way[2] for way in ways] == ["torch==2.13.0+cpu", "--retries"]
    assert all("+cpu" in " ".join(way) or "--index-url PLACE" in " ".join(way) for way in ways)
    assert all("--no-deps" in way for way in ways)
    assert len(torch_commands(["install"], "torch==2.13.0", "cpu", "")) == 1
    assert torch_commands(["install"], "torch==2.13.0", "cuda", "PLACE") == [["install", "--no-deps", "torch==2.13.0"]]


@pytest.mark.parametrize("peer", ["huggingface", "joeynmt", "marian", "ctranslate2"])
def test_every_peer_has_its_versions_written_down_and_no_address(peer: str, tmp_path: Path):
    needs = Environment(peer, tmp_path).needs
    assert needs
    for path in needs:
        for line in path.read_text().splitlines():
            assert "==" in line and "/" not in line and "+" not in line


def test_other_requirements_make_an_environment_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    commands: list[Sequence[str]] = []
    monkeypatch.setattr(environments, "REQUIREMENTS", tmp_path)
    monkeypatch.setattr(environments, "_run", lambda command, _: commands.append(command))
    (tmp_path / "requirements-one.txt").write_text("torch==1.0\nother==2.0\n")
    (tmp_path / "requirements-one-alone.txt").write_text("third==3.0\n")
    (tmp_path / "root" / "one").mkdir(parents=True)

    environments.prepare(tmp_path / "root", "one", "cpu", silent)
    installed = [" ".join(command) for command in commands[1:]]
    assert ["torch==1.0+cpu" in command for command in installed] == [True, False, False]
    assert ["--no-deps" in command for command in installed] == [True, False, True]

    commands.clear()
    environments.prepare(tmp_path / "root", "one", "cpu", silent)
    assert commands == []
    (tmp_path / "requirements-one.txt").write_text("torch==1.1\n")
    environments.prepare(tmp_path / "root", "one", "cpu", silent)
    assert len(commands) == 4


# ----------------------------------------------------------------------------------------------------------- comparison


def test_ratios_are_taken_within_each_round():
    claim = Wanted("speed", [10.0, 30.0, 20.0], [5.0, 5.0, 5.0], 3.0)
    assert claim.to_json() == {
        "claim": "speed", "target": 3.0, "direction": "at least",
        "median": 4.0, "low": 2.0, "high": 6.0, "rounds": 3, "met": True,
    }  # fmt: skip
    assert Wanted("time", [10.0], [5.0], 1.5, AT_MOST).to_json()["met"] is False
    assert "met" not in Wanted("speed", [], [5.0], 1.0).to_json()


RESULTS: dict[str, list[dict[str, Any]]] = {
    "ceilings/bfloat16/2": [{"gflops": 400.0}, {"gflops": 200.0}],
    "training/openwork/bfloat16/given batches": [
        {"tokens_per_second": 4000.0, "flops_per_token": 5e7, "peak_megabytes": 900.0},
        {"tokens_per_second": 3000.0, "flops_per_token": 5e7, "peak_megabytes": 910.0},
    ],
    "training/joeynmt/float32/own batches": [{"tokens_per_second": 400.0, "peak_megabytes": 1.0}],
    "training/marian/float32/own batches": [{"failure": "no such wheel"}],
    "translating/1000/greedy/ctranslate2/int8/2 x 1": [
        {"sentences_per_second": {"batches of 32": 90.0, "batches of 64": 110.0}, "bleu": 30.1, "peak_megabytes": 9.0}
    ],
    "translating/1000/greedy/ctranslate2/int8_float32/2 x 1": [
        {"sentences_per_second": {"batches of 32": 100.0}, "bleu": 30.0, "peak_megabytes": 9.0}
    ],
    "translating/1000/greedy/openwork": [
        {"sentences_per_second": {"as it chooses": 55.0}, "bleu": 30.0, "peak_megabytes": 9.0}
    ],
    "single/greedy/openwork": [{"p50": 9.0, "p95": 12.0}],
    "single/greedy/ctranslate2/float32/1 x 1": [{"p50": 4.0, "p95": 5.0}],
    "single/greedy/ctranslate2/float32/1 x 2": [{"p50": 3.0, "p95": 9.0}],
}


def test_ours_is_held_against_the_fastest_of_a_sweep():
    assert best(RESULTS, "translating/1000/greedy/ctranslate2") == ("int8/2 x 1, batches of 64", [110.0])
    # int8 is not the beginning of int8_float32
    assert best(RESULTS, "translating/1000/greedy/ctranslate2/int8")[1] == [110.0]
    claims = {claim.claim: claim.to_json() for claim in wanted(RESULTS, OPTIONS)}
    assert claims["1,000 sentences, greedy / CTranslate2's best"]["median"] == 0.5
    assert claims["one sentence, greedy, p50 / CTranslate2's best"]["median"] == 3.0
    assert claims["training bf16 / JoeyNMT fp32"]["median"] == 10.0
    assert "median" not in claims["training bf16 / Marian fp32"]


def test_the_share_of_the_limit_is_that_of_the_same_round():
    assert shares(RESULTS, OPTIONS, "openwork", "bfloat16") == pytest.approx([0.5, 0.75])


# --------------------------------------------------------------------------------------------------------------- report


def test_the_tables_show_medians_spreads_ratios_and_failures():
    text = tables(RESULTS, summary_of(RESULTS, OPTIONS))
    lines = {line.split("  ")[0]: line for line in text.splitlines()}
    assert lines["openwork, bfloat16, given batches"].split()[-6:] == ["3,500", "3,000", "to", "4,000", "62%", "905"]
    assert "110" in lines["1000, greedy, ctranslate2, int8, 2 x 1, batches of 64"]
    assert "missed" in lines["1,000 sentences, greedy / CTranslate2's best"]
    assert "met" in lines["training bf16 / JoeyNMT fp32"]
    assert "no such wheel" in lines["training/marian/float32/own batches"]
    assert "beam 5" not in text  # nothing was measured of it


def test_columns_stand_under_their_heads():
    assert table(("a", "number"), [("long name", "1"), ("b", "22")]).splitlines() == [
        "a          number",
        "-----------------",
        "long name       1",
        "b              22",
    ]
    assert table(("a",), []) == ""


@pytest.mark.parametrize(("value", "shown"), [(4711.4, "4,711"), (38.28, "38.3"), (0.574, "0.57")])
def test_numbers_have_the_digits_that_tell(value: float, shown: str):
    assert number(value) == shown


def test_one_round_has_no_spread():
    assert spread({"low": 1.0, "high": 2.0, "rounds": 2}) == "1.00 to 2.00"
    assert spread({"low": 1.0, "high": 1.0, "rounds": 1}) == ""


# -------------------------------------------------------------------------------------------------------------- options


@pytest.mark.parametrize(
    ("arguments", "key", "chosen"),
    [
        ([], "training/marian/float32", True),
        (["--only", "training"], "training/marian/float32", True),
        (["--only", "training"], "translating/1000", False),
        (["--only", "training", "--skip", "marian"], "training/marian/float32", False),
        (["--only", "beam 5/ctranslate2"], "translating/1000/beam 5/ctranslate2/int8", True),
        (["--only", "int8"], "a/int8_float32/b", False),
    ],
)
def test_measurements_are_chosen_by_parts_of_their_names(arguments: list[str], key: str, chosen: bool):
    assert read_options(arguments).chooses(key) is chosen


def test_a_quick_call_is_small_and_a_long_one_has_more_sentences():
    quick, usual, long = (read_options(arguments) for arguments in (["--quick"], [], ["--long"]))
    assert quick.rounds == 1 and quick.updates < usual.updates and quick.sentences == (200,)
    assert usual.sentences == (1000,) and long.sentences == (1000, 10_000)
    assert quick.compared() != usual.compared()


def test_which_part_is_asked_for_does_not_part_results():
    assert read_options(["--only", "training", "--seconds", "5"]).compared() == read_options([]).compared()
