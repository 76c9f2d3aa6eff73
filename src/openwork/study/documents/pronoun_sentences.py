"""Sentences whose pronouns stand for a word before them: a little grammar from Chinese to German. No torch here.

Chinese says 它 of every animal. German says er, sie or es, by the gender of the word that is meant: who translates must
find it. In this grammar it is always who acts, as document 002 reads its 猫追狗，它跑得很快.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import permutations, product
from random import Random

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


@dataclass(frozen=True)
class Sentence:
    """Its words, where in them stands who plays which part, and its translation."""

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
                *_plain(*when), ("subject", subject), ("verb", verb), ("object", other),
                *_plain(COMMA), ("pronoun", "它"), *_plain(*does),
            )  # fmt: skip


def of_people() -> Iterator[Sentence]:
    """小明 在 公园 吃 苹果 ， 他 很 开心, and the like."""
    for (subject, (who, gender)), when, place, food, mood in product(PEOPLE.items(), WHEN, PLACES, FOODS, MOODS):
        yield _sentence(
            _clause(WHEN[when], who, "isst", f"{PLACES[place]} {FOODS[food]}")
            + f" , {PRONOUNS[gender]} ist sehr {MOODS[mood]}",
            *_plain(*when), ("subject", subject), *_plain("在"), ("place", place), ("verb", "吃"), ("object", food),
            *_plain(COMMA), ("pronoun", CHINESE_PRONOUNS[gender]), *_plain("很"), ("mood", mood),
        )  # fmt: skip


def _plain(*words: str) -> list[tuple[str, str]]:
    return [("", word) for word in words]


def _sentence(target: str, *words: tuple[str, str]) -> Sentence:
    """From words with the parts that they play, which may be none."""
    parts = {part: place for place, (part, _) in enumerate(words) if part}
    return Sentence(tuple(word for _, word in words), parts, target)


def _clause(when: str, who: str, does: str, whom: str) -> str:
    """German has the verb in the second place."""
    return f"{when} {does} {who} {whom}" if when else f"{who} {does} {whom}"


CAT_DOG = ("猫", "追", "狗", COMMA, "它", "跑", "得", "很", "快")
DOG_CAT = ("狗", "追", "猫", COMMA, "它", "跑", "得", "很", "快")
XIAOMING = ("小明", "在", "公园", "吃", "苹果", COMMA, "他", "很", "开心")
KEPT = 20  # of each kind, the documents' own among them


@dataclass(frozen=True)
class Sentences:
    """What a model is trained on, and what it has never seen: the documents' own first."""

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
