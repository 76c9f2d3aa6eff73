"""What has been measured, as one JSON file that is written anew after each measurement: a stop loses nothing."""

import json
from pathlib import Path
from typing import Any

from openwork.base.files import atomic_write_text

VERSION = 1


class Record:
    """Results by measurement and round, with the machine and the options that they belong to."""

    def __init__(self, path: Path, machine: dict[str, Any], options: dict[str, Any]) -> None:
        """Goes on with the file if it was made with the same options on the same machine; else begins anew."""
        self.path = path
        self.machine = machine
        self.options = options
        self.results: dict[str, list[dict[str, Any]]] = {}
        self.continued = False
        if path.is_file():
            before = json.loads(path.read_text(encoding="utf-8"))
            if self._is_of_the_same(before):
                self.results = before["results"]
                self.continued = True

    def _is_of_the_same(self, before: dict[str, Any]) -> bool:
        same_machine = before.get("machine", {}).get("processor") == self.machine["processor"]
        return before.get("version") == VERSION and before.get("options") == self.options and same_machine

    def rounds(self, key: str) -> list[dict[str, Any]]:
        """What is known of one measurement, a result a round."""
        return self.results.get(key, [])

    def add(self, key: str, result: dict[str, Any]) -> None:
        """One more round of it, written at once. Each result says which commit it was measured with."""
        stamp = {"commit": self.machine["commit"], "date": self.machine["date"]}
        self.results.setdefault(key, []).append({**result, **stamp})
        self.save()

    def forget_failures(self) -> None:
        """What failed is to be measured again."""
        kept = {key: [result for result in rounds if not result.get("failure")] for key, rounds in self.results.items()}
        self.results = {key: rounds for key, rounds in kept.items() if rounds}

    def save(self, summary: dict[str, Any] | None = None) -> None:
        """Writes the file, with the figures that follow from the results where they are given."""
        whole = {"version": VERSION, "machine": self.machine, "options": self.options}
        whole |= {"summary": summary} if summary is not None else {}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({**whole, "results": self.results}, ensure_ascii=False, indent=1)
        atomic_write_text(self.path, text + "\n")
