"""What the paper reports in its tables 2 and 4, as citations: nothing of it was measured here. Data only, no torch."""

from typing import NamedTuple


class System(NamedTuple):
    """A row of table 2: BLEU on newstest2014 and operations of the training, to German and to French; None: blank."""

    name: str
    german: float | None = None
    french: float | None = None
    german_flops: float | None = None
    french_flops: float | None = None


class Parser(NamedTuple):
    """A row of table 4: what it was trained on, and F1 on section 23 of the Wall Street Journal."""

    name: str
    training: str
    f1: float


OTHERS = (
    System("ByteNet", 23.75),
    System("Deep-Att + PosUnk", None, 39.2, None, 1.0e20),
    System("GNMT + RL", 24.6, 39.92, 2.3e19, 1.4e20),
    System("ConvS2S", 25.16, 40.46, 9.6e18, 1.5e20),
    System("MoE", 26.03, 40.56, 2.0e19, 1.2e20),
    System("Deep-Att + PosUnk (ensemble)", None, 40.4, None, 8.0e20),
    System("GNMT + RL (ensemble)", 26.30, 41.16, 1.8e20, 1.1e21),
    System("ConvS2S (ensemble)", 26.36, 41.29, 7.7e19, 1.2e21),
)
# The operations of the Transformers, one figure for both languages, are with their trainings in `models/presets.py`.
TRANSFORMERS = {
    "paper-base": System("Transformer (base)", 27.3, 38.1),
    "paper-big": System("Transformer (big)", 28.4, 41.8),
}

DISCRIMINATIVE, SEMI_SUPERVISED = "WSJ only, discriminative", "semi-supervised"
PARSERS = (
    Parser("Vinyals and Kaiser et al. 2014", DISCRIMINATIVE, 88.3),
    Parser("Petrov et al. 2006", DISCRIMINATIVE, 90.4),
    Parser("Zhu et al. 2013", DISCRIMINATIVE, 90.4),
    Parser("Dyer et al. 2016", DISCRIMINATIVE, 91.7),
    Parser("Transformer (4 layers)", DISCRIMINATIVE, 91.3),
    Parser("Zhu et al. 2013", SEMI_SUPERVISED, 91.3),
    Parser("Huang and Harper 2009", SEMI_SUPERVISED, 91.3),
    Parser("McClosky et al. 2006", SEMI_SUPERVISED, 92.1),
    Parser("Vinyals and Kaiser et al. 2014", SEMI_SUPERVISED, 92.1),
    Parser("Transformer (4 layers)", SEMI_SUPERVISED, 92.7),
    Parser("Luong et al. 2015", "multi-task", 93.0),
    Parser("Dyer et al. 2016", "generative", 93.3),
)
# Section 6.3: the parser's model beside the base model's, and its search.
PARSER_MODEL: dict[str, object] = {"width": 1024, "encoder_layers": 4, "decoder_layers": 4}
PARSER_VOCABULARIES = {DISCRIMINATIVE: 16_000, SEMI_SUPERVISED: 32_000}
PARSER_SEARCH: dict[str, object] = {"beam": 21, "length_penalty": 0.3, "extra_length": 300}
