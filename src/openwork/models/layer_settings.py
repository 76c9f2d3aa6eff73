"""What can be chosen about the layers of any Transformer. No torch here, so that help and checks are instant.

`values` says of each value of a choice what it is and where it comes from; `openwork config explain` prints it.
"""

from math import isqrt
from typing import Annotated, Literal

from pydantic import Field, model_validator

from openwork.base.config import Settings
from openwork.base.errors import RuleError
from openwork.base.fields import option
from openwork.base.limits import BASE, HEADS, LENGTH, DropRate, HeadCount, TokenCount, Width

BUCKETS, FURTHEST = 32, 128  # ranges of distances of bucketed positions, and where the last one begins; T5's
LONGEST, RELATIVE_DISTANCE = 1024, 16  # `maximum_length` and `relative_distance` where they are needed and not given
# Of attention to long texts, where they are needed and not given: BigBird's sizes, half of Longformer's window,
# and Linformer's mixtures.
WINDOW, BLOCK, RANDOM_BLOCKS, MIXTURES = 256, 64, 3, 256
PATTERN_KEYS: dict[str, tuple[str, ...]] = {
    "attention_window": ("window", "blocks"),
    "global_tokens": ("window", "blocks"),
    "attention_block": ("blocks",),
    "random_blocks": ("blocks",),
    "mixtures": ("low-rank",),
}
ALL_PAIRS = ("alibi", "relative", "bucketed")  # positions that add a number to the score of each pair

FeedForwardName = Literal[
    "relu", "gelu", "gelu-tanh", "swish", "glu", "reglu", "geglu", "geglu-tanh", "swiglu", "convolution"
]

GlobalCount = Annotated[int, Field(ge=0, le=LENGTH)]
RandomCount = Annotated[int, Field(ge=0, le=HEADS)]

PAPER = "Vaswani et al. 2017, section"


