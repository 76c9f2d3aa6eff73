"""How shards are translated: bundles, options and settings as one value, which can be sent to another process."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from openwork.base.files import sha256_file, sha256_values
from openwork.bundles.bundle import Bundle
from openwork.bundles.folder import find_bundle, read_manifest
from openwork.decoding.settings import DecodingSettings
from openwork.inference.bulk.work import ShardTranslator
from openwork.inference.filters.lines import filter_for, reader_for
from openwork.inference.loading import load_bundles, translator_of
from openwork.inference.settings import LineSettings


@dataclass(frozen=True)
class TranslationPlan:
    """The bundles and how they translate; `count` is that of alternatives. `of` makes one."""

    bundles: tuple[Path, ...]
    lines: LineSettings
    decoding: DecodingSettings
    count: int

    @classmethod
    def of(
        cls, bundles: Sequence[Path], lines: LineSettings, decoding: DecodingSettings, count: int
    ) -> "TranslationPlan":
        """The plan with absolute paths, since a worker may run in another folder."""
        files = {
            name: None if path is None else path.resolve()
            for name, path in (("terms", lines.terms), ("shortlist", lines.shortlist), ("draft", lines.draft))
        }
        return cls(tuple(path.resolve() for path in bundles), lines.model_copy(update=files), decoding, count)

    def loaded(self, bundles: Sequence[Bundle]) -> tuple["TranslationPlan", ShardTranslator]:
        """The translator of these bundles, and this plan with the precision that "auto" has chosen.

        Each search takes one thread, so that no sum depends on the number of cores, and no byte on where it was made.
        """
        translator = translator_of(bundles, self.decoding, self.lines.precision, self.lines.shortlist, self.lines.draft)
        translator.engine.one_thread_each = True
        lines = self.lines.model_copy(update={"precision": translator.engine.precision})
        return replace(self, lines=lines), ShardTranslator(
            filter_for(translator, bundles[0], lines, self.count), reader_for(lines)
        )

    def start(self) -> ShardTranslator:
        """The translator in a process of its own, with one thread: other workers use the other cores.

        It computes on the processor, since several workers do not share a GPU.
        """
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
        torch.set_num_threads(1)
        _, made = self.loaded(load_bundles(self.bundles))
        return made

    def reads(self, source: Path) -> list[Path | None]:
        """All paths that a translation of the folder `source` reads."""
        return [source, *self.bundles, self.lines.terms, self.lines.shortlist, self.lines.draft]

    def identity(self, column: str | None) -> dict[str, Any]:
        """All that a translation depends on, as JSON: with one value changed the bytes may be others."""
        bundles = [sha256_values(read_manifest(find_bundle(path))["sha256"]) for path in self.bundles]
        lines = self.lines.model_dump(mode="json", exclude={"bundle", "terms", "shortlist", "draft", "stream"})
        files = {
            name: None if path is None else sha256_file(path)
            for name, path in (("terms", self.lines.terms), ("shortlist", self.lines.shortlist))
        }
        decoding = {f"decoding.{key}": value for key, value in self.decoding.model_dump(mode="json").items()}
        return {"bundles": bundles, "column": column, **files, **lines, "alternatives.best": self.count, **decoding}
