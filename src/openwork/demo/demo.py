"""The demo: a Transformer learns to read dates, from nothing, and shows what it has learnt."""

import shlex
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from openwork.base.config import read_run_file
from openwork.base.outputs import check_file, is_page
from openwork.base.records import read_records
from openwork.bundles.bundle import Bundle, load_bundle
from openwork.data.corpora import dates
from openwork.demo.attention import draw_attention
from openwork.demo.report import demo_content
from openwork.demo.result import DemoResult
from openwork.inference.translator import BatchTranslator
from openwork.inspection.report import AttentionExample, write_report
from openwork.metrics.ratio import Ratio
from openwork.runs.file.resolve import resolve_run
from openwork.runs.folder import RunFolder
from openwork.runs.train import train_bundle
from openwork.training.loop import Observer

Say = Callable[[str], None]
RUN_FILE = Path(__file__).with_name("demo.toml")
TEST_SIZE = 98 * 50  # a hundred expressions for each of the 49 locales
SHOWN = 8
EXAMPLES = (("de_DE", "long"), ("ja_JP", "full"), ("ar_EG", "full"))  # whose attention is drawn


def run_demo(out: Path, expressions: Sequence[str], say: Say, watchers: Sequence[Observer] = ()) -> bool:
    """Trains (or takes what an earlier demo has trained), evaluates, translates, reports. False: interrupted."""
    folder, report = RunFolder(out), out / "report.html"
    check_file(report, is_page)
    settings = resolve_run(read_run_file(RUN_FILE))
    if (folder.bundle / "bundle.json").is_file():
        say(f"{folder.bundle} is trained already; delete {out} to see it learn again")
    else:
        say("a Transformer learns to read dates in many languages from nothing: 4 to 7 minutes on two cores")
        if train_bundle(settings, out, say, watchers).bundle is None:
            return False
    bundle = load_bundle(folder.bundle)
    result = judge(bundle)
    say("")
    for line in summary(result):
        say(line)
    given = translate_given(bundle, expressions)
    for source, translation in given:
        say(f"  {source}  ->  {translation}")
    examples = attention_examples(bundle)
    write_report(report, demo_content(result, settings, read_records(folder.records), examples, given))
    say("")
    for line in what_next(out, report):
        say(line)
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
        f"{result.total.count:,} held-out dates: {100 * result.total.value:.2f} % exactly right, "
        f"at {result.total.count / result.seconds:,.0f} a second",
        f"worst of {len(result.by_locale)} locales: {worst} with {100 * result.by_locale[worst].value:.1f} %",
        "some of them:",
    ]
    for example, translation in list(zip(result.examples, result.translations, strict=True))[:SHOWN]:
        verdict = "" if translation == example.iso else f"   (should be {example.iso})"
        lines.append(f"  {example.expression}  ->  {translation}{verdict}")
    return lines


def translate_given(bundle: Bundle, expressions: Sequence[str]) -> list[tuple[str, str]]:
    """Dates that the person at the terminal has asked for."""
    return list(zip(expressions, BatchTranslator.of(bundle).best(expressions), strict=True))


def attention_examples(bundle: Bundle) -> tuple[AttentionExample, ...]:
    """Where the decoder looks while it writes three of the held-out dates."""
    chosen: dict[tuple[str, str], str] = {}
    for example in dates.generate("test", TEST_SIZE):
        chosen.setdefault((example.locale, example.format), example.expression)
    return tuple(draw_attention(bundle, chosen[example]) for example in EXAMPLES if example in chosen)


def what_next(out: Path, report: Path) -> list[str]:
    """Commands that work now."""
    return [
        f"the report, with curves and attention: {report}",
        "what to try next:",
        f"  echo '14. März 2031' | openwork translate {shlex.quote(str(out))}",
        f"  openwork info {shlex.quote(str(out))}",
        "  openwork train --source your.en --target your.de --out en-de      your own two files, line for line",
    ]
