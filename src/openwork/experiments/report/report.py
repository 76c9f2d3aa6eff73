"""The report of an experiment: one offline HTML file, Markdown, and pictures with their data, from its folder alone.

docs/statistics.md says what each number means.
"""

from collections.abc import Iterator
from pathlib import Path

from openwork.base.messages import msg
from openwork.base.phrases import AsIs, Joined
from openwork.experiments.report.conclusions import found_section
from openwork.experiments.report.curves import heads_section, sensitivity_section
from openwork.experiments.report.differences import (
    all_tests,
    counterfactual_section,
    differences_section,
    importance_section,
    protocol_section,
    touched_section,
)
from openwork.experiments.report.document import ReportDocument, ReportSection, counted, write_document
from openwork.experiments.report.results import ExperimentResults, read_results
from openwork.experiments.report.variants import cost_section, trials_section, variants_section

KINDS = {
    "search": msg("A search for the best settings"),
    "factors": msg("Variants and values, each with every seed"),
    "protocol": msg("Structure against tuning"),
    "heads": msg("A trained model without each of its heads"),
}


def write_report(folder: Path, language: str = "en") -> list[Path]:
    """Writes report.html, report.md and figures/*.svg with *.csv into an experiment's folder; the paths written.

    DataError: there is no experiment, a result is damaged, or the trials cannot be compared (other metric, data or
    tokenizers).
    """
    return write_document(folder, report_of(read_results(folder)), language)


def report_of(results: ExperimentResults) -> ReportDocument:
    """Everything that the report says."""
    finished = sum(trial.score is not None for trial in results.trials)
    seeds = {trial.seed for trial in results.trials if not trial.short}
    facts = [
        (msg("trials"), counted(len(results.trials))),
        (msg("that count"), counted(finished)),
        (msg("seeds"), counted(len(seeds))),
        (msg("metric"), results.metric_name),
        (msg("test set"), msg("touched") if results.test is not None else msg("not touched")),
    ]
    if results.settings.experiment.command is not None:
        facts.append((msg("command"), AsIs(results.settings.experiment.command)))
    signature = next((trial.signature for trial in results.trials if trial.signature), None)
    summary = Joined(KINDS.get(results.kind, ""), *([" (", AsIs(signature), ")"] if signature else []))
    return ReportDocument(AsIs(results.settings.experiment.name), summary, facts, list(_sections(results)))


def _sections(results: ExperimentResults) -> Iterator[ReportSection]:
    tests = all_tests(results)
    if found := found_section(results, tests):
        yield found
    if results.kind != "heads" and any(arm.scores for arm in results.arms):
        yield variants_section(results, tests.validation, tests.test)
    for section in (
        differences_section(results, tests),
        protocol_section(results, tests),
        sensitivity_section(results),
        heads_section(results),
        importance_section(results),
        counterfactual_section(results, tests),
    ):
        if section is not None:
            yield section
    yield touched_section(results)
    yield trials_section(results)
    yield cost_section(results)
