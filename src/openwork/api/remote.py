"""A translator on a server, with the interface of one in memory."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from openwork.api.texts import as_path, like, many
from openwork.data.records import Languages
from openwork.inference.documents.files import FileOptions, translate_file
from openwork.inference.documents.report import DocumentReport
from openwork.serving.client.sentences import SentencesByServer
from openwork.serving.client.server import ServerClient
from openwork.serving.options import TextConstraints


class RemoteTranslator:
    """A translator that a server of `openwork serve` has in memory, or `openwork daemon`."""

    def __init__(self, client: ServerClient) -> None:
        self._client = client

    def translate(
        self,
        text: str | Iterable[str],
        *,
        best: int = 1,
        prefix: str = "",
        required: Sequence[str] = (),
        forbidden: Sequence[str] = (),
        terms: Mapping[str, str] | None = None,
    ) -> Any:
        """Translates a text as `Translator.translate` does; several texts give a list.

        Args:
            text: a str, or strs.
            best: with more than 1, a list of so many translations of each text, best first.
            prefix: how each translation begins.
            required: texts that occur in each translation.
            forbidden: texts that occur in none.
            terms: a glossary, of source terms and what the translation of a text with the term must contain.

        A full server is asked again until it has room. UsageError for what the server refuses, OpenworkError where it
        is not reached.
        """
        constraints = TextConstraints(prefix, tuple(required), tuple(forbidden))
        found = self._client.translate(many(text), best, constraints, terms)
        return like(text, [one if best > 1 else one[0] for one in found])

    def translate_document(
        self,
        source: str | os.PathLike[str],
        out: str | os.PathLike[str],
        *,
        memory: Sequence[str | os.PathLike[str]] = (),
        terms: str | os.PathLike[str] | None = None,
        column: str | None = None,
        only_untranslated: bool = False,
    ) -> DocumentReport:
        """Writes the translation of a document, as `Translator.translate_document` does; the server gets sentences."""
        options = FileOptions(
            Languages(*self._client.languages()),
            list(map(as_path, memory)),
            None if terms is None else as_path(terms),
            column,
            only_untranslated,
        )
        return translate_file(as_path(source), as_path(out), SentencesByServer(self._client), options)

    def __repr__(self) -> str:
        return f"RemoteTranslator({self._client.url!r})"


def connect(
    url: str,
    *,
    token: str = "",
    source: str | None = None,
    target: str | None = None,
    bundle: str | None = None,
) -> RemoteTranslator:
    """The translator of a server; nothing is loaded here.

    Args:
        url: where `openwork serve` listens, such as "http://127.0.0.1:5000"; "daemon" for `openwork daemon`.
        token: what the server asks for.
        source: language of the texts, where the server has several bundles.
        target: language of the translations.
        bundle: name of a bundle, in place of languages.
    """
    return RemoteTranslator(ServerClient(url, token=token, source=source, target=target, bundle=bundle))
