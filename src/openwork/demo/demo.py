"""The demo: a Transformer learns to read dates, from nothing, and shows what it has learnt."""

import os
import shlex
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import torch

from openwork.base.config import read_run_file
from openwork.base.files import atomic_write_text
from openwork.base.messages import find_language, msg
from openwork.base.outputs import check_file, is_page
from openwork.base.phrases import Beside
from openwork.base.records import read_records
from openwork.bundles.bundle import Bundle, load_bundle
from openwork.data.corpora import dates
from openwork.demo.report import DemoResult, demo_page
from openwork.inference.translator import BatchTranslator
from openwork.inspection.attention_view import AttentionMap
from openwork.metrics.ratio import Ratio
from openwork.models.interfaces import can_attend
from openwork.runs.file.resolve import resolve_run
from openwork.runs.folder import RunFolder
from openwork.runs.train import train_bundle
from openwork.training.loop import Observer

Report = Callable[[str], None]
RUN_FILE = Path(__file__).with_name("demo.toml")
TEST_SIZE = 98 * 50  # a hundred expressions for each of the 49 locales
SHOWN = 8
EXAMPLES = (("de_DE", "long"), ("ja_JP", "full"), ("ar_EG", "full"))  # whose attention is drawn


def run_demo(out: Path, expressions: Sequence[str], report: Report, watchers: Sequence[Observer] = ()) -> bool:
    """Trains (or takes what an earlier demo has trained), evaluates, translates, reports. False: interrupted."""
    folder, page = RunFolder(out), out / "report.html"
    check_file(page, is_page)
    settings = resolve_run(read_run_file(RUN_FILE))
    if (folder.bundle / "bundle.json").is_file():
        report(f"{folder.bundle} is trained already; delete {out} to see it learn again")
    else:
        report("a Transformer learns to read dates in many languages from nothing: 2 to 5 minutes on two cores")
        if train_bundle(settings, out, report, watchers).bundle is None:
            return False
    bundle = load_bundle(folder.bundle)
    result = judge(bundle)
    for line in ("", *summary(result)):
        report(line)
    given = list(zip(expressions, BatchTranslator.of(bundle).best(expressions), strict=True))
    for source, translation in given:
        report(f"  {source}  ->  {translation}")
    first = {(one.locale, one.format): one.expression for one in reversed(result.examples)}
    attention = tuple(map_attention(bundle, first[example]) for example in EXAMPLES if example in first)
    records, language = read_records(folder.records), find_language(os.environ)
    atomic_write_text(page, demo_page(result, settings, records, attention, given, language))
    for line in ("", *what_next(out, page)):
        report(line)
    return True


def judge(bundle: Bundle) -> DemoResult:
    """Translates the held-out dates and counts, locale by locale."""
    examples = list(dates.generate("test", TEST_SIZE))
    start = time.perf_counter()
    translations = BatchTranslator.of(bundle).best([example.expression for example in examples])
    by_locale: dict[str, Ratio] = {}
    for example, translation in zip(examples, translations, strict=True):
        one = Ratio(float(translation == example.iso), 1)
        by_locale[example.locale] = by_locale.get(example.locale, Ratio()) + one
    return DemoResult(examples, translations, by_locale, time.perf_counter() - start)


def summary(result: DemoResult) -> list[str]:
    """For the terminal: the score, the worst locale, some translations."""
    worst = result.worst_locale
    lines = [
        msg(
            f"{result.total.count:,} held-out dates: {100 * result.total.value:.2f} % exactly right, "
            f"at {result.total.count / result.seconds:,.0f} a second"
        ),
        msg(f"worst of {len(result.by_locale)} locales: {worst} with {100 * result.by_locale[worst].value:.1f} %"),
        msg("some of them:"),
    ]
    for example, translation in list(zip(result.examples, result.translations, strict=True))[:SHOWN]:
        verdict = "" if translation == example.iso else f"   (should be {example.iso})"
        lines.append(f"  {example.expression}  ->  {translation}{verdict}")
    return lines


def map_attention(bundle: Bundle, text: str) -> AttentionMap:
    """The weights of the last decoder layer, the mean over its heads, for the bundle's own translation of `text`."""
    source_tokenizer, target_tokenizer = bundle.tokenizers.source, bundle.tokenizers.target
    source = [*source_tokenizer.encode(text), source_tokenizer.end_id]
    translator = BatchTranslator.of(bundle)
    translation = translator.best([text])[0]
    target_input = [target_tokenizer.start_id, *target_tokenizer.encode(translation)]
    inputs = ([source], [len(source)], [target_input])
    ids, lengths, tokens = (torch.tensor(one, device=translator.device) for one in inputs)
    assert can_attend(bundle.model)
    with torch.inference_mode():
        weights = bundle.model.attend(tokens, bundle.model.start(ids, lengths))[1][0]
    pieces = [target_tokenizer.piece(number) for number in [*target_input, target_tokenizer.end_id]]
    return AttentionMap(
        Beside(text, translation),
        weights.float().cpu().numpy(),
        list(pairwise(pieces)),
        [source_tokenizer.piece(number) for number in source],
        msg(
            "Cross-attention of the last decoder layer, the mean over its heads. Each row sums to 1. "
            "Attention shows what the model attends to; it is not by itself an explanation of its output."
        ),
    )


def what_next(out: Path, page: Path) -> list[str]:
    return [
        msg(f"the report, with curves and attention: {page}"),
        msg("what to try next:"),
        f"  echo '14. März 2031' | openwork translate {shlex.quote(str(out))}",
        f"  openwork info {shlex.quote(str(out))}",
        "  openwork train --source your.en --target your.de --out en-de      your own two files, line for line",
    ]
