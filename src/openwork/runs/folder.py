"""The folder of a run: its files, its lock, and whether a training there may go on."""

import contextlib
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from openwork.base.config import build, read_written_file, to_toml
from openwork.base.errors import BundleError, ConfigError, OpenworkError
from openwork.base.files import atomic_write_text
from openwork.base.folders import locked
from openwork.base.messages import msg
from openwork.base.outputs import RUN, check_apart, is_run
from openwork.base.records import RecordWriter
from openwork.bundles.settings import BundleSettings
from openwork.data.sources import languages_of
from openwork.runs.file.settings import RunSettings

LENGTH = ("training.steps:", "training.cooldown:", "training.patience:")
"""Beginnings of the differences that a run may have after some of its updates."""


@dataclass(frozen=True)
class NewLength:
    """Another length for a run that `made` some updates; `is_exact`: a run of that length makes the same ones."""

    before: RunSettings
    after: RunSettings
    made: int
    is_exact: bool

    @property
    def changes(self) -> list[str]:
        return differences(self.before, self.after)

    @property
    def goes_on(self) -> bool:
        """Whether updates are left to make."""
        return self.made < self.after.training.steps


class RunFolder:
    """The files and folders of a run; `outputs.RUN` lists their names."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.settings_file = path / "run.toml"
        self.records = path / "records.jsonl"
        self.tokenizers = path / "tokenizers"
        self.stores = path / "stores"
        self.checkpoints = path / "checkpoints"
        self.tensorboard = path / "tensorboard"
        self.bad_batch = path / "bad-batch.jsonl"
        self.bundle = path / "bundle"
        self.teacher = path / "teacher"  # the pairs of a distillation, there before the run
        self.lock = path / ".lock"
        self.extended = path / ".extended"  # exists while a finished run is trained longer: the bundle is the old one

    @property
    def is_finished(self) -> bool:
        """Whether it has a bundle."""
        return (self.bundle / "bundle.json").is_file()

    def read_settings(self) -> RunSettings | None:
        if not self.settings_file.is_file():
            return None
        layer = read_written_file(self.settings_file)
        return build(RunSettings, layer.mapping, layer.origins)

    def settings_of_checkpoints(self) -> RunSettings:
        """The same for a folder with checkpoints; BundleError if the file is missing."""
        settings = self.read_settings()
        if settings is None:
            raise BundleError(
                f"{self.path}: the run of these checkpoints has lost its run.toml",
                hint="copy the whole folder of the run",
                code="B037",
            )
        return settings

    @contextlib.contextmanager
    def locked(self, settings: RunSettings, length: NewLength | None = None) -> Iterator["RunLock"]:
        """Makes the folder, or checks that the run in it is this one, and keeps other processes from training there.

        `length`: the new length of the run in it, which is noted in the folder. The system releases the lock when this
        process ends, however it ends.
        """
        self._refuse_finished(length)
        self._make()
        self.refuse_links()
        with self._lock_held():
            self._refuse_finished(length)
            if length is None:
                self._settle(settings)
            else:
                self._change(length)
            yield RunLock(self, self.lock.stat())

    def _lock_held(self) -> contextlib.AbstractContextManager[None]:
        try:
            self.lock.touch()
        except OSError as error:
            raise OpenworkError(
                f"{self.path}: nothing can be written there",
                why=error.strerror or str(error),
                hint="check who may write in this folder, and whether its disk is full; or give another --out",
                code="E026",
            ) from error
        busy = OpenworkError(
            f"{self.path}: another openwork is training in this folder",
            hint="wait for it, or give another --out",
            code="E018",
        )
        return locked(self.lock, busy)

    def rewrite(self, settings: RunSettings) -> None:
        atomic_write_text(self.settings_file, to_toml(settings))

    def _refuse_finished(self, length: NewLength | None) -> None:
        if not self.is_finished or self.extended.exists() or (length is not None and length.goes_on):
            return
        settings = self.read_settings()
        steps = settings.training.steps if settings is not None else 1
        raise OpenworkError(
            f"{self.path}: this run is finished, there is nothing left to do",
            why=f"its translator is {self.bundle}",
            hint=f"use it: openwork translate {self.path}; to go on: openwork train {self.path} --steps {2 * steps}",
            code="E017",
        )

    def _make(self) -> None:
        if self.path.exists() and not self.path.is_dir():
            raise ConfigError(f"{self.path}: --out is a file", hint="name a folder, it will be made", code="C051")
        check_apart(self.path, ())
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            seen = {child.name for child in self.path.iterdir() if not child.name.startswith(".")}
        except OSError as error:
            raise OpenworkError(
                f"{self.path}: cannot be made",
                why=error.strerror or str(error),
                hint="name another folder with --out, or check that you may write there",
                code="E019",
            ) from error
        if seen - {self.teacher.name} and not is_run(self.path):
            if self.settings_file.name not in seen and self.checkpoints.name in seen:
                raise ConfigError(
                    f"{self.path}: the run in this folder has lost its {self.settings_file.name}",
                    hint="bring the file back: the run file and the options that it was started with, in one",
                    code="C071",
                )
            raise ConfigError(
                f"{self.path}: --out is a folder with other things in it",
                hint="name a new or empty folder",
                code="C052",
            )

    def refuse_links(self) -> None:
        """OpenworkError for links and pipes: a training would change what they lead to."""
        for top in (self.path / name for name in RUN):
            inner = (Path(folder, name) for folder, *names in os.walk(top) for name in chain(*names))
            for path in chain([top], inner):  # a link at the top is refused before it is walked through
                if _is_other(path):
                    raise OpenworkError(
                        f"{path}: a link or a pipe in the folder of a run",
                        why="a training would change or remove what it leads to",
                        hint="put the file or folder itself in its place; to keep a run on another disk, "
                        "give a folder there as --out",
                        code="E030",
                    )

    def _settle(self, settings: RunSettings) -> None:
        before = self.read_settings()
        if before is None:
            self.rewrite(settings)
        elif (changes := differences(before, settings)) and not any(self.checkpoints.glob("step-*")):
            self.rewrite(settings)  # nothing is trained yet, as after a refusal
        elif changes:
            raise ConfigError(
                f"{self.path}: the run in this folder has other settings: {'; '.join(changes[:5])}",
                why=_change_line(changes),
                hint=f"to give it another length: openwork train {self.path} --steps {settings.training.steps}"
                if all(change.startswith(LENGTH) for change in changes)
                else "give the same settings to continue it, or another --out",
                code="C050",
            )

    def _change(self, length: NewLength) -> None:
        changes = length.changes
        if others := [change for change in changes if not change.startswith(LENGTH)]:
            raise ConfigError(
                f"{self.path}: the run in this folder has other settings: {'; '.join(others[:5])}",
                why=_change_line(others),
                hint="of a run that has started only training.steps, cooldown and patience can be changed",
                code="C050",
            )
        if changes:
            with RecordWriter(self.records) as records:
                records.write("changed", step=length.made, changes=changes, exact=length.is_exact)
        if self.is_finished:
            self.extended.touch()
        if changes:
            self.rewrite(length.after)


def _is_other(path: Path) -> bool:
    """Whether it is there, and is neither a regular file nor a folder."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:  # another training may have removed it
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


