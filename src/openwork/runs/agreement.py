"""What the processes of a training have in common before its first update: settings, versions, and data."""

from dataclasses import asdict
from typing import Any

import torch

from openwork import __version__
from openwork.base.config import build
from openwork.base.errors import BundleError, ConfigError, DataError
from openwork.base.messages import msg
from openwork.bundles.settings import load_tokenizers
from openwork.data.batching import CorpusMixture
from openwork.data.filters import FilterReport
from openwork.data.records import Pair
from openwork.data.sources import PairSource
from openwork.data.store import TokenStore
from openwork.machine.processes import Processes
from openwork.runs.corpus import Report, RunCorpus, prepare_corpus
from openwork.runs.file.settings import RunSettings
from openwork.runs.folder import RunFolder, differences


def check_alike(settings: RunSettings, processes: Processes) -> None:
    """ConfigError that names the process with other settings or versions than the first one."""
    versions = {"openwork": __version__, "torch": torch.__version__}
    first, *others = processes.gather({"settings": _plain(settings), "versions": versions})
    for rank, other in enumerate(others, start=1):
        if other["versions"] != first["versions"]:
            raise ConfigError(
                f"process {rank} of {processes.count} has other versions: {_named(other['versions'])}",
                why=f"process 0 has {_named(first['versions'])}",
                hint="install the same on all machines",
                code="C108",
            )
        if changes := differences(*(build(RunSettings, one["settings"]) for one in (first, other))):
            raise ConfigError(
                f"process {rank} of {processes.count} has another run file: {'; '.join(changes[:5])}",
                why="all processes make the same updates from the same settings",
                hint="start all of them with the same run file and options",
                code="C109",
            )


def settings_of_first(settings: RunSettings, processes: Processes) -> RunSettings:
    """The settings of the first process, which has decided something for all."""
    return settings if processes.count == 1 else build(RunSettings, processes.from_first(_plain(settings)))


def _plain(settings: RunSettings) -> dict[str, Any]:
    return settings.model_dump(mode="json", exclude_none=True)


def _named(versions: dict[str, str]) -> str:
    return " and ".join(f"{name} {version}" for name, version in versions.items())


def shared_corpus(settings: RunSettings, folder: RunFolder, report: Report, processes: Processes) -> RunCorpus:
    """The data of a run: prepared by the first process, opened by the others, which map the same files.

    DataError where a process does not see what the first one has prepared.
    """
    if processes.count == 1:
        return prepare_corpus(settings, folder, report)
    first = prepare_corpus(settings, folder, report) if processes.is_first else None
    processes.done("corpus")
    mixture = first and first.mixture and asdict(first.mixture)
    beside = first and {"valid_pairs": first.valid_pairs, "examples": first.examples, "mixture": mixture}
    rest = processes.from_first(beside)  # what is not in the files of the folder
    corpus = first or _opened(settings, folder, rest, processes)
    fingerprints = processes.gather([corpus.train.fingerprint, corpus.valid.fingerprint, corpus.tokenizers.fingerprint])
    for rank, found in enumerate(fingerprints):
        if found != fingerprints[0]:
            raise _other_data(folder, rank, processes, msg("its fingerprints are others"))
    return corpus


def _opened(settings: RunSettings, folder: RunFolder, rest: dict[str, Any], processes: Processes) -> RunCorpus:
    try:
        tokenizers = load_tokenizers(folder.tokenizers, settings)
        train, valid = (TokenStore.open(folder.stores / name) for name in ("train", "valid"))
    except (BundleError, DataError) as error:
        raise _other_data(folder, processes.rank, processes, error.what) from error
    valid_pairs, examples = ([Pair(*texts) for texts in rest[name]] for name in ("valid_pairs", "examples"))
    mixture = rest["mixture"] and CorpusMixture(*(tuple(values) for values in rest["mixture"].values()))
    unread = PairSource(lambda: iter(()), "", "read by the first process")
    return RunCorpus(tokenizers, train, valid, unread, valid_pairs, examples, FilterReport(), mixture)


def _other_data(folder: RunFolder, rank: int, processes: Processes, why: str) -> DataError:
    return DataError(
        f"{folder.path}: process {rank} of {processes.count} does not see the data that process 0 has prepared",
        why=why,
        hint="put the folder of the run on a disk that all machines share, and give all processes the same --out",
        code="D126",
    )
