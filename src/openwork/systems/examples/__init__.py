"""The documents' numeric examples, calculated by openwork's own functions. What a document prints stands beside."""

from collections.abc import Callable

from openwork.inspection.trace import Trace
from openwork.systems.examples import chapter_eight_traces, document_000, document_001, document_002, document_004

# The name of an example -> what calculates it. They are calculated when they are asked for.
EXAMPLES: dict[str, Callable[[], Trace]] = {
    "000-1.1.7": document_000.self_attention,
    "000-1.3": document_000.positions,
    "000-shapes": document_000.shapes,
    "001-sizes": document_001.sizes,
    "002-2.2.2": document_002.variance,
    "002-5.2": document_002.mask,
    "002-6.4.2": document_002.residuals,
    "002-7.2": document_002.training,
    "002-8": chapter_eight_traces.exact,
    "002-8-shifted": chapter_eight_traces.shifted,
    "002-8-own-figures": chapter_eight_traces.own,
    "004-database": document_004.database,
}
