"""Whisper's symbols and suppressed tokens in Hugging Face's generation_config.json, read and written."""

from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from openwork.base.errors import BundleError
from openwork.decoding.settings import TranscriptSettings
from openwork.interop.hugging_face import folder as hf
from openwork.interop.transcripts import external_transcript
from openwork.interop.vocabulary import Vocabulary

SYMBOL = "<|{}|>"


class GenerationSymbols(hf.ConfigKeys):
    """The keys of the search that concern symbols; all may be missing."""

    lang_to_id: dict[str, hf.Id] = Field({})
    task_to_id: dict[str, hf.Id] = Field({})
    language: str | None = None
    task: Literal["transcribe", "translate"] | None = None
    no_timestamps_token_id: hf.Id | None = None
    forced_decoder_ids: list[tuple[int, hf.Id | None]] = Field([])
    suppress_tokens: list[int] = Field([])
    begin_suppress_tokens: list[int] = Field([])
    latest_start: hf.Id | None = Field(None, alias="max_initial_timestamp_index")


def read_symbols(folder: Path) -> TranscriptSettings:
    """The symbols with Hugging Face's ids; BundleError for a language that has none.

    forced_decoder_ids, of older folders, are the language and the task where these have no keys of their own.
    """
    keys = hf.read_generation_keys(GenerationSymbols, folder)
    languages = {name.strip("<|>"): number for name, number in keys.lang_to_id.items()}
    forced = [number for _, number in keys.forced_decoder_ids if number not in (None, keys.no_timestamps_token_id)]
    is_open = keys.language is None and keys.task is None
    chosen = [name for name, number in languages.items() if number in forced and is_open]
    language = keys.language.strip("<|>").lower() if keys.language else next(iter(chosen), None)
    if language is not None and language not in languages:
        raise BundleError(
            f"{folder / hf.GENERATION}: the language {language!r} has no symbol",
            why=f"lang_to_id has {', '.join(languages) or 'none'}",
            hint="write one of these there, or leave the key language out",
            code="B079",
        )
    translates = is_open and keys.task_to_id.get("translate") in forced
    return TranscriptSettings(
        languages=languages,
        language=language,
        tasks=keys.task_to_id,
        task=keys.task or ("translate" if translates else "transcribe"),
        opening=tuple(number for number in forced if number is not None) if not languages and is_open else (),
        no_timestamps=keys.no_timestamps_token_id,
        timestamps=None if keys.no_timestamps_token_id is None else keys.no_timestamps_token_id + 1,
        latest_start=keys.latest_start,
        suppressed=tuple(number for number in keys.suppress_tokens if number >= 0),
        suppressed_first=tuple(number for number in keys.begin_suppress_tokens if number >= 0),
    )


def symbol_keys(settings: TranscriptSettings | None, vocabulary: Vocabulary, folder: Path) -> dict[str, Any]:
    """The keys of a model with these symbols, besides its suppressed tokens; the inverse of `read_symbols`."""
    if settings is None:
        return {}
    s = external_transcript(settings, vocabulary, folder)
    keys = {
        "is_multilingual": bool(s.languages),
        "lang_to_id": {SYMBOL.format(name): number for name, number in s.languages.items()},
        "task_to_id": s.tasks,
        "language": s.language,
        "task": s.task if s.task != "transcribe" else None,
        "forced_decoder_ids": [[place, number] for place, number in enumerate(s.opening, start=1)],
        "no_timestamps_token_id": s.no_timestamps,
        "suppress_tokens": list(s.suppressed),
        "begin_suppress_tokens": list(s.suppressed_first),
        "max_initial_timestamp_index": s.latest_start,
    }
    return {name: value for name, value in keys.items() if value not in (None, {}, [])}
