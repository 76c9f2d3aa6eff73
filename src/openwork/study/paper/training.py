"""The paper's training, from data to search: each figure of sections 5 and 6.1 beside the key and value of ours."""

from collections.abc import Mapping
from typing import NamedTuple

from openwork.base.config import read_run_file
from openwork.base.fields import all_keys
from openwork.base.phrases import AsIs
from openwork.base.toml import write_value
from openwork.inspection.plots import Figures
from openwork.models.presets import BASE, BIG, TRAININGS
from openwork.runs.file.keys import leaves
from openwork.runs.file.recipes import recipes
from openwork.runs.file.resolve import resolve_run
from openwork.runs.file.settings import RunSettings
from openwork.study.paper.exhibit import Computed, exhibit
from openwork.training.optimisers import make_optimiser
from openwork.training.schedules import make_schedule

RECIPES = {BASE: "paper-base-wmt14-en-de", BIG: "paper-big-wmt14-en-de"}


class Stated(NamedTuple):
    """Something that the paper states of its training from English to German.

    `base` and `big` are its values for the two models; `key` is ours in a run file, empty where there is none.
    """

    words: str
    section: str
    base: object
    big: object
    key: str = ""


_BASE, _BIG = TRAININGS[BASE], TRAININGS[BIG]
STATED = (
    Stated("corpus, of about 4.5 million pairs", "5.1", "wmt14-en-de", "wmt14-en-de", "data.corpus"),
    Stated("pieces, about, in one vocabulary", "5.1", 37_000, 37_000, "text.vocabulary_size"),
    Stated("tokens of a batch, about, on each side", "5.1", _BASE.tokens, _BIG.tokens, "batches.tokens"),
    Stated("devices", "5.2", "8 P100", "8 P100"),
    Stated("updates of the weights", "5.2", _BASE.steps, _BIG.steps, "training.steps"),
    Stated("hours of training", "5.2", _BASE.hours, _BIG.hours),
    Stated("optimiser", "5.3", "adam", "adam", "training.optimiser"),
    Stated("decay of the mean gradient, beta_1", "5.3", 0.9, 0.9, "training.beta1"),
    Stated("decay of the mean square, beta_2", "5.3", 0.98, 0.98, "training.beta2"),
    Stated("added to the divisor, epsilon", "5.3", 1e-9, 1e-9, "training.epsilon"),
    Stated("schedule: equation 3", "5.3", "paper", "paper", "training.schedule"),
    Stated("updates in which the rate rises, warmup_steps", "5.3", 4000, 4000, "training.warmup"),
    Stated("P_drop: of sub-layers and embeddings", "5.4", 0.1, 0.3, "model.dropout"),
    Stated("epsilon_ls: label smoothing", "5.4", 0.1, 0.1, "training.label_smoothing"),
    Stated("checkpoints in the mean", "6.1", 5, 20, "training.average"),
    Stated("hypotheses of the beam search", "6.1", 4, 4, "decoding.beam"),
    Stated("alpha: length penalty", "6.1", 0.6, 0.6, "decoding.length_penalty"),
    Stated("pieces more than the source, at most", "6.1", 50, 50, "decoding.extra_length"),
)


def recipe_values(name: str) -> Mapping[str, object]:
    """Every key of a recipe that comes with openwork, with its value, defaults included."""
    path = next(path for path in recipes() if path.stem == name)
    return dict(leaves(resolve_run(read_run_file(path)).model_dump(mode="json")))


@exhibit(
    "training",
    (make_optimiser, make_schedule),
    "tests/runs/test_plan.py::test_the_papers_recipes_say_what_the_paper_says",
    "tests/study/paper/test_paper.py::test_the_recipes_hold_what_the_paper_states",
    "tests/training/test_optimisers.py::test_two_updates_by_hand",
)
def _training() -> Computed:
    """What the paper says of its training from English to German. The recipes say the same, setting by setting; the
    defaults differ where data are fewer and machines smaller than the authors'.

    What the paper leaves open is chosen: the gradients are not clipped, weights and products are in float32, and
    matrices begin as Glorot and Bengio 2010 have them.
    """
    # of keys that every family of models has, the Transformer's come first
    defaults = {key.name: key.default for key in reversed(list(all_keys(RunSettings)))}
    ours = {preset: recipe_values(name) for preset, name in RECIPES.items()}
    table = Figures(
        "the paper's two models, our recipes for them, and our defaults",
        ("what", "section", "paper, base", "paper, big", "key", "recipe, base", "recipe, big", "default"),
        [
            (
                *(one.words, one.section, _plain(one.base), _plain(one.big), AsIs(one.key)),
                *(_plain(values[one.key]) if one.key else "" for values in ours.values()),
                AsIs(defaults.get(one.key, "").strip('"')),
            )
            for one in STATED
        ],
    )
    return Computed(tables=(table,))


def _plain(value: object) -> str:
    """A number in its shortest form; anything else as a run file writes it, without quotes."""
    return AsIs(f"{value:g}" if isinstance(value, float) else write_value(value).strip('"'))
