"""The data of trials: prepared once for all that share data, text and filters, and linked into their folders."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from openwork.base.files import sha256_values
from openwork.base.tasks import task_of
from openwork.data.pairs import read_origins
from openwork.runs.corpus import RunCorpus, prepare_corpus
from openwork.runs.file.settings import RunSettings
from openwork.runs.folder import RunFolder
from openwork.training.loop import LoopState, Observer

# sections that decide pairs and pieces
SHARED = ("data", "text", "filters", "picture", "sound", "series", "fine_tuning")


class Corpora:
    """The corpora of an experiment, in `folder`; each is opened once in a process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._opened: dict[str, RunCorpus] = {}

    def of(self, settings: RunSettings) -> RunCorpus:
        """The corpus of a run. ConfigError where its pairs are no longer those that the first trial had."""
        key = corpus_key(settings)
        if key not in self._opened:
            place = RunFolder(self.folder / key)
            place.path.mkdir(parents=True, exist_ok=True)
            with FileLock(place.lock):
                is_whole = read_origins(place.stores) is not None
                self._opened[key] = prepare_corpus(settings, place, lambda line: None, started=is_whole)
        return self._opened[key]

    def link(self, settings: RunSettings, run: Path) -> Observer:
        """Puts vocabulary and ids into the folder of a run when it begins, so that it is a run like any other."""
        return _LinkObserver(self.folder / corpus_key(settings), run)


def corpus_key(settings: RunSettings) -> str:
    """The same for runs with the same pairs and pieces."""
    values = settings.model_dump(mode="json", exclude_none=True)
    training = settings.training
    rest = task_of(settings.model), training.validation_sentences, training.metric == "loss"
    seed = training.seed if settings.text.sampling > 0 else None
    return sha256_values([*(values.get(name) for name in SHARED), *rest, seed])[:16]


@dataclass(eq=False)
class _LinkObserver(Observer):
    corpus: Path
    run: Path

    def started(self, run: LoopState) -> None:
        for name in ("tokenizers", "stores"):
            link_tree(self.corpus / name, self.run / name)


def link_tree(source: Path, target: Path) -> None:
    """The file, or the files of the folder, in another place, without copying where the file system allows it."""
    if source.is_dir():
        shutil.copytree(source, target, copy_function=_link_or_copy, dirs_exist_ok=True)
    else:
        _link_or_copy(str(source), str(target))


def _link_or_copy(source: str, target: str) -> None:
    """A second name for the file, or a copy where the file system has no such names."""
    Path(target).unlink(missing_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
