"""The documents' worked examples, calculated by openwork's own functions, next to what a document prints.

This table is read without torch; what calculates an example is loaded when the example is asked for.
"""

from collections.abc import Iterator
from pkgutil import resolve_name
from typing import TYPE_CHECKING, NamedTuple

from openwork.base.errors import UsageError
from openwork.base.messages import nearest
from openwork.base.phrases import AsIs, Joined, Padded

if TYPE_CHECKING:
    from openwork.inspection.trace import Trace


class Example(NamedTuple):
    """An example, and the function of a file in this folder that calculates it: "file.function".

    `trains`: a small model is trained first, which takes some seconds.
    """

    name: str
    title: str
    function: str
    trains: bool = False

    def __call__(self) -> "Trace":
        from openwork.inspection.trace import Trace

        steps, assumptions = resolve_name(f"{__name__}.{self.function}")()
        return Trace(self.name, self.title, tuple(steps), assumptions)


_ALL = (
    Example("000-1.1.7", "Transformer 模型, section 1.1.7: self-attention over three words", "attention.three_words"),
    Example("000-1.3", "Transformer 模型, section 1.3: sines and cosines of positions", "model_and_training.positions"),
    Example("000-shapes", "Transformer 模型, sections 1.2.7 and 1.5: shapes", "model_and_training.shapes"),
    Example("001-sizes", "转换器(Transformer)详解: sizes", "model_and_training.sizes"),
    Example("002-cat-dog", "Transformer 模型全景分析报告, section 2.1: what 它 attends to in 猫追狗，它跑得很快",
            "pronouns.cat_dog", trains=True),
    Example("002-2.2.2", "Transformer 模型全景分析报告, section 2.2.2: why scores are divided by sqrt(d_k)",
            "attention.variance"),
    Example("002-xiaoming",
            "Transformer 模型全景分析报告, section 4.1: what four heads attend to in 小明在公园吃苹果，他很开心",
            "pronouns.xiaoming", trains=True),
    Example("002-5.2", "Transformer 模型全景分析报告, section 5.2: the causal mask", "attention.mask"),
    Example("002-6.4.2", "Transformer 模型全景分析报告, sections 1.2.1 and 6.4.2: gradients through 100 layers",
            "model_and_training.residuals"),
    Example("002-7.2", "Transformer 模型全景分析报告, section 7.2: batches, learning rate, label smoothing",
            "model_and_training.training"),
    Example("002-8", "Transformer 模型全景分析报告, chapter 8: from embeddings to probabilities, exactly",
            "chapter_eight.exact"),
    Example("002-8-shifted", "Transformer 模型全景分析报告, chapter 8, with the target shifted as in the paper",
            "chapter_eight.shifted"),
    Example("002-8-own-figures",
            "Transformer 模型全景分析报告, chapter 8: each step of the encoder from the document's own figures",
            "chapter_eight.own"),
    Example("004-database", "Transformer: the mean age of everyone called 张, as attention", "attention.database"),
)  # fmt: skip
EXAMPLES = {one.name: one for one in _ALL}


def example_lines() -> Iterator[str]:
    width = max(map(len, EXAMPLES))
    for name, example in EXAMPLES.items():
        yield Joined(AsIs(Padded(name, width)), "  ", example.title)


def find_example(name: str) -> Example:
    """The example of that name; UsageError if there is none."""
    if name not in EXAMPLES:
        raise UsageError(
            f"there is no example {name}",
            hint=nearest(name, EXAMPLES) or "openwork explain --list names them",
            code="U054",
        )
    return EXAMPLES[name]
