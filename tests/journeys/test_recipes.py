"""Every run file that the project ships says what it means: it is read, checked, and built in miniature."""

from pathlib import Path

import pytest
import torch

from openwork.base.config import Layer, apply_assignments, read_run_file
from openwork.data.corpora import parallel
from openwork.data.corpora.catalogue import find
from openwork.data.records import Pair
from openwork.models.build import build_model
from openwork.runs.file.resolve import resolve_run
from openwork.runs.train import train_bundle
from openwork.runs.tuning import check_fine_tuning

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).resolve().parents[2]
RECIPES = [*sorted((REPOSITORY / "recipes").glob("*.toml")), REPOSITORY / "src/openwork/demo/demo.toml"]


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_recipe_is_read_and_built(path: Path):
    settings = resolve_run(read_run_file(path))
    assert settings.data.corpus is not None
    find(settings.data.corpus)
    assert settings.training.steps >= settings.training.validate_every
    with torch.device("meta"):  # the sizes of the recipe, without their memory
        whole = build_model(settings.model, settings.text.vocabulary_size, settings.text.vocabulary_size)
    assert sum(parameter.numel() for parameter in whole.parameters()) > 1000


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_recipe_computes_in_miniature(path: Path):
    """The same choices with a width of 8: a sentence goes in, logits for each target position come out."""
    layer = read_run_file(path)
    small = {"width": 8, "heads": 2, "feedforward_width": 8, "encoder_layers": 1, "decoder_layers": 1, "layers": 1}
    small = {key: value for key, value in small.items() if key in type(resolve_run(layer).model).model_fields}
    mapping = {**layer.mapping, "model": {**layer.mapping.get("model", {}), **small}}
    run = resolve_run(Layer(mapping, layer.origins))
    numbers = run.picture or run.sound
    model = build_model(run.model, numbers.form.features if numbers else 20, 20).eval()
    source = torch.rand(1, 3, numbers.form.features) if numbers else torch.tensor([[5, 6, 3]])
    target = torch.tensor([[2, 7]])
    assert model(source, torch.tensor([3]), target).shape == (1, 2, model.output_weight.shape[1])


TUNING = REPOSITORY / "recipes/fine-tuning"


@pytest.mark.parametrize("path", sorted(TUNING.glob("*.toml")), ids=lambda path: path.stem)
def test_the_parts_that_a_fine_tuning_names_are_there(path: Path):
    """Frozen ones and groups of layers. A recipe that names no model has that of the one before it."""
    mapping = read_run_file(path).mapping
    before = read_run_file(TUNING / "ulmfit-1-english.toml").mapping["model"]
    settings = resolve_run(Layer({"model": before, **mapping}))
    assert "from_bundle" in mapping.get("fine_tuning", {}) or "preset" in mapping["model"]
    check_fine_tuning(settings)


REAL = ("multi30k-de-en", "multi30k-en-fr", "tatoeba-en-de", "tatoeba-zh-en", "tatoeba-en-zh", "hsk-zh-en")
SENTENCES = {"en": "A dog number {}.", "de": "Ein Hund Nummer {}.", "fr": "Un chien numéro {}.", "zh": "第{}只狗。"}


@pytest.fixture
def invented_corpora(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Forty pairs under the name of each corpus: enough to learn a vocabulary from, and to make two updates."""

    def put(corpus: str, splits: dict[str, range], languages: tuple[str, ...]) -> None:
        folder = tmp_path / "corpora" / corpus
        folder.mkdir(parents=True)
        for split, numbers in splits.items():
            for language in languages:
                lines = (SENTENCES[language].format(number) for number in numbers)
                (folder / f"{split}.{language}").write_text("".join(f"{line}\n" for line in lines), "utf-8")

    put("multi30k", {"train": range(40), "val": range(40, 44)}, ("en", "de", "fr"))
    for other in ("de", "zh"):
        put(f"tatoeba-en-{other}", {"train": range(40), "valid": range(40, 44)}, ("en", other))
    pairs = [Pair(SENTENCES["zh"].format(number), SENTENCES["en"].format(number)) for number in range(40)]
    monkeypatch.setattr(parallel, "_hsk_sentences", lambda: pairs)
    monkeypatch.setenv("OPENWORK_DATA", str(tmp_path / "corpora"))
    return tmp_path


@pytest.mark.parametrize("name", REAL)
def test_recipe_trains_in_miniature(name: str, invented_corpora: Path):
    """All the way from its corpus to a bundle, in two updates of a model with a width of 8."""
    small = ["width=8", "heads=2", "feedforward_width=8", "encoder_layers=1", "decoder_layers=1"]
    short = ["steps=2", "validate_every=2", "cooldown=1", "validation_sentences=2", "average=1", 'precision="float32"']
    values = [*(f"model.{value}" for value in small), *(f"training.{value}" for value in short), "decoding.beam=2"]
    layer = apply_assignments(read_run_file(REPOSITORY / "recipes" / f"{name}.toml"), values)
    told: list[str] = []
    outcome = train_bundle(resolve_run(layer), invented_corpora / "out", told.append)
    assert outcome.bundle is not None and outcome.progress.step == 2
    corpus = find(name)
    assert (outcome.bundle / "card.md").read_text("utf-8").count(corpus.terms) == 1


@pytest.mark.parametrize("name", REAL)
def test_recipe_says_the_languages_of_its_corpus(name: str):
    data = resolve_run(read_run_file(REPOSITORY / "recipes" / f"{name}.toml")).data
    assert data.corpus == name and (data.source_language, data.target_language) == find(name).languages


def test_there_are_the_recipes_that_are_promised():
    assert {"copy", "reverse", "demo", *REAL} <= {path.stem for path in RECIPES}
