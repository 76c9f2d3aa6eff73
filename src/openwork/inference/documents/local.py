"""The translator of a document's sentences by a model in memory."""

from collections.abc import Sequence

from openwork.bundles.bundle import Bundle
from openwork.documents.alignment import Alignment
from openwork.inference.documents.aligning import Aligner
from openwork.inference.guard import GuardedTranslator, flagged, usual_texts
from openwork.inference.requests import Request
from openwork.inference.translation import Translation
from openwork.inference.translator import BatchTranslator


class LocalTranslator:
    """Translates with flags; `guard`: what is flagged is searched for once more. Alignments are the first bundle's."""

    def __init__(self, translator: BatchTranslator, bundle: Bundle, *, guard: bool = False) -> None:
        self.usual = usual_texts(bundle)
        self.translator = GuardedTranslator(translator, self.usual) if guard else translator
        self.aligner = Aligner(bundle.model, bundle.tokenizers)

    def translate(self, texts: Sequence[str], required: Sequence[tuple[str, ...]]) -> list[Translation]:
        """The best translation of each text, with its flags."""
        found = self.translator.translate(texts, [Request(required=one) for one in required])
        pairs = zip(texts, found, strict=True)
        return [ranked[0] if ranked[0].flags else flagged(text, ranked, self.usual)[0] for text, ranked in pairs]

    def align(self, sources: Sequence[str], translations: Sequence[str]) -> list[Alignment]:
        """The alignments of sentences with their translations."""
        return self.aligner.align(sources, translations)
