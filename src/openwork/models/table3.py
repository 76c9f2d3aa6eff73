"""Table 3 of the paper: its rows as changes of the base model, and what it states of each. Data only."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Row:
    """One row; `name` is the letter of its group, with its place in a group of several.

    `changes` are settings of the model, `training` those of the section `[training]` that differ from the base's.
    `millions` (weights), `perplexity` (per piece) and `bleu` are the paper's, on newstest2013 from English to German;
    None where it leaves the cell blank, which means the base's.
    """

    preset: str
    name: str
    perplexity: float
    bleu: float
    millions: int | None = None
    changes: dict[str, object] = field(default_factory=dict)
    training: dict[str, object] = field(default_factory=dict)

    @property
    def group(self) -> str:
        """The paper's letter of the group; "base" and "big" have none."""
        return self.name.rstrip("0123456789")


BASE, BIG = "paper-base", "paper-big"
BIG_CHANGES: dict[str, object] = {"width": 1024, "feedforward_width": 4096, "heads": 16, "dropout": 0.3}

# width / heads gives the paper's d_k and d_v but where a row names them.
ROWS = (
    Row(BASE, "base", 4.92, 25.8, 65),
    Row("table3-a-h1", "A1", 5.29, 24.9, changes={"heads": 1}),
    Row("table3-a-h4", "A2", 5.00, 25.5, changes={"heads": 4}),
    Row("table3-a-h16", "A3", 4.91, 25.8, changes={"heads": 16}),
    Row("table3-a-h32", "A4", 5.01, 25.4, changes={"heads": 32}),
    Row("table3-b-k16", "B1", 5.16, 25.1, 58, {"head_width": 16}),
    Row("table3-b-k32", "B2", 5.01, 25.4, 60, {"head_width": 32}),
    Row("table3-c-n2", "C1", 6.11, 23.7, 36, {"encoder_layers": 2, "decoder_layers": 2}),
    Row("table3-c-n4", "C2", 5.19, 25.3, 50, {"encoder_layers": 4, "decoder_layers": 4}),
    Row("table3-c-n8", "C3", 4.88, 25.5, 80, {"encoder_layers": 8, "decoder_layers": 8}),
    Row("table3-c-d256", "C4", 5.75, 24.5, 28, {"width": 256, "head_width": 32, "value_width": 32}),
    Row("table3-c-d1024", "C5", 4.66, 26.0, 168, {"width": 1024, "head_width": 128, "value_width": 128}),
    Row("table3-c-ff1024", "C6", 5.12, 25.4, 53, {"feedforward_width": 1024}),
    Row("table3-c-ff4096", "C7", 4.75, 26.2, 90, {"feedforward_width": 4096}),
    Row("table3-d-dropout0", "D1", 5.77, 24.6, changes={"dropout": 0.0}),
    Row("table3-d-dropout2", "D2", 4.95, 25.5, changes={"dropout": 0.2}),
    Row(BASE, "D3", 4.67, 25.3, training={"label_smoothing": 0.0}),
    Row(BASE, "D4", 5.47, 25.7, training={"label_smoothing": 0.2}),
    Row("table3-e-learned", "E", 4.92, 25.7, changes={"positions": "learned"}),
    Row(BIG, "big", 4.33, 26.4, 213, BIG_CHANGES),
)


@dataclass(frozen=True)
class Training:
    """What table 2 and section 5 state of a training from English to German: updates, tokens, hours, operations."""

    steps: int
    hours: float
    flops: float
    tokens: int = 25_000  # a batch has so many on each side
    devices: int = 8
    flops_per_second: float = 9.5e12  # sustained by one P100, as the paper has it


TRAININGS = {BASE: Training(100_000, 12.0, 3.3e18), BIG: Training(300_000, 84.0, 2.3e19)}
