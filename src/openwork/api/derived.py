"""Models and training pairs that are made of a translator."""

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from openwork.api.texts import as_path, reported, watched
from openwork.api.trained import TrainedModel
from openwork.runs.usable import usable_bundle

if TYPE_CHECKING:
    from openwork.runs.synthetic.teaching import Level

PathLike = str | os.PathLike[str]


class Derivable(TrainedModel):
    """A translator of which smaller ones are made, and pairs for the other direction."""

    def distill(
        self,
        *,
        out: PathLike,
        source: PathLike | None = None,
        target: PathLike | None = None,
        corpus: str | None = None,
        level: "Level" = "both",
        set: Mapping[str, Any] | None = None,
        minutes: float | None = None,
        progress: bool = True,
    ) -> Self:
        """Trains a small, fast student that translates as this model does; what is unfinished in `out` continues.

        Args:
            out: the folder of the student's run.
            source: a file of source sentences, one a line; translations are not needed.
            target: their translations, for the level "word".
            corpus: the name of a known corpus instead of files.
            level: what is learnt: the translations of this model ("sequence"), its probabilities ("word"), or both.
            set: settings by their keys, such as `{"model.width": 128, "data.valid_source": "valid.en"}`.
            minutes: about how long to train.
            progress: show on standard error how far it is.

        UsageError without sentences, or for a folder with something else; otherwise as `openwork.train`.

        >>> student = translator.distill(corpus="copy", out=folder / "student", set=small, progress=False)
        >>> student.settings.model.decoder_layers
        1
        """
        from openwork.api.running import assignments_of, run_training
        from openwork.runs.file.resolve import resolve
        from openwork.runs.synthetic.teaching import Teaching

        given = {"source": source, "target": target}
        data: dict[str, Path | str] = {key: as_path(file) for key, file in given.items() if file is not None}
        if corpus is not None:
            data["corpus"] = corpus
        report = reported(progress=progress)
        teaching = Teaching((self.path,), level)
        sections = teaching.sections(data, as_path(out), report, partial(watched, progress=progress))
        settings = resolve(None, assignments_of(set), sections, report).settings
        run_training(settings, as_path(out), minutes, progress=progress)
        return self._another(as_path(out))

    def prune(
        self,
        *,
        out: PathLike,
        source: PathLike | None = None,
        target: PathLike | None = None,
        corpus: str | None = None,
        progress: bool = False,
        **sizes: int | float,
    ) -> Self:
        """Writes this Transformer without the layers, heads, rows, weights or pieces that matter least, and loads it.

        Args:
            out: the folder of the new bundle.
            source: a file of source sentences by which parts are judged, one a line.
            target: their translations.
            corpus: the name of a known corpus instead.
            progress: say on standard error what is done.
            sizes: `encoder_layers`, `decoder_layers`, `heads` of each attention, `feedforward` (inner width),
                `weights` (the share of each matrix that is not zero) and `vocabulary=True` (only the pieces that the
                pairs use).

        A pruned model is worse until it is trained on: `openwork.train(set={"fine_tuning.from_bundle": out})`.

        UsageError for other sizes, without pairs, and for a model that is no Transformer with encoder and decoder.

        >>> pruned = translator.prune(corpus="copy", out=folder / "pruned", feedforward=8)
        >>> pruned.settings.model.feedforward_width
        8
        """
        from openwork.runs.pruning.prune import PrunedSizes, judging_pairs, prune_bundle

        files = [None if file is None else as_path(file) for file in (source, target)]
        pairs = judging_pairs(corpus, *files)
        prune_bundle(usable_bundle(self.path), PrunedSizes.of(sizes), pairs, as_path(out), reported(progress=progress))
        return self._another(as_path(out))

    def backtranslate(
        self,
        *,
        out: PathLike,
        source: PathLike | None = None,
        corpus: str | None = None,
        tag: str = "",
        progress: bool = True,
        **decoding: Any,
    ) -> Path:
        """Makes training pairs for a model of the other direction: the texts that this model writes are its sources.

        Args:
            out: the folder for source.txt and target.txt; what is there continues.
            source: a file of sentences without a translation, one a line.
            corpus: the name of a known corpus instead, whose targets are translated.
            tag: put before each source, such as "<BT>", so that a training can tell them.
            progress: show on standard error how far it is.
            decoding: other keys of `[decoding]`, such as `samples=1`, `top_k=10`.

        Returns the folder. UsageError without sentences, ConfigError for keys that `[decoding]` does not have.

        >>> pairs = translator.backtranslate(source=sentences, out=folder / "back", progress=False)
        >>> sorted(path.name for path in pairs.glob("*.txt"))
        ['source.txt', 'target.txt']
        """
        from openwork.runs.synthetic.backtranslation import back_translation_plan
        from openwork.runs.synthetic.corpus import corpus_of
        from openwork.runs.synthetic.translated import write_pairs

        sentences = corpus_of(corpus, None if source is None else as_path(source), side="target")
        plan = back_translation_plan([usable_bundle(self.path)], decoding, " ".join(tag.split()), "float32")
        folder, report = as_path(out), reported(progress=progress)
        found = write_pairs(plan, sentences, folder, report, partial(watched, progress=progress))
        for line in found.lines():
            report(line)
        return folder
