"""openwork import, export, quantise and prune"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from typer import Argument, Option

from openwork.base.limits import HYPOTHESES, LENGTH
from openwork.cli.options import EXPORTS, IMPORTS, Bundle, Overwrite, check_form, given
from openwork.cli.terminal import report


def import_model(
    form: Annotated[str, Argument(help="Format of the model: ct2 (CTranslate2), hf (Hugging Face) or marian.")],
    folder: Annotated[Path, Argument(help="The folder of the model.")],
    out: Annotated[Path, Option("--out", "-o", help="Folder of the new bundle.")],
    source_tokenizer: Annotated[
        Path | None, Option(help="For ct2: the tokenizer's file, if not in the folder.")
    ] = None,
    target_tokenizer: Annotated[Path | None, Option(help="For ct2: the target's tokenizer.")] = None,
    overwrite: Overwrite = False,
) -> None:
    """Convert another toolkit's model to a bundle.

    Runs none of its code and unpickles nothing.

    openwork import ct2 model-folder --source-tokenizer source.spm --target-tokenizer target.spm --out en-de

    openwork import hf opus-mt-en-de --out en-de

    openwork import marian opus-en-de --out en-de
    """
    check_form(form, IMPORTS)
    from openwork.interop.forms import import_model as import_as_bundle
    from openwork.models.interfaces import count_weights

    bundle = import_as_bundle(form, folder, out, source_tokenizer, target_tokenizer, overwrite=overwrite)
    report(f"{count_weights(bundle.model):,} weights read")
    report(f"done: the translator is {out}")


def export(
    bundle: Bundle,
    to: Annotated[str, Option(help="Format: ct2 (CTranslate2), hf (Hugging Face), marian or onnx (ONNX).")],
    out: Annotated[Path, Option("--out", "-o", help="Folder to write.")],
    beam: Annotated[
        int | None,
        Option(min=1, max=HYPOTHESES, help="onnx, hf, marian: beam of the exported search; else the bundle's."),
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Convert a bundle to another toolkit's model.

    A graph of ONNX holds the search too; the bundle's golden examples are tried by it, where onnxruntime is installed.

    openwork export en-de --to ct2 --out en-de-ct2

    openwork export en-de --to onnx --beam 5 --out en-de-onnx
    """
    check_form(to, EXPORTS)
    from openwork.runs.usable import usable_bundle

    folder = usable_bundle(bundle)
    from openwork.base.tasks import task_of
    from openwork.interop.forms import export_model
    from openwork.interop.marian.vocabularies import runs_tokenizers

    exported = export_model(to, folder, out, beam=beam, overwrite=overwrite)
    decoding, writes = exported.settings.decoding, task_of(exported.settings.model) == "generate"
    if to == "onnx":
        from openwork.interop.onnx.running import try_graph

        try_graph(exported, out, report)
    if to == "marian" and not runs_tokenizers(exported.tokenizers):
        report(
            "note: Marian cannot run this tokenizer: openwork tokenize --ids writes what Marian reads, and "
            "openwork tokenize --side target --decode reads what it writes"
        )
    if to != "onnx" and writes and decoding.length_rule == "paper" and decoding.length_penalty and decoding.beam > 1:
        report(
            "note: the bundle ranks by the paper's length penalty, which no other toolkit has; "
            'with decoding.length_rule = "power" it ranks as they do'
        )
    report(f"done: {out}")


def quantise(
    bundle: Bundle,
    to: Annotated[Literal["bfloat16", "int8", "int4"], Option(help="What the file keeps the matrices in.")],
    out: Annotated[Path, Option("--out", "-o", help="Folder of the new bundle.")],
    overwrite: Overwrite = False,
) -> None:
    """Write a bundle with its weights in fewer bits.

    The file is 2 (bfloat16), 4 (int8) or 7 times (int4) smaller; every command reads it. It computes with the rounded
    weights, as fast as before: --precision chooses how.

    openwork quantise en-de --to int8 --out en-de-int8

    openwork quantise en-de --to int4 --out en-de-int4
    """
    from openwork.runs.quantise import quantise_bundle
    from openwork.runs.usable import usable_bundle

    quantise_bundle(usable_bundle(bundle), to, out, report, overwrite=overwrite)
    report(f"done: {out}")


@dataclass(frozen=True)
class PruningOptions:
    """What the pruned model has."""

    encoder_layers: Annotated[int | None, Option(min=1, max=LENGTH, help="Layers of the encoder.")] = None
    decoder_layers: Annotated[int | None, Option(min=1, max=LENGTH, help="Layers of the decoder.")] = None
    heads: Annotated[int | None, Option(min=1, max=LENGTH, help="Heads of each attention.")] = None
    feedforward: Annotated[
        int | None, Option(min=1, max=LENGTH, help="Rows of each feed-forward network (its inner width).")
    ] = None
    vocabulary: Annotated[bool, Option(help="Only the pieces that the pairs use.")] = False
    weights: Annotated[
        float | None, Option(min=0.05, max=1, help="Share of each matrix that is not zero: its largest numbers.")
    ] = None


def prune(
    bundle: Bundle,
    out: Annotated[Path, Option("--out", "-o", help="Folder of the new bundle.")],
    *,
    what: PruningOptions,
    source: Annotated[Path | None, Option(help="Source sentences by which parts are judged, one a line.")] = None,
    target: Annotated[Path | None, Option(help="Their translations, one a line.")] = None,
    corpus: Annotated[str | None, Option(help="A known corpus instead of files, such as multi30k-en-de.")] = None,
    overwrite: Overwrite = False,
) -> None:
    """Take from a Transformer the layers, heads, rows, weights and pieces that matter least.

    Layers go by the loss of 500 pairs, heads and rows by its derivatives, weights by their size, pieces by what the
    pairs use. A pruned model is worse until it is trained on: openwork train --from-bundle.

    openwork prune en-de --source train.en --target train.de --heads 2 --feedforward 512 --out small

    openwork prune multi30k --corpus multi30k-en-de --decoder-layers 1 --vocabulary --out small
    """
    from openwork.runs.pruning.prune import PrunedSizes, judging_pairs, prune_bundle
    from openwork.runs.usable import usable_bundle

    sizes, pairs = PrunedSizes.of(given(what)), judging_pairs(corpus, source, target)
    prune_bundle(usable_bundle(bundle), sizes, pairs, out, report, overwrite=overwrite)
    report(f"done: {out}")
