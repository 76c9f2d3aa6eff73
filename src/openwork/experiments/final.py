"""The end of an experiment: the chosen trials are scored on the test set, once.

Which trials those are is written before the first of them sees a test sentence, and never changes: `test.json` in the
experiment's folder says that the test set has been touched, by whom and when. A process that was killed meanwhile goes
on with the same trials.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from filelock import FileLock

from openwork.base.errors import ConfigError
from openwork.base.files import atomic_write_text
from openwork.bundles.bundle import load_bundle
from openwork.evaluation.evaluate import EvaluationSet, translate_all
from openwork.experiments.claims import Claims
from openwork.experiments.experiment import Experiment
from openwork.experiments.folder import ExperimentFolder
from openwork.experiments.plan import Search, chosen
from openwork.experiments.result import SetScores, TouchedTestSet, read_written, write_json, write_written
from openwork.metrics.ratio import exact_match
from openwork.metrics.translation import bleu, bleu_metric, bleu_tokenisation, chrf, chrf_metric
from openwork.metrics.two_way_bootstrap import corpus_metric

HYPOTHESES = "test.txt"
RULE = "of each variant and group the settings with the best mean validation figure, with all seeds"
OnTested = Callable[[int, int], None]
"""Called before each scored trial with its place, from 1, and the number of them."""


def test_set(experiment: Experiment) -> EvaluationSet | None:
    """The test set; None where the experiment has none. ConfigError for a split of a run without a corpus."""
    section = experiment.settings.experiment
    if not section.is_tested:
        return None
    if section.test_source is not None:
        return EvaluationSet.read(Path(section.test_source), Path(section.test_target or ""), None, "")
    corpus = experiment.base.mapping.get("data", {}).get("corpus")
    if corpus is None:
        raise ConfigError(
            f'{experiment.origins.get("experiment.test", "test")}: test = "{section.test}" is a split of a corpus, and '
            "the base has files",
            hint="name the files: test_source = ... and test_target = ...",
            code="C142",
        )
    return EvaluationSet.read(None, None, corpus, section.test or "test")


def score_chosen(
    experiment: Experiment, folder: ExperimentFolder, report: Callable[[str], None], advanced: OnTested
) -> None:
    """Scores the chosen trials on the test set, and notes in the folder which and when."""
    tested = test_set(experiment)
    if tested is None:
        return
    with FileLock(folder.path / ".test.lock"):
        plan = read_written(TouchedTestSet, folder.test)
        if plan is None:
            plan = TouchedTestSet(
                test=tested.name, sentences=len(tested.pairs), rule=RULE, metric=experiment.settings.experiment.metric,
                trials=tuple(result.number for result in chosen(folder.board())), started=round(time.time(), 3),
            )  # fmt: skip
            write_written(folder.test, plan)
        for place, number in enumerate(plan.trials, start=1):
            advanced(place, len(plan.trials))
            _score_trial(folder, number, tested, plan.metric, report)
        if plan.ended is None:
            write_written(folder.test, plan.model_copy(update={"ended": round(time.time(), 3)}))


def _score_trial(
    folder: ExperimentFolder, number: int, tested: EvaluationSet, metric: str, report: Callable[[str], None]
) -> None:
    trial, copy_of = folder.trial(number), folder.board().results[number].copy_of
    if trial.test.is_file():
        return
    if copy_of is not None and (original := read_written(SetScores, folder.trial(copy_of).test)) is not None:
        translations = (folder.trial(copy_of).path / HYPOTHESES).read_text(encoding="utf-8")
        atomic_write_text(trial.path / HYPOTHESES, translations)
        write_written(trial.test, original)
        return
    bundle = load_bundle(trial.path)
    translations = translate_all(bundle, tested, report, lambda count: None)
    atomic_write_text(trial.path / HYPOTHESES, "".join(f"{line}\n" for line in translations))
    language = bundle.settings.target_language or tested.language
    write_written(trial.test, set_scores(translations, tested.references, metric, language))


def set_scores(hypotheses: Sequence[str], references: Sequence[str], metric: str, language: str | None) -> SetScores:
    """The scores of the whole, and the score of each sentence by the metric's form for sentences, from 0 to 100.

    Of BLEU that is sacreBLEU's, which leaves out n-grams that a short sentence has none of. `statistics`: what the
    score of the whole is made of, from each sentence.
    """
    whole, characters = bleu(hypotheses, references, language=language), chrf(hypotheses, references)
    scores = {"bleu": whole.value, "chrf": characters.value, "exact": 100 * exact_match(hypotheses, references).value}
    pairs, tokenisation = list(zip(hypotheses, references, strict=True)), bleu_tokenisation(language, references)
    if metric == "exact":
        sentences = [100.0 * (one == other) for one, other in pairs]
        return SetScores(hypotheses=HYPOTHESES, scores=scores, signature="exact", sentences=tuple(sentences))
    scorer = chrf_metric() if metric == "chrf" else bleu_metric(tokenisation)
    if metric == "bleu":
        scorer.effective_order = True
    return SetScores(
        hypotheses=HYPOTHESES,
        scores=scores,
        signature=whole.signature if metric == "bleu" else characters.signature,
        sentences=tuple(round(float(scorer.sentence_score(one, [other]).score), 6) for one, other in pairs),
        statistics=tuple(map(tuple, corpus_metric(metric, tokenisation).statistics(hypotheses, references).tolist())),
    )


def write_importance(claims: Claims) -> None:
    """Writes the importance of the settings of each search beside the trials, once."""
    folder = claims.folder
    if folder.importance.is_file():
        return
    searches = [part for part in claims.reached(folder.board()) if isinstance(part, Search)]
    if not searches:
        return
    with claims.studies.failures():
        found = {search.study: claims.studies.importance(claims.studies.open(search)) for search in searches}
    write_json(folder.importance, {study: shares for study, shares in found.items() if shares})
