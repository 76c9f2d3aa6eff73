"""The Runs screen in a browser: a training that goes on is followed, and nothing of a run is taken for HTML."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from browsing import PHONE, Watched, in_a_browser
from serving.running import RunningServer, of_a_server, running, started

if TYPE_CHECKING:
    from openwork.bundles.bundle import Bundle

pytestmark = [*of_a_server, *in_a_browser]
HOSTILE = "<img src=x onerror=alert(1)>"
SETTINGS = '[model]\nheads = {}\n\n[training]\nseed = {}\nsteps = 40\nmetric = "bleu"\n'


def write(folder: Path, *records: dict[str, Any]) -> None:
    with (folder / "records.jsonl").open("a", encoding="utf-8") as log:
        log.writelines(json.dumps({"time": 1_700_000_000.0} | one) + "\n" for one in records)


def course(until: int, better: float = 0.0, pace: float = 0.5) -> Iterator[dict[str, Any]]:
    """Updates, and a validation after each tenth, whose sample is hostile."""
    for at in range(1, until + 1):
        yield {"kind": "step", "step": at, "seconds": at * pace, "likelihood": 9 / at, "learning_rate": 1e-4 * at,
               "gradient_norm": 1.0, "tokens_per_second": 1000.0}  # fmt: skip
        if at % 10 == 0:
            yield {"kind": "validation", "step": at, "loss": 5 / at, "bleu": at / 2 + better, "exact": at / 100,
                   "training_seconds": at * pace, "sample": ["Ein Hund.", "A dog.", f"{HOSTILE} {at}"]}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three runs: two differ in their seed, the third in its heads and by a name that could be HTML."""
    for name, heads, seed in (("first", 4, 1), ("second", 4, 2), ("<b>third", 8, 1)):
        run = tmp_path / "runs" / name
        run.mkdir(parents=True)
        (run / "run.toml").write_text(SETTINGS.format(heads, seed))
        write(run, *course(20, better=2.0 * seed, pace=0.5 * seed))
    return tmp_path / "runs"


@pytest.fixture
def server(folder: Path) -> Iterator[RunningServer]:
    with started("runs", folder, "--open", BROWSER="true") as found:  # the command true opens nothing
        found.port = int(found.place.rpartition(":")[2])
        yield found


def watch(browser: Any, server: RunningServer, state: str, **options: Any) -> Watched:
    return Watched(browser, f"http://127.0.0.1:{server.port}/#/runs?{state}", ".chart svg", offline=False, **options)


def test_a_training_is_followed(browser: Any, server: RunningServer, folder: Path) -> None:
    watched = watch(browser, server, "l=en")
    page = watched.page
    row = "[data-table=summary] [data-run='first']"
    assert "20 / 40" in page.inner_text(row) and "12.00 at 20" in page.inner_text(row)
    write(folder / "first", *list(course(40))[-22:])
    (folder / "first" / "bundle").mkdir()
    (folder / "first" / "bundle" / "bundle.json").write_text("{}")
    page.wait_for_function(f"() => document.querySelector(\"{row}\").innerText.includes('finished')")
    assert "20.00 at 40" in page.inner_text(row)
    assert page.inner_text("[data-sample=first]").endswith(f"{HOSTILE} 40")
    differences = page.locator("[data-table=differences] tbody tr").all_inner_texts()
    assert [one.split() for one in differences] == [["model.heads", "8", "4", "4"], ["training.seed", "1", "1", "2"]]
    watched.end()


def test_what_is_shown_stands_in_the_address(browser: Any, server: RunningServer) -> None:
    watched = watch(browser, server, "l=en")
    page = watched.page
    curves = "[data-chart=validation-bleu] [data-curve]"
    assert page.locator(curves).count() == 3
    page.check("[data-tool=seeds]")
    names = page.eval_on_selector_all(curves, "(all) => all.map((one) => one.dataset.curve)")
    assert names == ["<b>third", "first (mean of 2 seeds)"]
    assert page.locator(f"{curves} [class^=band]").count() == 1
    page.select_option("[data-tool=figure]", "exact")
    page.select_option("[data-tool=across]", "seconds")
    page.uncheck("[data-tick='<b>third']")
    assert page.locator("[data-chart=validation-exact] [data-curve]").count() == 1
    link = page.url
    watched.end()
    again = Watched(browser, link, ".chart svg", offline=False)
    assert again.page.locator("[data-chart=validation-exact] [data-curve]").count() == 1
    assert not again.page.is_checked("[data-tick='<b>third']") and again.page.is_checked("[data-tool=seeds]")
    with again.page.expect_download() as saved:
        again.page.click("[data-chart=validation-exact] [data-save=csv]")
    lines = Path(saved.value.path()).read_text("utf-8-sig").splitlines()
    name = "first (mean of 2 seeds)"
    assert lines == ['Run,Seconds of training,"Exactly right, %"', f"{name},7.5,10", f"{name},15,20"]
    again.end()


@pytest.mark.parametrize("state", ["l=en&t=light", "l=zh&t=dark&s=0.6&log=1"])
def test_it_can_be_read_by_all_and_on_a_phone(browser: Any, server: RunningServer, state: str) -> None:
    watched = watch(browser, server, state, viewport=PHONE)
    assert watched.axe_findings() == ""
    assert not watched.is_wider_than_a_phone
    assert watched.page.locator("main img").count() == 0
    watched.end()


def test_a_server_of_bundles_shows_runs_to_those_with_its_token(
    browser: Any, tiny_bundle: "Bundle", folder: Path, tmp_path: Path
) -> None:
    from openwork.bundles.bundle import write_bundle
    from openwork.runs.compared.comparison import runs_content
    from openwork.runs.compared.found import read_runs

    write_bundle(tmp_path / "tiny", tiny_bundle)
    (tmp_path / "token").write_text("secret")
    with running(tmp_path / "tiny", workers=1, runs=folder, token_file=tmp_path / "token") as server:
        assert server.ask("GET", "/v1/runs").status == 401
        found = server.ask("GET", "/v1/runs", authorization="Bearer secret")
        assert found.json == json.loads(json.dumps(runs_content(read_runs([folder]))))
        page = server.ask("GET", "/").body.decode()
        assert '"liveRuns":true' in page and "third" not in page


def test_a_file_of_runs_needs_no_network(browser: Any, folder: Path, tmp_path: Path) -> None:
    from openwork.runs.compared.comparison import runs_page
    from openwork.runs.compared.found import read_runs

    file = tmp_path / "runs.html"
    file.write_text(runs_page(read_runs([folder]), "en"), encoding="utf-8")
    watched = Watched(browser, f"{file.as_uri()}#/runs?l=en", ".chart svg")
    points = watched.page.get_attribute("[data-chart=likelihood] [data-curve=first] path:last-of-type", "d")
    assert points.count("L") == 19  # twenty updates
    watched.end()
