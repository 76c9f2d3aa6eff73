"""Corpora for classifying and tagging: sst2 (sentiment), ATIS and Snips (intents of utterances, and their slots).

sst2: the Stanford Sentiment Treebank, whole sentences, two classes (Socher et al. 2013, "Recursive Deep Models for
Semantic Compositionality Over a Sentiment Treebank"), as github.com/clairett/pytorch-sentiment-classification has it.
ATIS (Hemphill et al. 1990) and Snips (Coucke et al. 2018) as github.com/monologg/JointBERT has them: the label of an
utterance for the task classify, and one tag a word (BIO: what begins a slot, what is inside one, what is outside) for
the task tag. A folder holds train and dev: of sst2 as train.tsv, of atis and snips as train/seq.in, train/seq.out and
train/label. No test split has a name here: choices are made on dev.
"""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from openwork.base.errors import DataError
from openwork.base.messages import msg
from openwork.data.corpora.corpus import NamedCorpus, find_folder, need_file
from openwork.data.readers.lines import read_parallel, read_tsv
from openwork.data.records import Pair
from openwork.metrics.labels import spans

TERMS = msg(
    "research corpora: the Stanford Sentiment Treebank (Socher et al. 2013); ATIS and Snips as JointBERT has them"
)
NAMES = ("train", "dev", "test")
SENTIMENTS = {"0": "negative", "1": "positive"}

_SST2_AT = "https://github.com/clairett/pytorch-sentiment-classification (data/SST2)"
_JOINT_AT = "https://github.com/monologg/JointBERT (data)"


def _locate(home: str, name: str, folder: Path | None, origin: str) -> Path:
    why = msg(f"the corpus is not fetched unasked; it can be had at {origin}")
    hint = msg(f"put it, plain or as {Path(name).name}.gz, into a folder FOLDER/{home} and set OPENWORK_DATA=FOLDER")
    return need_file(home, name, folder, why=why, hint=hint)


def _sentiment() -> NamedCorpus:
    def read(split: str, folder: Path | None) -> Iterator[Pair]:
        path = _locate("sst2", f"{split}.tsv", folder, _SST2_AT)
        for number, (text, label) in enumerate(read_tsv(path), start=1):
            if label not in SENTIMENTS:
                raise DataError(
                    f"{path}:{number}: the label {label!r} is neither 0 nor 1",
                    hint="bring the file back as its origin has it",
                    code="D112",
                )
            yield Pair(text, SENTIMENTS[label])

    def found(folder: Path | None) -> str:
        return find_folder("sst2", ["train.tsv", "dev.tsv"], folder)

    return NamedCorpus(TERMS, _SST2_AT, read, (), (6_920, 872, None), NAMES, found)


def _utterances(home: str, side: str, sizes: tuple[int, int]) -> NamedCorpus:
    """`side` is the file of the targets: label or seq.out."""

    def read(split: str, folder: Path | None) -> Iterator[Pair]:
        words, targets = (_locate(home, f"{split}/{name}", folder, _JOINT_AT) for name in ("seq.in", side))
        for source, target in read_parallel(words, targets):
            yield Pair(" ".join(source.split()), " ".join(target.split()))

    def found(folder: Path | None) -> str:
        parts = [f"{split}/{name}" for split in NAMES[:2] for name in ("seq.in", side)]
        return find_folder(home, parts, folder).removesuffix("train").rstrip("/\\")

    return NamedCorpus(TERMS, _JOINT_AT, read, (), (*sizes, None), NAMES, found)


def slot_questions(tagged: Pair) -> Iterator[Pair]:
    """For each slot that a tagged utterance has once: the slot's name as words, a tab, the utterance.

    The target: the numbers of the slot's first and last word, from 0, the words of the name counted too.
    """
    tags = tagged.target.split()
    kinds = Counter(tag[2:] for tag in tags if tag.startswith("B-"))
    for kind, first, last in spans(tags):
        if tags[first].startswith("B-") and kinds[kind] == 1:
            name = re.sub(r"[._]", " ", kind)
            before = len(name.split())
            yield Pair(f"{name}\t{tagged.source}", f"{before + first} {before + last}")


CORPORA = {
    # ATIS as questions about itself: the position of each slot that an utterance has once
    "atis-questions": _utterances("atis", "seq.out", (14_142, 1_579)).changed(slot_questions),
    "sst2": _sentiment(),
    "atis-intent": _utterances("atis", "label", (4_478, 500)),
    "atis-slots": _utterances("atis", "seq.out", (4_478, 500)),
    "snips-intent": _utterances("snips", "label", (13_084, 700)),
    "snips-slots": _utterances("snips", "seq.out", (13_084, 700)),
}
