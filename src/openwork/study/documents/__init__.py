"""The documents' worked examples, calculated by openwork's own functions. What a document prints stands beside.

This table is read without torch; what calculates an example is loaded when the example is asked for.
"""

from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from openwork.base.phrases import AsIs, Joined, Padded

if TYPE_CHECKING:
    from openwork.bundles.bundle import Bundle
    from openwork.inspection.trace import Trace


class Worked(NamedTuple):
    """What an example shows, and which function of which file here calculates it.

    `of_a_model`: it shows a trained model, which may be that of a bundle.
    """

    title: str
    file: str
    function: str
    of_a_model: bool = False

    def __call__(self, bundle: "Bundle | None" = None) -> "Trace":
        """Calculates it."""
        calculate = getattr(import_module(f"{__name__}.{self.file}"), self.function)
        return calculate(bundle) if self.of_a_model else calculate()


EXAMPLES = {
    "000-1.1.7": Worked(
        "Transformer 模型, section 1.1.7: self-attention over three words", "document_000", "self_attention"
    ),
    "000-1.3": Worked("Transformer 模型, section 1.3: sines and cosines of positions", "document_000", "positions"),
    "000-shapes": Worked("Transformer 模型, sections 1.2.7 and 1.5: shapes", "document_000", "shapes"),
    "001-sizes": Worked("转换器(Transformer)详解: sizes", "document_001", "sizes"),
    "002-cat-dog": Worked(
        "Transformer 模型全景分析报告, section 2.1: what 它 looks at in 猫追狗，它跑得很快",
        "pronouns", "cat_dog", of_a_model=True
    ),
    "002-2.2.2": Worked(
        "Transformer 模型全景分析报告, section 2.2.2: why scores are divided by sqrt(d_k)", "document_002",
        "variance"
    ),
    "002-xiaoming": Worked(
        "Transformer 模型全景分析报告, section 4.1: what four heads look at in 小明在公园吃苹果，他很开心",
        "pronouns", "xiaoming",
        of_a_model=True,
    ),
    "002-5.2": Worked("Transformer 模型全景分析报告, section 5.2: the causal mask", "document_002", "mask"),
    "002-6.4.2": Worked(
        "Transformer 模型全景分析报告, sections 1.2.1 and 6.4.2: gradients through 100 layers", "document_002",
        "residuals"
    ),
    "002-7.2": Worked(
        "Transformer 模型全景分析报告, section 7.2: batches, learning rate, label smoothing", "document_002",
        "training"
    ),
    "002-8": Worked(
        "Transformer 模型全景分析报告, chapter 8: from embeddings to probabilities, exactly",
        "chapter_eight_traces", "exact"
    ),
    "002-8-shifted": Worked(
        "Transformer 模型全景分析报告, chapter 8, with the target shifted as in the paper",
        "chapter_eight_traces", "shifted"
    ),
    "002-8-own-figures": Worked(
        "Transformer 模型全景分析报告, chapter 8: each step of the encoder from the document's own figures",
        "chapter_eight_traces",
        "own",
    ),
    "004-database": Worked(
        "Transformer: the mean age of everyone called 张, as attention", "document_004", "database"
    ),
}  # fmt: skip


def example_lines() -> Iterator[str]:
    """Each name with the title of its trace."""
    width = max(map(len, EXAMPLES))
    for name, worked in EXAMPLES.items():
        yield Joined(AsIs(Padded(name, width)), "  ", worked.title)
