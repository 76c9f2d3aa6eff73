"""The translator of a document's sentences by a server."""

from collections.abc import Sequence

from openwork.documents.alignment import UNALIGNED, Alignment
from openwork.inference.translation import Translation
from openwork.serving.client.server import ServerClient, best_of


class SentencesByServer:
    """A `SentenceTranslator` whose alignments come with the translations."""

    def __init__(self, client: ServerClient) -> None:
        self.client = client
        self._alignments: dict[tuple[str, str], Alignment] = {}

    def translate(self, texts: Sequence[str], required: Sequence[tuple[str, ...]]) -> list[Translation]:
        """The best translation of each text, with its flags; errors as of `ServerClient.translate`."""
        found = []
        for text, answer in zip(texts, self.client.translate_each(texts, required, explain=True), strict=True):
            found.append(best_of(answer))
            if answer["explanation"]:  # a blank text has none
                self._alignments[text, answer["text"]] = Alignment(**answer["explanation"]["alignment"])
        return found

    def align(self, sources: Sequence[str], translations: Sequence[str]) -> list[Alignment]:
        """The alignments that came with the translations."""
        return [self._alignments.get(pair, UNALIGNED) for pair in zip(sources, translations, strict=True)]
