"""A bundle and texts for measurements of a server where no trained one is at hand: random weights, real work.

The model has the shape of the recipe multi30k-en-de. Its translations mean nothing, but each takes as much work as that
of a trained model of this shape, because lengths are set: a translation has as many tokens as its source.
"""

import random
from pathlib import Path

import torch

from openwork.bundles.bundle import Bundle, write_bundle
from openwork.bundles.settings import BundleSettings
from openwork.decoding.settings import DecodingSettings
from openwork.models.build import build_model
from openwork.models.presets import PRESETS
from openwork.models.settings import TransformerSettings
from openwork.text.pair import train_pair
from openwork.text.settings import TextSettings

PIECES, TEXTS, SEED = 4000, 300, 1
SCALE = 2.0  # of the weights, so that no two hypotheses are equally good
NOUNS = "man woman dog child boy girl team street ball field house water bike car park bench table tree hill beach"
VERBS = "runs jumps sits stands walks plays rides looks waits climbs throws holds carries watches sings paints"
MORE = "young old red blue small large wet happy tired brown white green tall quick quiet dusty narrow bright"
PLACES = "in on near behind beside under above across through towards from with at along over between"


def sentences(count: int) -> list[str]:
    """Sentences of 6 to 24 words, no two alike."""
    chosen = random.Random(SEED)
    nouns, verbs, more, places = (words.split() for words in (NOUNS, VERBS, MORE, PLACES))
    found: dict[str, None] = {}
    while len(found) < count:
        parts = [f"A {chosen.choice(more)} {chosen.choice(nouns)} {chosen.choice(verbs)}"]
        for _ in range(chosen.randint(1, 5)):
            parts.append(f"{chosen.choice(places)} a {chosen.choice(more)} {chosen.choice(nouns)}")
        found[f"{' '.join(parts)}."] = None
    return list(found)


def make(folder: Path) -> tuple[Path, Path]:
    """Writes the bundle and the file of texts into the folder; their paths."""
    texts = sentences(TEXTS)
    tokenizers = train_pair(texts, texts, TextSettings(vocabulary_size=PIECES))
    settings = TransformerSettings.model_validate({**PRESETS["small"], "dropout": 0.0})
    torch.manual_seed(SEED)
    model = build_model(settings, tokenizers.source.vocabulary_size, tokenizers.target.vocabulary_size)
    for parameter in model.parameters():
        parameter.data.mul_(SCALE)
    decoding = DecodingSettings(beam=5, extra_length=0, no_repeat=1)
    bundle = BundleSettings(model=settings, decoding=decoding, source_language="en", target_language="de")
    write_bundle(folder / "random-en-de", Bundle(bundle, tokenizers, model.eval(), card="# Random weights\n"))
    (folder / "texts").write_text("\n".join(texts) + "\n", "utf-8")
    return folder / "random-en-de", folder / "texts"
