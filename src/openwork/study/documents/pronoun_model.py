"""Sentences whose pronouns refer to an earlier word, and a small model that is trained to translate them to German.

Chinese says 它 of every animal. German says er, sie or es, by the gender of the word that is meant, so a translator
must find it. In this grammar it is always who acts, as document 002 reads its 猫追狗，它跑得很快. The training is the
one that users have.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import permutations, product
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import NamedTuple

import torch

from openwork.base.config import Layer
from openwork.bundles.bundle import Bundle, load_bundle
from openwork.models.build import build_model
from openwork.models.interfaces import SequenceModel
from openwork.runs.file.resolve import resolve_run
from openwork.runs.file.settings import RunSettings
from openwork.runs.train import train_bundle

SEED = 1
COMMA = "，"
# Animals and names with their gender.
ANIMALS = {
    "猫": ("Katze", "f"), "狗": ("Hund", "m"), "马": ("Pferd", "n"), "牛": ("Kuh", "f"), "猪": ("Schwein", "n"),
    "鸟": ("Vogel", "m"),
}  # fmt: skip
PEOPLE = {"小明": ("Xiaoming", "m"), "小红": ("Xiaohong", "f"), "老王": ("Laowang", "m"), "小丽": ("Xiaoli", "f")}
# Where words before the subject move it, no head finds it by its place alone.
WHEN: dict[tuple[str, ...], str] = {(): "", ("今天",): "heute", ("昨天", "晚上"): "gestern Abend"}
WHO, WHOM = {"m": "der", "f": "die", "n": "das"}, {"m": "den", "f": "die", "n": "das"}
PRONOUNS = {"m": "er", "f": "sie", "n": "es"}
CHINESE_PRONOUNS = {"m": "他", "f": "她"}  # of people; they sound alike
CHASES = {"追": "jagt", "看": "sieht", "找": "sucht"}
DOES = {("跑", "得", "很", "快"): "rennt sehr schnell", ("很", "大"): "ist sehr groß", ("很", "累"): "ist sehr müde"}
PLACES = {"公园": "im Park", "学校": "in der Schule", "家": "zu Hause"}
FOODS = {"苹果": "einen Apfel", "面包": "ein Brot", "鱼": "einen Fisch"}
MOODS = {"开心": "glücklich", "累": "müde", "饿": "hungrig"}


class Sentence(NamedTuple):
    """Its words, the places of the words that play a part, and its translation."""

    words: tuple[str, ...]
    parts: Mapping[str, int]
    target: str


def of_animals() -> Iterator[Sentence]:
    """猫 追 狗 ， 它 跑 得 很 快, and the like."""
    for (subject, (who, gender)), (other, (whom, others)) in permutations(ANIMALS.items(), 2):
        for when, (verb, chases), does in product(WHEN, CHASES.items(), DOES):
            yield _sentence(
                _clause(WHEN[when], f"{WHO[gender]} {who}", chases, f"{WHOM[others]} {whom}")
                + f" , {PRONOUNS[gender]} {DOES[does]}",
                *when, ("subject", subject), ("verb", verb), ("object", other), COMMA, ("pronoun", "它"), *does,
            )  # fmt: skip


def of_people() -> Iterator[Sentence]:
    """小明 在 公园 吃 苹果 ， 他 很 开心, and the like."""
    for (subject, (who, gender)), when, place, food, mood in product(PEOPLE.items(), WHEN, PLACES, FOODS, MOODS):
        yield _sentence(
            _clause(WHEN[when], who, "isst", f"{PLACES[place]} {FOODS[food]}")
            + f" , {PRONOUNS[gender]} ist sehr {MOODS[mood]}",
            *when, ("subject", subject), "在", ("place", place), ("verb", "吃"), ("object", food),
            COMMA, ("pronoun", CHINESE_PRONOUNS[gender]), "很", ("mood", mood),
        )  # fmt: skip


def _sentence(target: str, *words: str | tuple[str, str]) -> Sentence:
    """From words, some with the part that they play."""
    parts = {word[0]: place for place, word in enumerate(words) if isinstance(word, tuple)}
    return Sentence(tuple(word if isinstance(word, str) else word[1] for word in words), parts, target)


def _clause(when: str, who: str, does: str, whom: str) -> str:
    """German has the verb in the second place."""
    return f"{when} {does} {who} {whom}" if when else f"{who} {does} {whom}"


CAT_DOG = ("猫", "追", "狗", COMMA, "它", "跑", "得", "很", "快")
DOG_CAT = ("狗", "追", "猫", COMMA, "它", "跑", "得", "很", "快")
XIAOMING = ("小明", "在", "公园", "吃", "苹果", COMMA, "他", "很", "开心")
KEPT = 20  # of each kind, the documents' own among them


class Sentences(NamedTuple):
    """The training sentences of a model, and those that it has never seen: the documents' own first."""

    training: tuple[Sentence, ...]
    animals: tuple[Sentence, ...]
    people: tuple[Sentence, ...]


def divided() -> Sentences:
    """All sentences of the grammar: some of each kind are kept from the training."""
    random = Random(SEED)
    kept, training = [], []
    for kind, own in ((of_animals(), (CAT_DOG, DOG_CAT)), (of_people(), (XIAOMING,))):
        mixed = list(kind)
        random.shuffle(mixed)
        mixed.sort(key=lambda one: own.index(one.words) if one.words in own else len(own))  # the others stay mixed
        kept.append(tuple(mixed[:KEPT]))
        training += mixed[KEPT:]
    random.shuffle(training)
    return Sentences(tuple(training), *kept)


STEPS = 200
TRAIN, VALID = "train.tsv", "valid.tsv"


def run_settings(folder: Path) -> RunSettings:
    """The run: its pairs lie in the folder."""
    sections = {
        "data": {"tsv": str(folder / TRAIN), "valid_tsv": str(folder / VALID)},
        "text": {"kind": "words", "shared": False, "minimum_frequency": 1},
        "batches": {"tokens": 600},
        "model": {
            "width": 64, "feedforward_width": 128, "heads": 4, "encoder_layers": 2, "decoder_layers": 1, "norm": "pre",
            "tying": "target",
        },
        "training": {
            "seed": SEED, "steps": STEPS, "schedule": "inverse-square-root", "learning_rate": 0.004, "warmup": 50,
            "label_smoothing": 0.0, "precision": "float32", "validate_every": STEPS, "validation_sentences": 0,
            "metric": "loss", "average": 1,
        },
        "decoding": {"beam": 1},
    }  # fmt: skip
    return resolve_run(Layer(sections))


@cache
def trained() -> Bundle:
    """The model after its training: some seconds on one core, and the same each time on one machine.

    KeyboardInterrupt: the training was interrupted.
    """
    sentences = divided()
    with TemporaryDirectory() as name:
        folder = Path(name)
        for file, written in ((TRAIN, sentences.training), (VALID, (*sentences.animals, *sentences.people))):
            lines = (f"{' '.join(sentence.words)}\t{sentence.target}\n" for sentence in written)
            (folder / file).write_text("".join(lines), encoding="utf-8")
        if train_bundle(run_settings(folder), folder / "run", lambda _: None).bundle is None:
            raise KeyboardInterrupt
        return load_bundle(folder / "run")


def untrained(bundle: Bundle) -> SequenceModel:
    """A model of the same shape with first weights: those, for the model above, that its training began with."""
    sizes = (side.vocabulary_size for side in (bundle.tokenizers.source, bundle.tokenizers.target))
    with torch.random.fork_rng(devices=()):
        torch.manual_seed(SEED)
        return build_model(bundle.settings.model, *sizes).eval()
