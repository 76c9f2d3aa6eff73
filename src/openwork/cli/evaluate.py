"""openwork evaluate"""

from pathlib import Path
from typing import Annotated

import typer

from openwork.base.errors import UsageError
from openwork.cli.progress import progress
from openwork.cli.terminal import run, say


def evaluate(
    bundle: Annotated[Path, typer.Option(help="The folder that openwork train --out wrote.")],
    source: Annotated[Path | None, typer.Option(help="Source sentences, one a line.")] = None,
    reference: Annotated[Path | None, typer.Option(help="Their translations, one a line.")] = None,
    corpus: Annotated[str | None, typer.Option(help="A known corpus instead of files, such as multi30k-en-de.")] = None,
    split: Annotated[str, typer.Option(help="Which part of the corpus.")] = "valid",
    beam: Annotated[int | None, typer.Option(min=1, help="Hypotheses per sentence; 1 is greedy search.")] = None,
    language: Annotated[str | None, typer.Option(help="Target language, for lc-BLEU's tokenizer.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON on standard output.")] = False,
) -> None:
    """Score a translator: BLEU, chrF and lc-BLEU with signatures and 95 % intervals.

    openwork evaluate --bundle en-de --source test.en --reference test.de

    openwork evaluate --bundle en-de --corpus multi30k-en-de --split valid
    """
    files = source is not None and reference is not None
    run(lambda: _check(files, source, reference, corpus))

    def work() -> None:
        import json

        from openwork.systems.bundle import load_bundle
        from openwork.systems.evaluate import evaluate as score
        from openwork.systems.pairs import read_pairs

        loaded = load_bundle(bundle)
        pairs = read_pairs(source, reference, corpus, split)
        decoding = loaded.settings.decoding
        decoding = decoding.model_copy(update={"beam": beam or decoding.beam, "best": 1})
        with progress(len(pairs), "translating") as advanced:
            translations = loaded.translator(decoding).translate([pair.source for pair in pairs], advanced)
        if cut := sum(best.cut for best, *_ in translations):
            say(f"{cut:,} sources were too long for the model: their ends were left out")
        hypotheses = [best.text for best, *_ in translations]
        target = language or loaded.settings.target_language or "en"
        result = score(hypotheses, [pair.target for pair in pairs], target)
        if as_json:
            print(json.dumps(result.to_json(), ensure_ascii=False))
        else:
            print("\n".join(result.lines()))

    run(work)


def _check(files: bool, source: Path | None, reference: Path | None, corpus: str | None) -> None:
    if files == (corpus is not None) or (source is None) != (reference is None):
        raise UsageError("name what to evaluate on", hint="give --source and --reference, or --corpus")
