"""Imports a model of CTranslate2 and its tokenizers as a bundle.

The folder has names of tokens and no way to cut a text into them. The tokenizers say which piece each name is; the
model's rows are then put in the order of their ids.
"""

from pathlib import Path

from openwork.base.errors import BundleError
from openwork.base.regular_files import check_downloaded
from openwork.bundles.bundle import Bundle
from openwork.bundles.settings import BundleSettings
from openwork.decoding.settings import DecodingSettings
from openwork.interop.ctranslate2.reading import read_ctranslate2
from openwork.interop.ctranslate2.vocabulary import Conventions
from openwork.interop.vocabulary import token_names
from openwork.text.pair import TokenizerPair

# CTranslate2's defaults.
DECODING = DecodingSettings(
    beam=2, length_penalty=1.0, length_rule="power", unfinished="ranked", extra_length=1024, maximum_length=256
)


def bundle_from_ctranslate2(folder: Path, tokenizers: TokenizerPair | None = None) -> Bundle:
    """The bundle; it translates as CTranslate2 does, but never produces pad, unknown or start.

    `tokenizers`: by default those in the folder, as `write_ctranslate2` puts them there. BundleError where they lack
    tokens that the model can produce, or where sources have other symbols around them than an end symbol.
    """
    check_downloaded(folder)
    tokenizers = tokenizers or _own_tokenizers(folder)
    names = token_names(tokenizers.source), token_names(tokenizers.target)
    read = read_ctranslate2(folder, names)
    _check_frame(folder, read.conventions)
    missing = read.target.left_out
    if missing:
        raise BundleError(
            f"{folder}: these tokenizers are not those of this model",
            why=f"they lack {len(missing):,} of its {len(read.target.names):,} target tokens, such as {missing[0]!r}",
            hint="name the tokenizers that its texts were cut with",
            code="B004",
        )
    card = f"# A model of CTranslate2\n\nRead from the folder {folder.name} by openwork.\n"
    return Bundle(BundleSettings(model=read.settings, decoding=DECODING), tokenizers, read.model, card=card)


def _own_tokenizers(folder: Path) -> TokenizerPair:
    if any(folder.glob("*tokenizer.json")):
        return TokenizerPair.load(folder)
    raise BundleError(
        f"{folder}: the folder holds no tokenizer",
        why="a model of CTranslate2 knows its tokens by their names, and not how a text is cut into them",
        hint="name the tokenizers that its texts were cut with: --source-tokenizer and --target-tokenizer",
        code="B005",
    )


def _check_frame(folder: Path, said: Conventions) -> None:
    if said.add_source_bos or not said.add_source_eos:
        raise BundleError(
            f"{folder}: this model cannot become a bundle",
            why="its sources begin with a start symbol, and those of a bundle do not"
            if said.add_source_bos
            else "its sources have no end symbol, and those of a bundle end with one",
            hint="openwork.interop.ctranslate2.reading reads it for use from Python",
            code="B006",
        )