class LayerSettings(Settings):
    """Of the layers of every kind of Transformer; the defaults are those of the paper's base model."""

    width: Width = option(512, "d_model: numbers in the vector of one token", f"{PAPER} 3.1")
    heads: HeadCount = option(8, "h: attention heads", f"{PAPER} 3.2.2")
    head_width: Width | None = option(None, "d_k: width of a head's queries and keys; width / heads", f"{PAPER} 3.2.2")
    value_width: Width | None = option(None, "d_v: width of a head's values; width / heads", f"{PAPER} 3.2.2")
    key_value_heads: HeadCount | None = option(
        None,
        "heads of keys and values, each shared by a group of query heads; as many as heads, 1: multi-query",
        "Shazeer 2019; Ainslie et al. 2023",
    )
    feedforward_width: Width = option(2048, "d_ff: width inside the feed-forward network", f"{PAPER} 3.3")
    attention: Literal["scaled", "unscaled", "relu", "additive", "linear"] = option(
        "scaled",
        "how attention weights come from queries and keys: scaled is the paper's",
        values={
            "scaled": "softmax(Q K^T / sqrt(d_k)) (Vaswani et al. 2017, equation 1)",
            "unscaled": "softmax(Q K^T), without the root (Luong et al. 2015, section 3.1)",
            "relu": "max(0, Q K^T / sqrt(d_k)) / keys, in place of the softmax (Wortsman et al. 2023)",
            "additive": "softmax(v^T tanh(W_q q + W_k k)), a v for each head (Bahdanau et al. 2015)",
            "linear": "(elu(Q) + 1) (elu(K) + 1)^T, normalised, by sums over keys (Katharopoulos et al. 2020)",
        },
    )
    attention_pattern: Literal["full", "window", "blocks", "low-rank"] = option(
        "full",
        "which tokens a token attends to in self-attention: full is the paper's, the others are for long texts",
        values={
            "full": "all of them (Vaswani et al. 2017, section 3.2)",
            "window": "those near it and the first tokens, which attend to all (Beltagy et al. 2020, Longformer)",
            "blocks": "those of near blocks, of blocks drawn at random, and the first (Zaheer et al. 2020, BigBird)",
            "low-rank": "mixtures of all of an encoder's tokens; a decoder's is full (Wang et al. 2020, Linformer)",
        },
    )
    attention_window: TokenCount | None = option(
        None,
        f"tokens on each side that a token attends to; {WINDOW}, with blocks {BLOCK}, rounded up to whole blocks",
        "Beltagy et al. 2020, section 3.1: w / 2",
    )
    global_tokens: GlobalCount | None = option(
        None,
        f"first tokens that attend to all, as all do to them; 1, with blocks {2 * BLOCK}",
        "Beltagy et al. 2020, section 3.1",
    )
    attention_block: TokenCount | None = option(None, f"b: tokens of a block; {BLOCK}", "Zaheer et al. 2020")
    random_blocks: RandomCount | None = option(
        None, f"r: blocks drawn at random for each block; {RANDOM_BLOCKS}", "Zaheer et al. 2020, section 2"
    )
    mixtures: TokenCount | None = option(
        None, f"k: mixtures of all tokens that low-rank attention attends to; {MIXTURES}", "Wang et al. 2020, section 4"
    )
    attention_chunk: TokenCount | None = option(
        None,
        "queries and keys computed at once: the same result in memory that grows with the length alone; all",
        "Rabe and Staats 2021",
    )
    feedforward: FeedForwardName = option(
        "relu",
        "the feed-forward network; the gated ones have three matrices, so 2/3 of the width weighs the same",
        values={
            "relu": "max(0, x W_1 + b_1) W_2 + b_2 (Vaswani et al. 2017, equation 2)",
            "gelu": "the same with x times the normal distribution's P(X <= x) (Hendrycks and Gimpel 2016)",
            "gelu-tanh": "gelu by a formula with tanh (Hendrycks and Gimpel 2016, section 2), GPT-2's",
            "swish": "the same with x sigmoid(x) (Ramachandran et al. 2017)",
            "glu": "gated by a sigmoid: (sigmoid(x W) * x V) W_2, without biases (Dauphin et al. 2017)",
            "reglu": "gated by max(0, x W) (Shazeer 2020, equation 6)",
            "geglu": "gated by GELU(x W) (Shazeer 2020, equation 6)",
            "geglu-tanh": "the same with GELU by its formula with tanh, as in T5 1.1",
            "swiglu": "gated by x W sigmoid(x W) (Shazeer 2020, equation 6)",
            "convolution": "relu as two convolutions of one position, which is the same (Vaswani et al. 2017)",
        },
    )
    feedforward_rank: Width | None = option(
        None,
        "rank of the feed-forward matrices, each then a product of two narrow ones; full",
        "Winata et al. 2020, section 2.1",
    )
    layer_sharing: bool = option(
        False, "all layers of a stack have the same weights", "Lan et al. 2020, section 3.1 (ALBERT)"
    )
    norm: Literal["post", "pre", "branch", "none", "no-residual"] = option(
        "post",
        "place of the layer norm: post is the paper's; the last two are for ablations",
        values={
            "post": "after each sub-layer and its residual (Vaswani et al. 2017, section 3.1)",
            "pre": "before each sub-layer, and once after the stack (Xiong et al. 2020)",
            "branch": "after each sub-layer and before its residual, and once after the stack (Liu et al. 2022)",
            "none": "nowhere: x + Sublayer(x)",
            "no-residual": "after each sub-layer, which has no residual: LayerNorm(Sublayer(x))",
        },
    )
    normalisation: Literal["layer", "rms", "batch"] = option(
        "layer",
        "what a norm divides by: layer is the paper's",
        values={
            "layer": "the standard deviation, after taking the mean away (Ba et al. 2016)",
            "rms": "the root mean square; no mean, no shift (Zhang and Sennrich 2019)",
            "batch": "a feature's standard deviation over the batch, later a running one (Ioffe and Szegedy 2015)",
        },
    )
    norm_epsilon: Annotated[float, Field(gt=0, lt=1)] = option(
        1e-6, "added to what a norm divides by, before its root is taken; many libraries have 1e-5", "Ba et al. 2016"
    )
    positions: Literal[
        "sinusoidal", "split-sinusoidal", "learned", "rotary", "alibi", "relative", "bucketed", "none"
    ] = option(
        "sinusoidal",
        "how the order of the tokens is known: sinusoidal is the paper's",
        values={
            "sinusoidal": "sines and cosines added to the embeddings (Vaswani et al. 2017, section 3.5)",
            "split-sinusoidal": "the same with all sines first, as in the authors' own tensor2tensor, and in Marian",
            "learned": "a table of learnt vectors added to the embeddings (Gehring et al. 2017)",
            "rotary": "queries and keys rotated by angles that grow with the position (Su et al. 2021)",
            "alibi": "scores lowered in proportion to the distance (Press et al. 2022)",
            "relative": "a learnt vector for each distance, added to the keys (Shaw et al. 2018)",
            "bucketed": "a learnt number for each range of distances, added to the scores (Raffel et al. 2020)",
            "none": "nothing; only the decoder's mask tells earlier from later",
        },
    )
    maximum_length: Annotated[int, Field(ge=2, le=LENGTH)] | None = option(
        None,
        f"positions of the learned table: tokens of the longest sentence, with its end symbol; {LONGEST}",
        "Gehring et al. 2017, section 3.1",
    )
    rotary_base: Annotated[float, Field(gt=1, le=BASE)] | None = option(
        None,
        "base of the angles of rotary positions: the greater, the further they tell apart; 10,000",
        "Su et al. 2021, section 3.2.2",
    )
    relative_distance: TokenCount | None = option(
        None,
        f"k: distances from which on relative positions see no difference; {RELATIVE_DISTANCE}",
        "Shaw et al. 2018, section 3.2",
    )
    embedding_width: Width | None = option(
        None,
        "width of the embeddings; where it is not the width, the first residual of each stack is projected",
        "He et al. 2016, equation 2; Lan et al. 2020, section 3.1",
    )
    embedding_scale: bool = option(True, "embeddings are multiplied by the root of their width", f"{PAPER} 3.4")
    embedding_norm: bool = option(
        False, "a norm after embeddings and positions are added up; not in the paper", "Lewis et al. 2020 (BART)"
    )
    output_bias: bool = option(
        False, "a bias for each piece of the target vocabulary, added to the logits; the paper has none", "Marian"
    )
    attention_bias: bool = option(
        False, "biases in the attention's projections; the paper has none", "fairseq, torch.nn.Transformer"
    )
    dropout: DropRate = option(0.1, "P_drop: on sub-layer outputs and on embeddings", f"{PAPER} 5.4")
    attention_dropout: DropRate = option(
        0.0, "on attention weights; not in the paper", "the authors' own tensor2tensor"
    )
    feedforward_dropout: DropRate = option(
        0.0, "on the feed-forward's inner units; not in the paper", "the authors' own tensor2tensor"
    )

    @model_validator(mode="after")
    def _keys_go_together(self) -> "LayerSettings":
        if self.width % self.heads and (self.head_width is None or self.value_width is None):
            fitting = max(count for count in _divisors(self.width) if count <= self.heads)
            raise RuleError(
                f"width {self.width} is not divisible by {self.heads} heads",
                hint=f"take {fitting} heads, a width of {-(-self.width // self.heads) * self.heads}, "
                "or set head_width and value_width",
                code="C035",
            )
        if self.heads % self.key_value_count:
            fitting = ", ".join(map(str, _divisors(self.heads)))
            raise RuleError(
                f"{self.heads} heads cannot share {self.key_value_count} heads of keys and values evenly",
                hint=f"set key_value_heads to one of {fitting}",
                code="C036",
            )
        if self.positions == "rotary" and self.key_width % 2:
            raise RuleError(
                f"rotary positions rotate pairs of numbers, and a head's width of {self.key_width} is odd",
                hint=f"set head_width to {self.key_width + 1}",
                code="C037",
            )
        if self.attention in ("additive", "linear") and self.positions in ("rotary", "relative"):
            raise RuleError(
                f"{self.positions} positions act on the dot products of queries and keys, and "
                f"{self.attention} attention has none",
                hint='set attention = "scaled", or take other positions',
                code="C089",
            )
        if self.feedforward_rank is not None and self.feedforward == "convolution":
            raise RuleError(
                "feedforward_rank is for networks of matrices, and this one has convolutions",
                hint='set feedforward = "relu", which computes the same',
                code="C155",
            )
        self._check_long_attention()
        of_positions = {"maximum_length": "learned", "rotary_base": "rotary", "relative_distance": "relative"}
        for key, positions in of_positions.items():
            if getattr(self, key) is not None and self.positions != positions:
                raise RuleError(
                    f"{key} is for {positions} positions",
                    hint=f'set positions = "{positions}", or leave it out',
                    code="C038",
                )
        return self

    def _check_long_attention(self) -> None:
        if self.attention_pattern == "low-rank" and self.positions != "learned":
            raise RuleError(
                "low-rank attention has weights for each position of the longest text, as learned positions have",
                hint='set positions = "learned", and maximum_length to the tokens of that text',
                code="C153",
            )
        for key, patterns in PATTERN_KEYS.items():
            if getattr(self, key) is not None and self.attention_pattern not in patterns:
                raise RuleError(
                    f"{key} is for the attention patterns {' and '.join(patterns)}",
                    hint=f'set attention_pattern = "{patterns[0]}", or leave it out',
                    code="C150",
                )
        ways = {
            f'attention_pattern = "{self.attention_pattern}"': self.attention_pattern != "full",
            "attention_chunk": self.attention_chunk is not None,
            'attention = "linear"': self.attention == "linear",
        }
        long = [name for name, chosen in ways.items() if chosen]
        if len(long) > 1:
            raise RuleError(
                f"{' and '.join(long)} are different ways to read long texts",
                hint=f"leave out {long[0]}",
                code="C152",
            )
        pairs = {
            f'attention = "{self.attention}"': self.attention in ("relu", "additive"),
            f'positions = "{self.positions}"': self.positions in ALL_PAIRS,
            "attention_dropout": self.attention_dropout > 0 and self.attention_pattern == "full",
        }
        whole = next((name for name, chosen in pairs.items() if chosen), None)
        if long and whole:
            raise RuleError(
                f"{long[0]} is for long texts, and {whole} needs a number for each pair of tokens",
                hint=f"leave out {whole}, or {long[0]}",
                code="C151",
            )

    @property
    def window_side(self) -> int:
        """Tokens of the window on each side, given or by the pattern."""
        return self.attention_window or (self.block_size if self.attention_pattern == "blocks" else WINDOW)

    @property
    def global_count(self) -> int:
        """Global tokens, given or by the pattern."""
        usual = 2 * self.block_size if self.attention_pattern == "blocks" else 1
        return usual if self.global_tokens is None else self.global_tokens

    @property
    def block_size(self) -> int:
        """Tokens of a block, given or 64."""
        return self.attention_block or BLOCK

    @property
    def mixture_count(self) -> int:
        """Mixtures of low-rank attention, given or 256."""
        return self.mixtures or MIXTURES

    @property
    def random_count(self) -> int:
        """Blocks drawn at random, given or 3."""
        return RANDOM_BLOCKS if self.random_blocks is None else self.random_blocks

    @property
    def key_width(self) -> int:
        """d_k, given or width / heads."""
        return self.head_width or self.width // self.heads

    @property
    def value_head_width(self) -> int:
        """d_v, given or width / heads."""
        return self.value_width or self.width // self.heads

    @property
    def key_value_count(self) -> int:
        """Heads of keys and values, given or as many as query heads."""
        return self.key_value_heads or self.heads

    @property
    def stream_start(self) -> int:
        """Width of the embeddings, given or that of the rest."""
        return self.embedding_width or self.width

    @property
    def table_size(self) -> int:
        """Entries of a table of learned positions, given or 1,024."""
        return self.maximum_length or LONGEST


def _divisors(number: int) -> list[int]:
    """The divisors of a number, ascending; of one beyond 10^10 those that are small, and what they leave.

    They are found in the root of its size, since a hint must not cost more than the mistake.
    """
    small = [count for count in range(1, min(isqrt(number), 100_000) + 1) if number % count == 0]
    return sorted({*small, *(number // count for count in small)})
