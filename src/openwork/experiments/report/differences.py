"""Sections of a report about differences: which were shown, by which test, and which question that test answers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from openwork.base.messages import msg
from openwork.base.phrases import AsIs, Joined
from openwork.experiments.report.counterfactuals import (
    lost_by_correction,
    of_failures,
    of_other_texts,
    of_two_systems,
    of_validation,
    single_seeds,
    without_choosing_seed,
)
from openwork.experiments.report.document import ReportSection, ReportTable, between, number, probability, signed
from openwork.experiments.report.findings import (
    Protocol,
    Ranking,
    against_base,
    base_of,
    on_new_texts,
    protocols,
    ranking,
    two_systems,
    with_reference,
)
from openwork.experiments.report.published import published_change
from openwork.experiments.report.results import ExperimentResults
from openwork.metrics.estimates import MethodDifference
from openwork.metrics.significance import Difference

SHOWN = {True: msg("shown"), False: msg("not shown")}


@dataclass(frozen=True)
class AllTests:
    """Everything that was tested; `base` is the arm that an ablation's others are compared with."""

    validation: Ranking | None = None
    test: Ranking | None = None
    base: str | None = None
    with_base: Sequence[MethodDifference] = ()
    by_model: Sequence[MethodDifference] = ()
    by_bootstrap: Sequence[MethodDifference] = ()
    systems: tuple[str, str, Difference] | None = None
    protocols: Sequence[Protocol] = ()

    @property
    def main(self) -> Ranking | None:
        """On the test set, for validation has chosen settings and checkpoints; else on the validation texts."""
        return self.test if self.is_on_test_set else self.validation

    @property
    def on_new_texts(self) -> Sequence[MethodDifference]:
        """For new seeds and new texts: of the corpus score, else of the sentences' scores."""
        return self.by_bootstrap or self.by_model

    @property
    def is_on_test_set(self) -> bool:
        """Whether the test set ranks every arm that the validation texts do."""
        return self.test is not None and (
            self.validation is None or self.test.scores.keys() >= self.validation.scores.keys()
        )


def all_tests(results: ExperimentResults) -> AllTests:
    """Every test that the results allow. Heads are compared elsewhere: those of one model are no methods."""
    if results.kind == "heads":
        return AllTests()
    tests = AllTests(ranking(results, tested=False), ranking(results, tested=True), base_of(results))
    return replace(
        tests,
        with_base=against_base(tests.base, tests.main.scores) if tests.base and tests.main else (),
        by_model=on_new_texts(results, tests.base, by_bootstrap=False),
        by_bootstrap=on_new_texts(results, tests.base, by_bootstrap=True),
        systems=two_systems(results, tests.validation) if tests.validation else None,
        protocols=protocols(results, tested=tests.is_on_test_set),
    )


def differences_section(results: ExperimentResults, tests: AllTests) -> ReportSection | None:
    """A table for each test, each with the question that it answers; None where nothing could be tested."""
    found = tests.main
    if found is None:
        return None
    title = msg("New seeds, the test set") if tests.is_on_test_set else msg("New seeds, the validation texts")
    note = msg(
        "The question: trained again with other seeds, would the difference stay on these texts? Welch's t-test over "
        f"the scores of the seeds. p is Holm's, corrected for the number of all pairs, {len(found.comparisons)}, since "
        "the data chose the best. It says nothing of other texts."
    )
    tables = [_pairs_table(title, found.best, found.comparisons, note)]
    if tests.base and tests.with_base:
        tables.append(_base_table(results, tests.base, tests.with_base))
    tables += [
        _pairs_table(title, tests.base or found.best, comparisons, note)
        for title, comparisons, note in (
            (msg("New seeds and new texts: scores of sentences"), tests.by_model, _BY_MODEL),
            (msg("New seeds and new texts: score of the corpus"), tests.by_bootstrap, _BY_BOOTSTRAP),
        )
        if comparisons
    ]
    if tests.systems:
        tables.append(_systems_table(*tests.systems))
    return ReportSection(msg("Differences"), (), tables)


_BY_MODEL = msg(
    "The question: trained again with other seeds and scored on other texts like these, would the score of a sentence "
    "differ on average? A mixed model of seeds and sentences, corrected like the table over seeds. The mean over "
    "sentences is not the score of the corpus."
)
_BY_BOOTSTRAP = msg(
    "The same question about the score of the corpus: seeds and sentences are resampled. Of all tests here it answers "
    "most, and needs the largest differences."
)


def _pairs_table(title: str, reference: str, comparisons: Sequence[MethodDifference], note: str) -> ReportTable:
    """The comparisons of one arm; p is corrected for the whole family."""
    columns = [
        *(msg("variant"), msg("against"), msg("difference"), msg("interval"), "p", msg("p, corrected")),
        msg("is it shown?"),
    ]
    rows = [
        [AsIs(one.second), AsIs(one.first), *_difference_cells(one)] for one in with_reference(reference, comparisons)
    ]
    return ReportTable(title, columns, rows, note, frozenset({0, 1, 6}))


def _difference_cells(one: MethodDifference) -> list[str]:
    """The difference, its interval, p, p corrected, and whether it is shown."""
    found = one.estimate
    cells = [signed(found.value), between(found.low, found.high), probability(found.p), probability(one.adjusted)]
    return [*cells, SHOWN[one.is_shown]]