@dataclass(frozen=True)
class RunLock:
    """The lock that a training holds on a folder; `file`: the identity of the lock file."""

    folder: RunFolder
    file: os.stat_result

    def check(self) -> None:
        """OpenworkError if the folder was removed, moved, or replaced by another since the training began."""
        try:
            is_ours = os.path.samestat(self.folder.lock.stat(), self.file)
        except OSError:
            is_ours = False
        if not is_ours:
            raise OpenworkError(
                f"{self.folder.path}: the folder of this run has vanished",
                why="it was removed, moved or replaced while the training was under way",
                hint="put it back and run the same command again; without it the command begins anew",
                code="E027",
            )


def no_checkpoint(path: Path) -> BundleError:
    return BundleError(f"{path}: this run has no checkpoint yet", hint="train longer, or name another run", code="B036")


def _change_line(changes: Sequence[str]) -> str:
    """The gravest consequence of these changes."""
    sections = {change.split(".")[0] for change in changes}
    if sections & {"data", "filters", "text", "batches"}:
        return msg(
            "its vocabulary, its place in the data and its validation figures belong to the pairs and batches of then"
        )
    if sections & {"model", "fine_tuning"}:
        return msg("its checkpoints hold the weights of that model, and another has other weights")
    if "training" in sections:
        return msg(
            "with them it would be another training, and no run file would describe how its weights were trained"
        )
    return msg("its validation figures before and after could not be compared")


def differences(before: RunSettings, now: RunSettings) -> list[str]:
    """The keys whose values differ, as `section.key: old -> new`."""
    old, new = ({name: values or {} for name, values in one.model_dump(mode="json").items()} for one in (before, now))
    return [
        f"{section}.{key}: {old[section].get(key)} -> {new[section].get(key)}"
        for section in old
        for key in sorted({*old[section], *new[section]})
        if old[section].get(key) != new[section].get(key)
    ]


def settings_of_run(run: RunSettings) -> BundleSettings:
    """The settings of the run's bundle."""
    source, target = languages_of(run.data)
    return BundleSettings(
        model=run.model,
        picture=run.picture,
        sound=run.sound,
        series=run.series,
        decoding=run.decoding,
        source_language=source,
        target_language=target,
    )
