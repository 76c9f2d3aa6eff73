"""The folder of a run: what lies where, and whether a training there may go on."""

import contextlib
import fcntl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from openwork.base.config import build, read_run_file, to_toml
from openwork.base.errors import ConfigError, OpenworkError
from openwork.base.files import atomic_write_text
from openwork.systems.run_file import RunSettings


@dataclass(frozen=True)
class RunFolder:
    """`run.toml` (all settings), `records.jsonl`, `tokenizers`, `stores`, `checkpoints`, and at the end `bundle`."""

    path: Path

    @property
    def settings_file(self) -> Path:
        return self.path / "run.toml"

    @property
    def records(self) -> Path:
        return self.path / "records.jsonl"

    @property
    def tokenizers(self) -> Path:
        return self.path / "tokenizers"

    @property
    def stores(self) -> Path:
        return self.path / "stores"

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def tensorboard(self) -> Path:
        return self.path / "tensorboard"

    @property
    def bad_batch(self) -> Path:
        return self.path / "bad-batch.jsonl"

    @property
    def bundle(self) -> Path:
        return self.path / "bundle"

    def read_settings(self) -> RunSettings | None:
        """The settings of the run that is here, if there is one."""
        if not self.settings_file.is_file():
            return None
        layer = read_run_file(self.settings_file)
        return build(RunSettings, layer.mapping, layer.origins)

    def open(self, settings: RunSettings) -> None:
        """Makes the folder, or checks that the run in it is this one."""
        if (self.bundle / "bundle.json").is_file():
            raise OpenworkError(
                f"{self.path}: this run is finished, there is nothing left to do",
                why=f"its translator is {self.bundle}",
                hint=f"use it: openwork translate --bundle {self.path}; or give another --out",
            )
        before = self.read_settings()
        if before is None:
            self._create(settings)
        elif changes := differences(before, settings):
            raise ConfigError(
                f"{self.path}: the run in this folder has other settings: {'; '.join(changes[:5])}",
                hint="give the same settings to continue it, or another --out",
            )

    @contextlib.contextmanager
    def claimed(self) -> Iterator[None]:
        """Keeps every other process from training in this folder; the system gives it free when this one ends."""
        with (self.path / ".lock").open("a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise OpenworkError(
                    f"{self.path}: another openwork is training in this folder",
                    hint="wait for it, or give another --out",
                ) from error
            except OSError:  # a file system without locks
                pass
            yield

    def _create(self, settings: RunSettings) -> None:
        if self.path.exists() and not self.path.is_dir():
            raise ConfigError(f"{self.path}: --out is a file", hint="name a folder, it will be made")
        if self.path.is_dir() and any(not child.name.startswith(".") for child in self.path.iterdir()):
            raise ConfigError(
                f"{self.path}: --out is a folder with other things in it", hint="name a new or empty folder"
            )
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OpenworkError(
                f"{self.path}: cannot be made",
                why=error.strerror or str(error),
                hint="name another folder with --out, or check that you may write there",
            ) from error
        atomic_write_text(self.settings_file, to_toml(settings))


def differences(before: RunSettings, now: RunSettings) -> list[str]:
    """The keys whose values differ, as `section.key: old -> new`."""
    old, new = before.model_dump(mode="json"), now.model_dump(mode="json")
    found = []
    for section in old:
        for key in sorted({*old[section], *new[section]}):
            was, is_now = old[section].get(key), new[section].get(key)
            if was != is_now:
                found.append(f"{section}.{key}: {was} -> {is_now}")
    return found