def _base_table(results: ExperimentResults, base: str, comparisons: Sequence[MethodDifference]) -> ReportTable:
    """Each change of the base beside what the documents and the paper say of it."""
    arms = {arm.name: arm for arm in results.arms}
    columns = [
        *(msg("variant"), msg("difference"), msg("interval"), "p", msg("p, corrected"), msg("is it shown?")),
        *(msg("documents"), msg("paper")),
    ]
    rows = []
    for one in comparisons:
        published = published_change(arms[one.second].variant, results.changes(arms[one.second]))
        figures = [number(None) if figure is None else signed(figure, 1) for figure in published]
        rows.append([AsIs(one.second), *_difference_cells(one), *figures])
    note = msg(
        "The question: trained again with other seeds, would the change cost or gain on these texts? Each is compared "
        f"with {base}, which was chosen beforehand, so p is corrected for the rows of this table only. The "
        "documents' figures (9.2.2, without a source) and those of the paper's table 3 are BLEU of WMT 2014."
    )
    return ReportTable(msg("What each change costs"), columns, rows, note, frozenset({0, 5}))


def _systems_table(first: str, second: str, found: Difference) -> ReportTable:
    columns = [
        *(msg("system"), msg("against"), msg("difference"), msg("p, bootstrap"), msg("p, randomisation")),
        msg("is it shown?"),
    ]
    row = [AsIs(second), AsIs(first), signed(found.value), probability(found.bootstrap),
           probability(found.randomisation), SHOWN[found.significant]]  # fmt: skip
    note = msg(
        "The question: are these two trained systems different on texts like these? Paired bootstrap and paired "
        "randomisation over sentences, both below 5 %. It says nothing of other seeds, and so nothing of the methods."
    )
    return ReportTable(msg("Two given systems, new texts"), columns, [row], note, frozenset({0, 1, 5}))


def protocol_section(results: ExperimentResults, tests: AllTests) -> ReportSection | None:
    """The gain of structure, of tuning, and their interaction, in place of a division in percent."""
    if not tests.protocols:
        return None
    has_chosen = results.choosing_seed is not None
    columns = [
        *(msg("gain"), msg("difference"), msg("interval"), "p", msg("p, corrected")),
        *([msg(f"without seed {results.choosing_seed}")] if has_chosen else ()),
        msg("documents"),
    ]
    note, tables = Joined(_PROTOCOL, " ", _CHOOSING) if has_chosen else _PROTOCOL, []
    for found in tests.protocols:
        rows = []
        for gain in found.gains:
            one = gain.estimate
            cells = [number(None)] * 4
            if one is not None:
                cells = [signed(one.value), between(one.low, one.high), probability(one.p), probability(gain.adjusted)]
            figures = [(gain.without, 2)] * has_chosen + [(gain.published, 1)]
            others = [number(None) if value is None else signed(value, digits) for value, digits in figures]
            rows.append([gain.words, *cells, *others])
        tables.append(ReportTable(msg(f"{found.structure} against {found.baseline}"), columns, rows, note))
    sentence = msg(
        "Where tuning and structure interact, no share of the gain belongs to one of them alone: with other settings "
        "the structure gains something else. The documents' 70 % and 30 % do not follow from their own figures either."
    )
    return ReportSection(msg("What the structure gains, and what the tuning gains"), [sentence], tables)


_PROTOCOL = msg(
    "The question: trained again with other seeds, would the gain stay on these texts? Welch's t over the seeds of the "
    "cells; p is Holm's, corrected for the gains of all these tables. The documents' figures (9.1) are BLEU of WMT "
    "2014, without a source."
)
_CHOOSING = msg(
    "The seed whose figures chose the settings flatters what it has chosen, so the gains of the other seeds stand "
    "beside."
)


def counterfactual_section(results: ExperimentResults, tests: AllTests) -> ReportSection | None:
    """What would have changed the conclusion; None where there is none."""
    found = tests.main
    if found is None:
        return None
    sentences = [
        *single_seeds(found, results.sign),
        *without_choosing_seed(results, found, tested=tests.is_on_test_set),
        *lost_by_correction(tests.with_base or found.comparisons),
        *of_other_texts(tests.with_base or found.comparisons, tests.on_new_texts),
        *(of_two_systems(*tests.systems, found.comparisons) if tests.systems else ()),
        *of_validation(tests.validation, tests.test),
        *of_failures(results),
    ]
    return ReportSection(msg("What would have changed the conclusion"), sentences)


def importance_section(results: ExperimentResults) -> ReportSection | None:
    """How much each setting matters, as the search measured it."""
    if not results.importance:
        return None
    tables = []
    for study, shares in results.importance.items():
        ordered = sorted(shares.items(), key=lambda one: -one[1])
        rows = [[AsIs(key), number(100 * share, 1)] for key, share in ordered]
        tables.append(ReportTable(AsIs(study), [msg("setting"), "%"], rows))
    sentence = msg(
        "How much of the variation of the trials' figures each setting accounts for, as the search estimates it from "
        "its own trials: a description of this search, not a test."
    )
    return ReportSection(msg("Importance of the settings"), [sentence], tables)


def touched_section(results: ExperimentResults) -> ReportSection:
    """Whether, when and by which trials the test set was touched."""
    if results.test is None:
        return ReportSection(msg("The test set"), [msg("The test set has not been touched.")])
    scored = [str(trial.number) for trial in results.trials if trial.test is not None]
    sentences = [
        msg("The test set has been touched: once, at the end, the trials that validation chose are scored on it."),
        msg(f"Trials that were scored on it: {', '.join(scored)}."),
    ]
    sentences.append(msg(f"Scored on it from {_moment(results.test.started)}."))
    if results.test.ended is None:
        sentences.append(msg("The scoring has not ended: it was interrupted, or is under way."))
    return ReportSection(msg("The test set"), sentences)


def _moment(seconds: float) -> str:
    """A moment that is known in seconds since 1970, to the minute."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"
