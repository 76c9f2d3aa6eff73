"""Pages in headless Chromium: what they ask for and what goes wrong is watched."""

from collections.abc import Iterator
from contextlib import contextmanager
from shutil import which
from typing import Any

import pytest

playwright: Any = pytest.importorskip("playwright.sync_api", reason="needs the package playwright")
CHROMIUM = which("chromium")
in_a_browser = [
    pytest.mark.slow,  # a browser is started
    pytest.mark.skipif(CHROMIUM is None, reason="needs Debian's package chromium"),
]
QUIET = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]  # fmt: skip
PHONE = {"width": 390, "height": 844}
PATIENCE = 120_000  # milliseconds; a machine may be busy


@contextmanager
def opened_browser() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield browser
        browser.close()


class Watched:
    """A page that may ask nobody but the server that it came from, with its errors and requests.

    Args:
        wanted: a selector of what is there when the page is ready.
        options: of the browser's context. A page of a server needs `offline=False`.
    """

    def __init__(self, browser: Any, address: str, wanted: str, **options: Any) -> None:
        self.context = browser.new_context(**{"offline": True, **options})
        self.page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda said: self.errors.append(said.text) if said.type == "error" else None)
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.origin = address.partition("://")[2].partition("/")[0]
        self.page.goto(address)
        self.page.wait_for_selector(wanted)

    @property
    def is_wider_than_a_phone(self) -> bool:
        return bool(self.page.evaluate("document.documentElement.scrollWidth > 390"))

    def axe_findings(self) -> str:
        """What axe finds, as a report; empty where it finds nothing."""
        axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python").Axe()
        found = axe.run(self.page)
        return str(found.generate_report()) if found.violations_count else ""

    def end(self) -> None:
        assert self.errors == [], self.errors
        own = ("file:", "data:", "blob:") if not self.origin else ("data:", "blob:", f"http://{self.origin}/")
        assert all(url.startswith(own) for url in self.requests), self.requests
        self.context.close()
