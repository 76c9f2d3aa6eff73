"""The end of an experiment: the chosen trials are scored on the test set, once.

Which trials those are is written before the first of them sees a test sentence, and never changes: `test.json` in the
experiment's folder says that the test set has been touched, by whom and when. A process that was killed meanwhile goes
on with the same trials.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from filelock import FileLock

from openwork.base.errors import ConfigError
from openwork.base.files import atomic_write_text
from openwork.bundles.bundle import load_bundle
from openwork.evaluation.evaluate import EvaluationSet, translate_all
from openwork.experiments.claims import Claims
from openwork.experiments.experiment import Experiment
from openwork.experiments.folder import FORMAT, ExperimentFolder, read_json, write_json
from openwork.experiments.plan import Search, chosen
from openwork.metrics.ratio import exact_match
from openwork.metrics.translation import bleu, bleu_metric, bleu_tokenisation, chrf, chrf_metric
from openwork.metrics.two_way_bootstrap import corpus_metric

HYPOTHESES = "test.txt"
RULE = "the best by validation of each variant, group and seed"
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
            code="C162",
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
        plan = read_json(folder.test)
        if plan is None:
            numbers = [record.number for record in chosen(folder.board())]
            plan = {
                "format": FORMAT, "test": tested.name, "sentences": len(tested.pairs), "rule": RULE,
                "metric": experiment.settings.experiment.metric, "trials": numbers,
                "started": round(time.time(), 3), "ended": None,
            }  # fmt: skip
            write_json(folder.test, plan)
        for place, number in enumerate(plan["trials"], start=1):
            advanced(place, len(plan["trials"]))
            _score_trial(folder, number, tested, plan["metric"], report)
        if plan["ended"] is None:
            write_json(folder.test, {**plan, "ended": round(time.time(), 3)})


def _score_trial(
    folder: ExperimentFolder, number: int, tested: EvaluationSet, metric: str, report: Callable[[str], None]
) -> None:
    trial, record = folder.trial(number), folder.board().records[number]
    if trial.test.is_file():
        return
    if record.copy_of is not None and (original := read_json(folder.trial(record.copy_of).test)) is not None:
        translations = (folder.trial(record.copy_of).path / HYPOTHESES).read_text(encoding="utf-8")
        atomic_write_text(trial.path / HYPOTHESES, translations)
        write_json(trial.test, original, indent=None)
        return
    bundle = load_bundle(trial.path)
    translations = translate_all(bundle, tested, report, lambda count: None)
    atomic_write_text(trial.path / HYPOTHESES, "".join(f"{line}\n" for line in translations))
    language = bundle.settings.target_language or tested.language
    scores = test_scores(translations, tested.references, metric, language)
    write_json(trial.test, {"format": FORMAT, "hypotheses": HYPOTHESES, **scores}, indent=None)


def test_scores(
    hypotheses: Sequence[str], references: Sequence[str], metric: str, language: str | None
) -> dict[str, Any]:
    """The scores of the whole, and the score of each sentence by the metric's form for sentences, from 0 to 100.

    Of BLEU that is sacreBLEU's, which leaves out n-grams that a short sentence has none of. `statistics`: what the
    score of the whole is made of, from each sentence.
    """
    whole, characters = bleu(hypotheses, references, language=language), chrf(hypotheses, references)
    scores = {"bleu": whole.value, "chrf": characters.value, "exact": 100 * exact_match(hypotheses, references).value}
    pairs, tokenisation = list(zip(hypotheses, references, strict=True)), bleu_tokenisation(language, references)
    if metric == "exact":
        sentences = [100.0 * (one == other) for one, other in pairs]
        return {"scores": scores, "signature": "exact", "sentences": sentences, "statistics": []}
    scorer = chrf_metric() if metric == "chrf" else bleu_metric(tokenisation)
    if metric == "bleu":
        scorer.effective_order = True
    return {
        "scores": scores,
        "signature": whole.signature if metric == "bleu" else characters.signature,
        "sentences": [round(float(scorer.sentence_score(one, [other]).score), 6) for one, other in pairs],
        "statistics": corpus_metric(metric, tokenisation).statistics(hypotheses, references).tolist(),
    }


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
