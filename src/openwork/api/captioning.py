"""Trained models in memory that write the text of a sound or a picture."""

from typing import Any, Literal

from openwork.api.attention import AttentionReport
from openwork.api.texts import each_best, is_file, many_files, many_pictures, watched
from openwork.api.trained import TrainedModel
from openwork.inference.settings import settings_over
from openwork.inference.transcriber import SoundTranscriber
from openwork.inference.translator import BatchTranslator


class Transcriber(TrainedModel):
    """A model that writes the text of a sound."""

    def transcribe(
        self,
        sound: Any,
        *,
        language: str | None = None,
        task: Literal["transcribe", "translate"] | None = None,
        timestamps: bool = False,
        question: str = "",
        best: int = 1,
        progress: bool = False,
        **decoding: Any,
    ) -> Any:
        """Writes the text of a sound, as a `Transcript` with `segments`; several sounds give a list.

        Args:
            sound: the path (str or Path) of a WAV or FLAC file, or an array of floats (sample), from -1 to 1, at the
                rate of the model's `settings.sound`; one longer than its `seconds` is read in windows.
            language: that of the sound, such as "de", for a model with several; by default it is detected.
            task: "translate" writes English, with a model that has the symbol for it.
            timestamps: segments of a sentence or so, where the model knows timestamps; else a segment is a window.
            question: that about each sound, for a model with `settings.sound.words`.
            best: with more than 1, a list of so many transcripts of each sound, of one window each.
            progress: show how far it is.
            decoding: keys of `[decoding]`.

        DataError for a sound that cannot be read or is too long, UsageError for a language that the model has not.
        """
        sounds = many_files(sound, "sound")
        settings = settings_over(self.settings.decoding, {**decoding, "best": best})
        transcriber = SoundTranscriber(
            self.bundle, settings, language=language, task=task, timestamps=timestamps, question=question
        )
        with watched(len(sounds), "transcribing", progress=progress) as advanced:
            found = each_best(transcriber.transcribe(sounds, advanced=advanced), best)
        return found[0] if is_file(sound) else found

    def attention(self, sound: Any, text: str | None = None, *, question: str = "") -> AttentionReport:
        """Which times of a sound its text attends to, for each layer and head; a notebook shows the page.

        `sound`: one as `transcribe` takes it, of at most a window. `text`: None is the one that the model writes.
        """
        (one,) = many_files([sound], "sound")
        return AttentionReport.of(self.bundle, (one, question), text)


class Captioner(TrainedModel):
    """A model that writes the text of a picture."""

    def caption(
        self, picture: Any, *, question: str = "", best: int = 1, progress: bool = False, **decoding: Any
    ) -> Any:
        """Writes the text of a picture, as a `Translation`; several pictures give a list.

        `picture`: a path (str or Path), or an array of uint8, (height, width) or (height, width, 3). `question`: that
        about each picture, for a model with `settings.picture.words`. `best`: with more than 1, a list of so many texts
        of each picture. `decoding`: keys of `[decoding]`.

        DataError for a picture that cannot be read, and for a word that the model does not know.
        """
        pictures = [(one, question) for one in many_pictures(picture)] if question else many_pictures(picture)
        settings = settings_over(self.settings.decoding, {**decoding, "best": best})
        with watched(len(pictures), "captioning", progress=progress) as advanced:
            found = each_best(BatchTranslator.of(self.bundle, settings).translate(pictures, advanced=advanced), best)
        return found[0] if is_file(picture) else found

    def attention(self, picture: Any, text: str | None = None, *, question: str = "") -> AttentionReport:
        """Which patches of a picture its text attends to, for each layer and head; a notebook shows the page.

        `picture`: one as `caption` takes it. `text`: None is the one that the model writes.
        """
        (one,) = many_pictures([picture])
        return AttentionReport.of(self.bundle, (one, question), text)
