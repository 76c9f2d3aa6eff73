"""The sentences that all translate, with one trained bundle in the forms of all."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path

from openwork.base.folders import atomic_folder
from openwork.data.corpora import catalogue as corpora
from openwork.inference.shortlists import Sizes, write_shortlist
from openwork.interop.forms import export_model
from openwork.interop.vocabulary import token_names
from openwork.metrics.translation import bleu
from openwork.text.pair import TokenizerPair

SHORT, LONG = 1000, 10_000


@dataclass(frozen=True)
class TranslatingWork:
    """One bundle in three forms, and sentences to translate.

    The folder holds `openwork` (a link in words: the path of the bundle), `ct2`, `hf`; and of the sentences: `text`,
    `reference`, and their pieces by name and by number.
    """

    folder: Path
    bundle: Path
    language: str

    @cached_property
    def tokenizers(self) -> TokenizerPair:
        """Those of the bundle."""
        return TokenizerPair.load(self.bundle)

    @property
    def shortlist(self) -> Path:
        """Which pieces translate which, learned from the corpus."""
        return self.folder / "shortlist"

    def file(self, kind: str, count: int) -> Path:
        """`text`, `reference`, `names.json` or `numbers.json` of so many sentences."""
        return self.folder / f"{count}.{kind}"

    def text_of_names(self, sentences: Sequence[Sequence[str]]) -> list[str]:
        """Text again, from pieces by name."""
        ids = {name: number for number, name in enumerate(token_names(self.tokenizers.target))}
        return [self.tokenizers.target.decode([ids[name] for name in names]) for names in sentences]

    def text_of_numbers(self, sentences: Sequence[Sequence[str]]) -> list[str]:
        """Text again, from the pieces' numbers."""
        return [self.tokenizers.target.decode([int(number) for number in numbers]) for numbers in sentences]

    def score(self, translations: Sequence[str], count: int) -> float:
        """Cased BLEU by sacreBLEU."""
        references = self.file("reference", count).read_text(encoding="utf-8").split("\n")[:-1]
        return bleu(translations, references, language=self.language).value


def prepare_texts(folder: Path, bundle: Path, corpus: str, counts: Sequence[int]) -> TranslatingWork:
    """Exports the bundle and writes the sentences, unless that is done; another bundle replaces what was there."""
    languages = corpora.find(corpus).languages
    work = TranslatingWork(folder, bundle, languages[1] if languages else "")
    stamp = f"{bundle.resolve()} {(bundle / 'bundle.json').stat().st_mtime_ns}"
    if not (folder / "made-from").is_file() or (folder / "made-from").read_text() != stamp:
        with atomic_folder(folder) as partial:
            for form in ("ct2", "hf"):
                export_model(form, bundle, partial / form)
            (partial / "made-from").write_text(stamp)
    if not work.shortlist.is_file():
        write_shortlist(work.shortlist, bundle, None, None, corpus, Sizes(), lambda line: None)
    for count in counts:
        if not work.file("numbers.json", count).is_file():
            _write_sentences(work, corpus, count)
    return work


def _write_sentences(work: TranslatingWork, corpus: str, count: int) -> None:
    """The first sentences of the test split where it has as many, else of the training split."""
    pairs = list(islice(corpora.load(corpus, "test"), count))
    if len(pairs) < count:
        pairs = list(islice(corpora.load(corpus, "train"), count))
    sources = [pair.source for pair in pairs]
    tokenizer = work.tokenizers.source
    names = token_names(tokenizer)
    ids = [list(tokenizer.encode(text)) for text in sources]
    _write_lines(work.file("text", count), sources)
    _write_lines(work.file("reference", count), [pair.target for pair in pairs])
    work.file("names.json", count).write_text(json.dumps([[names[piece] for piece in one] for one in ids]))
    work.file("numbers.json", count).write_text(json.dumps([[str(piece) for piece in one] for one in ids]))


def _write_lines(path: Path, lines: Sequence[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
