"""The settings of the section [data] of a run file: which sentence pairs, and how corpora are mixed."""

from typing import Any, Literal

from pydantic import field_validator, model_validator

from openwork.base.config import Settings
from openwork.base.errors import RuleError
from openwork.base.fields import option
from openwork.base.limits import LINES, RATIO
from openwork.data.readers.formats import FORMATS
from openwork.data.records import Languages

_FORMATS = ", ".join(FORMATS)


class OriginSettings(Settings):
    """Where sentence pairs come from: a corpus by name, two aligned files, or one file with both sides."""

    corpus: str | None = option(None, "name of a known corpus, such as multi30k-en-de or dates")
    count: int | None = option(None, "training pairs of a corpus to use; None: all it has", ge=1, le=LINES)
    source: str | None = option(None, "file of source sentences, one a line")
    target: str | None = option(None, "file of their translations, one a line")
    file: str | None = option(None, f"one file with both sides, in a format of its own: {_FORMATS}; plain, gzip or xz")
    text: str | None = option(None, "file of sentences without a source, one a line, for a language model to continue")
    pictures: str | None = option(
        None,
        "folder of pictures with a subfolder for each class, or CSV file with the columns file and label (or text)",
    )
    sounds: str | None = option(
        None, "CSV file of sounds with the columns file and text, or folder with a subfolder for each class"
    )
    series: str | None = option(
        None, "CSV or Parquet file of series, one value a line, divided by time: 70 % to learn from, 10 % to validate"
    )
    side: Literal["source", "target"] | None = option(
        None, "only this side of the pairs, as sentences without a source; None: both"
    )
    format: str | None = option(None, f"format of the file, where the ending of its name does not tell it: {_FORMATS}")
    columns: tuple[str, ...] = option(
        (),
        "names in the first line of a file of columns with tabs between: that of the source, or two of "
        "them for pairs of sentences, and last that of the label; of data.series the columns that are read",
    )

    @field_validator("format")
    @classmethod
    def _is_known(cls, value: str | None) -> str | None:
        if value is not None and value not in FORMATS:
            raise RuleError(
                f"there is no format {value!r}", hint=f"set format to one of: {', '.join(FORMATS)}", code="C015"
            )
        return value

    @model_validator(mode="after")
    def _is_complete(self) -> "OriginSettings":
        for source, target in (("source", "target"), ("valid_source", "valid_target")):
            if (getattr(self, source, None) is None) != (getattr(self, target, None) is None):
                raise RuleError(
                    f"{source} and {target} go together",
                    hint="name the file of the other side as well, or neither",
                    code="C016",
                )
        if self.columns and self.series is None and not 2 <= len(self.columns) <= 3:
            raise RuleError(
                f"data.columns names {len(self.columns)} columns",
                hint='name two or three, such as ["sentence1", "sentence2", "label"]',
                code="C073",
            )
        return self

    @property
    def origins(self) -> list[str]:
        """The keys that name the pairs."""
        return [
            key
            for key in ("corpus", "source", "file", "text", "pictures", "sounds", "series")
            if getattr(self, key) is not None
        ]


class MixSettings(OriginSettings):
    """One of several corpora that are mixed."""

    weight: float | None = option(
        None,
        "its share of the sentences of an epoch, relative to the other weights; "
        "where no corpus has one, every pair comes once",
        gt=0,
        le=RATIO,
    )

    @model_validator(mode="after")
    def _one_origin(self) -> "MixSettings":
        if len(self.origins) != 1:
            raise RuleError(
                "a part of the mix needs one origin",
                hint="name exactly one for each [[data.mix]]: corpus, source and target, file, text, pictures, sounds, "
                "series",
                code="C017",
            )
        return self


class DataSettings(OriginSettings):
    """The pairs to train on and to validate with: of one origin, or of several that are mixed."""

    tsv: str | None = option(None, "file of pairs, source and target separated by a tab")
    mix: tuple[MixSettings, ...] = option((), "several corpora instead of one: a table [[data.mix]] for each")
    valid_corpus: str | None = option(
        None, "known corpus to validate with; without it that of the training, if it is one corpus"
    )
    valid_source: str | None = option(None, "source sentences to validate with")
    valid_target: str | None = option(None, "their translations")
    valid_file: str | None = option(None, "one file of both sides to validate with")
    valid_text: str | None = option(None, "sentences without a source to validate with")
    valid_pictures: str | None = option(None, "folder or CSV file of pictures to validate with")
    valid_sounds: str | None = option(None, "CSV file or folder of sounds to validate with")
    valid_tsv: str | None = option(None, "pairs to validate with, separated by a tab")
    held_out: int = option(1000, "pairs kept for validation where none are given; a tenth at most", ge=1, le=LINES)
    source_language: str | None = option(
        None, "language of the source, such as en; it chooses the side in files that name languages"
    )
    target_language: str | None = option(None, "language of the target, such as de")

    @model_validator(mode="after")
    def _one_origin(self) -> "DataSettings":
        if len(self.origins) + (self.tsv is not None) + bool(self.mix) != 1:
            raise RuleError(
                "the training pairs need one origin",
                hint="name exactly one of: corpus, source and target, file, text, pictures, sounds, series, tsv, mix",
                code="C018",
            )
        files = ("valid_source", "valid_file", "valid_text", "valid_pictures", "valid_sounds", "valid_tsv")
        keys = ("valid_corpus", *files)
        if sum(getattr(self, key) is not None for key in keys) > 1:
            raise RuleError(
                "the pairs to validate with are named in several ways",
                hint="give one of: valid_corpus, valid_source and valid_target, valid_file, valid_text, "
                "valid_pictures, valid_sounds, valid_tsv",
                code="C020",
            )
        weights = [part.weight for part in self.mix]
        if None in weights and any(weights):
            raise RuleError(
                "some corpora of the mix have a weight and others none",
                hint="give every corpus of the mix a weight, or none of them",
                code="C021",
            )
        return self

    @property
    def parts(self) -> tuple[OriginSettings, ...]:
        """Where the training pairs come from, one by one."""
        if self.tsv is not None:
            return (OriginSettings(file=self.tsv, format="tsv", columns=self.columns, side=self.side),)
        return self.mix or (self,)

    @property
    def is_text(self) -> bool:
        """Whether all sentences are without a source, so that there is nothing to translate."""
        return all(part.text is not None or part.side is not None for part in self.parts)

    @property
    def languages(self) -> Languages:
        return Languages(self.source_language, self.target_language)

    @property
    def validation(self) -> OriginSettings | None:
        """Where the validation pairs come from, if they are named; of one side alone where the training is."""
        if self.valid_tsv is not None:
            named: dict[str, Any] = {"file": self.valid_tsv, "format": "tsv", "columns": self.columns}
        elif self.valid_source is not None:
            named = {"source": self.valid_source, "target": self.valid_target}
        elif self.valid_file is not None:
            named = {"file": self.valid_file, "format": self.format, "columns": self.columns}
        elif self.valid_text is not None:
            named = {"text": self.valid_text}
        elif self.valid_pictures is not None:
            named = {"pictures": self.valid_pictures}
        elif self.valid_sounds is not None:
            named = {"sounds": self.valid_sounds}
        elif self.series is not None and self.valid_corpus is None:
            named = {"series": self.series, "columns": self.columns}  # another split of them
        elif (name := self.valid_corpus or self.corpus) is not None:
            named = {"corpus": name}
        else:
            return None
        return OriginSettings(**named, side=self.side)
