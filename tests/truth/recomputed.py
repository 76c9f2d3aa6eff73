"""How openwork's functions make the right values of numbers.json again; `stated.py` has those that they do not make.

A pattern is an id, or the beginning of some with a star at the end. Every entry is matched by one pattern.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch

from openwork.cost.cost import cost_of
from openwork.inspection.trace import Trace
from openwork.models.build import build_model
from openwork.models.convolutional_settings import ByteNetSettings, ConvS2SSettings
from openwork.models.families import model_settings
from openwork.models.interfaces import count_weights
from openwork.models.presets import BASE, BIG, PRESETS
from openwork.models.recurrent_settings import RecurrentSettings
from openwork.models.settings import TransformerSettings
from openwork.nn.attention import Heads, MultiHeadAttention
from openwork.nn.embedding import TokenEmbedding
from openwork.nn.kernels import scale_of
from openwork.nn.kernels.reference import attention, attention_scores, softmax_over, weighted_sum
from openwork.nn.masks import EVERYTHING
from openwork.nn.normalisation import EPSILON, layer_norm
from openwork.nn.positions import LearnedPositions, SinusoidalPositions, exact_sinusoids
from openwork.nn.recurrent import cell_layers
from openwork.nn.residual import PostNorm, ProjectedResidual
from openwork.study.documents import EXAMPLES, model_and_training
from openwork.study.documents import attention as attending
from openwork.study.documents import chapter_eight as eight
from openwork.study.documents import chapter_eight_given as given
from openwork.training.schedules import paper_rate
from openwork.training.settings import TrainingSettings


@cache
def trace(name: str) -> Trace:
    return EXAMPLES[name]()


def step(example: str, name: str) -> np.ndarray:
    return trace(example).step(name).value


def tensor(value: Any) -> torch.Tensor:
    return torch.tensor(value, dtype=torch.float64)


def softmax(row: Any, *, allowed: Any = None) -> np.ndarray:
    hidden = None if allowed is None else torch.tensor(allowed)[None, None, None]
    return softmax_over(tensor(row)[None, None, None], hidden)[0, 0, 0].numpy()


def masked_softmax(row: list[Any]) -> np.ndarray:
    """Of a row where "-inf" stands for what is masked."""
    allowed = [score != "-inf" for score in row]
    return softmax([score if score != "-inf" else 0.0 for score in row], allowed=allowed)


def weigh(weights: Any, values: Any) -> np.ndarray:
    return weighted_sum(tensor(weights)[None, None], tensor(values)[None, None])[0, 0].numpy()


def normed(row: Any) -> np.ndarray:
    with torch.no_grad():
        return layer_norm(4).double()(tensor(row)).numpy()


def mean_and_variance(row: Any) -> tuple[float, float]:
    """What the layer norm took away and divided by, read off its result."""
    first, second, *_ = normed(row)
    deviation = (row[0] - row[1]) / (first - second)
    return row[0] - deviation * first, deviation**2 - EPSILON


# Document 002


def serial_steps(tokens_read: int) -> int:
    """Calls of the recurrent decoder's first cell, one after the other, for so many target tokens."""
    model = build_model(RecurrentSettings(width=4), 5, 5).eval()
    calls: list[int] = []
    model.decoder.first.register_forward_hook(lambda *_: calls.append(1))
    model(torch.tensor([[1, 2]]), torch.tensor([2]), torch.ones(1, tokens_read, dtype=torch.long))
    return len(calls)


def weights_of_cells(cell: str, e: "Entry") -> int:
    """Of one layer of our models' cells."""
    return count_weights(cell_layers(cell, e.inputs["d"], e.inputs["h"], 1, 0.0))


def layers_that_join(settings: ConvS2SSettings | ByteNetSettings, distance: int) -> int:
    """The first convolution of a model's decoder whose last output depends on the token so many positions before it.

    The embedding of that token is not a number, and neither is what is computed from it.
    """
    model = build_model(settings, 5, 5).eval()
    joined: list[bool] = []
    for layer in model.decoder.layers:
        layer.convolution.register_forward_hook(lambda _, __, made: joined.append(bool(made[0][0, -1].isnan().any())))
    with torch.no_grad():
        state = model.start(torch.tensor([[1, 2]]), torch.tensor([2]))
        model.target_embedding.table.weight[4] = math.nan
        model.step(torch.tensor([[4, *[3] * distance]]), state)
    return joined.index(True) + 1


def convs2s_layers(width: int, distance: int) -> int:
    return layers_that_join(
        ConvS2SSettings(width=2, kernel=width, encoder_layers=1, decoder_layers=distance + 1), distance
    )


def bytenet_layers(width: int, positions: int) -> int:
    """Each layer sees twice as far as the one below; the first and the last of so many positions are joined."""
    return layers_that_join(
        ByteNetSettings(width=4, kernel=width, encoder_layers=1, decoder_layers=12, cycle=12), positions - 1
    )


def weights_of(preset: str, **changes: object) -> int:
    return cost_of(model_settings({**PRESETS[preset], **changes}), 37_000).weights


def gradient(e: "Entry") -> np.ndarray:
    """dL/dW_Q by autograd through the reference kernel."""
    x, key, value, upstream = (tensor(e.inputs[name]) for name in ("X", "Wk", "Wv", "dHead"))
    query = tensor(e.inputs["Wq"]).requires_grad_()
    q, k, v = ((x @ matrix)[None, None] for matrix in (query, key, value))
    head = attention(q, k, v, EVERYTHING, scale_of(2))
    return torch.autograd.grad((head[0, 0] * upstream).sum(), query)[0].numpy()


def rotation_error(position: int, distance: int, width: int = 512) -> float:
    """PE(pos + k) against PE(pos) turned, pair by pair, by the angles of PE(k)."""
    table = exact_sinusoids(position + distance + 1, width)
    (sine, cosine), (by_sine, by_cosine) = (table[place].unflatten(0, (-1, 2)).T for place in (position, distance))
    turned = torch.stack([sine * by_cosine + cosine * by_sine, cosine * by_cosine - sine * by_sine], -1).flatten()
    return (table[position + distance] - turned).abs().max().item()


# Chapter 8


@cache
def chain(kind: str) -> dict[str, np.ndarray]:
    printed = tensor(given.POSITIONS)
    match kind:
        case "exact":
            return eight.chain(eight.toy_model())
        case "printedpe":
            return eight.chain(eight.toy_model(printed))
        case "step":
            return eight.own_figures(eight.toy_model(printed))
        case "shifted":
            return eight.chain(eight.toy_model(), given.SHIFTED)
        case "scaled":
            return eight.chain(eight.toy_model(scaled_embeddings=True))
    raise KeyError(kind)


# What numbers.json calls the steps -> what the chain calls them.
ENCODER = {
    "input": "source.input", "QKV": "encoder.query", "raw1": "encoder.products", "scaled1": "encoder.scores",
    "alpha1": "encoder.weights", "head1": "encoder.head1", "head2": "encoder.head2", "concat": "encoder.joined",
    "mha": "encoder.attention", "res1": "encoder.sum1", "norm1": "encoder.norm1", "lin1": "encoder.expanded",
    "relu": "encoder.activated", "ffn": "encoder.feedforward", "res2": "encoder.sum2", "enc": "encoder.output",
}  # fmt: skip
DECODER = {
    "input": "target.input", "QKV": "decoder.query", "scaled_head1": "decoder.scores",
    "alpha_head1": "decoder.weights", "alpha_head2": "decoder.weights2", "self": "decoder.attention",
    "norm2": "decoder.norm1", "cross_alpha_head1": "cross.weights", "cross_alpha_head2": "cross.weights2",
    "cross": "cross.attention", "norm3": "decoder.norm2", "ffn": "decoder.feedforward",
    "decoder_output_bare_ffn": "decoder.feedforward", "logits_bare_ffn": "bare.logits",
    "prob_bare_ffn": "bare.probabilities", "argmax_bare_ffn": "bare.prediction",
    "decoder_output_post_ln": "decoder.output", "logits_post_ln": "logits", "prob_post_ln": "probabilities",
    "argmax_post_ln": "prediction",
}  # fmt: skip


def given_matrices(_: Any) -> dict[str, Any]:
    """The matrices as the model holds them."""
    model = eight.toy_model(tensor(given.POSITIONS))
    layer = model.encoder.layers[0]
    attend, network = layer.self_attention, layer.feedforward
    held = {
        "W_e": model.output_weight, "W_q=W_k=W_v": attend.query.weight.T, "W_o": attend.output.weight.T,
        "W_1": network.expand.weight.T, "W_2": network.contract.weight.T,
        "PE_printed": model.source_positions.rows(0, 4),
        "b_1": network.expand.bias.abs().max(), "b_2": network.contract.bias.abs().max(),
        "gamma": layer.attention_wiring.norm.weight.mean(), "beta": layer.attention_wiring.norm.bias.abs().max(),
    }  # fmt: skip
    numbers = {name: value.detach().numpy() for name, value in held.items()}
    ids = {"src_ids": given.SOURCE, "tgt_ids": given.TARGET}
    sizes = {"h": attend.heads.count, "d_k": attend.heads.width, "eps": layer.attention_wiring.norm.eps}
    return numbers | ids | sizes


def row_of(e: "Entry") -> np.ndarray:
    """One row of a step, from the document's own row before it."""
    layer = eight.toy_model().encoder.layers[0]
    family = e.id.split(".")[2]
    with torch.no_grad():
        match family:
            case "alpha1":
                return softmax(e.inputs["scaled"])
            case "head1":
                heads = layer.self_attention.split(tensor([given.ENCODER["encoder.query"].figures]), 2)
                return weigh([e.inputs["alpha"]], heads[0, 0].tolist())[0]
            case "norm1" | "enc":
                return normed(e.inputs["y"])
            case "ffn":
                return layer.feedforward.contract(tensor(e.inputs["relu"])).numpy()
    raise KeyError(e.id)


def dimensions(_: Any) -> list[list[int]]:
    """Of document 002's table in section 8.4: embedding, encoder, self-attention of the decoder, cross, output."""
    made = chain("exact")
    four = [
        list(made[name].shape) for name in ("source.input", "encoder.output", "decoder.attention", "cross.attention")
    ]
    return [*four, list(made["logits"].shape)]


class Entry(NamedTuple):
    """An entry of numbers.json."""

    id: str
    section: str
    printed: Any
    right: Any
    tolerance: float
    verdict: str
    inputs: Any = None


RECOMPUTED: dict[str, Callable[[Entry], Any]] = {
    "000.attn.scores": lambda e: step("000-1.1.7", "scores"),
    "000.attn.softmax.row*": lambda e: softmax(e.inputs["row"]),
    "000.attn.output.row*": lambda e: weigh([e.inputs["A"]], e.inputs["V"])[0],
    "000.attn.output.own_weights": lambda e: weigh(e.inputs["A_seed"], e.inputs["V"]),
    "000.attn.scaled": lambda e: {
        "A": step("000-1.1.7", "scaled.weights"), "Z": step("000-1.1.7", "scaled.output"),
    },
    "000.mha.wo_shape": lambda e: step("000-shapes", "output"),
    "000.pe.pos0": lambda e: exact_sinusoids(1, 8)[0, :4],
    "000.pe.pos1.first": lambda e: exact_sinusoids(2, 8)[1, :2],
    "000.pe.pos1.third": lambda e: exact_sinusoids(2, 8)[1, 2:4],
    "000.pe.full": lambda e: exact_sinusoids(4, 8),
    "000.pe.sum": lambda e: SinusoidalPositions(4)(tensor([[e.inputs["x"]]]))[0, 0],
    "000.ffn.shapes": lambda e: step("000-shapes", "feedforward"),
    "001.dk": lambda e: TransformerSettings().key_width,
    "001.embed.scale": lambda e: TokenEmbedding(1, 512).scale,
    "001.out.shape": lambda e: model_and_training.output_shape(),
    "001.params.code": lambda e: model_and_training.weights_of_the_code()["all"],
    "001.params.unused": lambda e: model_and_training.weights_of_the_code()["unused"],
    "001.xavier.bound": lambda e: model_and_training.glorot_bound(512),
    "001.layernorm.std": lambda e: normed(e.inputs["x"]),
    "002.rnn.decay": lambda e: model_and_training.slope(100, 0.9, residual=False),
    "002.rnn.serial": lambda e: serial_steps(512) / serial_steps(1),
    "002.lstm.params": lambda e: weights_of_cells("lstm", e) / weights_of_cells("rnn", e),
    "002.gru.params": lambda e: weights_of_cells("gru", e) / weights_of_cells("lstm", e),
    "002.convs2s.layers": lambda e: [convs2s_layers(width, e.inputs["distance"]) for width in e.inputs["w"]],
    "002.bytenet.layers": lambda e: bytenet_layers(e.inputs["k"], e.inputs["T"]),
    "002.attn.weights_sum": lambda e: softmax(np.log(e.inputs)).sum(),
    "002.var.dot.64": lambda e: attending.score_variance(64, 1.0),
    "002.var.dot.512": lambda e: attending.score_variance(512, 1.0),
    "002.var.scaled": lambda e: attending.score_variance(512, scale_of(512)),
    "002.var.range": lambda e: math.erfc(100 / math.sqrt(2 * attending.score_variance(e.inputs["d_k"], 1.0))),
    "002.var.range2": lambda e: math.erf(2 / math.sqrt(2 * attending.score_variance(512, scale_of(512)))),
    "002.exp100": lambda e: attending.odds(100.0),
    "002.expm100": lambda e: attending.odds(-100.0),
    "002.proj.params": lambda e: ProjectedResidual(PostNorm(512, 0.0), 256, 512).projection.weight.numel(),
    "002.params.1024over512": lambda e: weights_of("paper-big") / weights_of("paper-base"),
    "002.params.base": lambda e: weights_of("paper-base"),
    "002.params.big": lambda e: weights_of("paper-big"),
    "002.mha.concat": lambda e: MultiHeadAttention(512, Heads(8, 64, 64)).output.in_features,
    "002.grad.WQ": gradient,
    "002.mask.matrix": lambda e: attending.mask_as_numbers(4),
    "002.mask.softmax.row*": lambda e: attending.masked_weights(tensor(attending.MASKABLE))[int(e.id[-1]) - 1],
    "002.pe.rotation": lambda e: rotation_error(e.inputs["pos"], e.inputs["k"]),
    "002.pe.learned_params": lambda e: count_weights(LearnedPositions(512, 512)),
    "002.res.decay": lambda e: model_and_training.slope(100, 0.9, residual=False),
    "002.res.factors": lambda e: [model_and_training.slope(1, factor, residual=True) for factor in (0.1, -0.1, 0.0)],
    "002.res.compound": lambda e: [model_and_training.slope(100, factor, residual=True) for factor in (0.1, -0.1)],
    "002.batch": lambda e: [model_and_training.sentences_a_batch(length) for length in (10, 500)],
    "002.adam": lambda e: (lambda s: [s.beta1, s.beta2, s.epsilon])(TrainingSettings()),
    "002.lr.scale": lambda e: step("002-7.2", "factors")[0],
    "002.lr.sqrt4000": lambda e: step("002-7.2", "factors")[1],
    "002.lr.peak": lambda e: step("002-7.2", "peak"),
    "002.lr.decay": lambda e: step("002-7.2", "falls"),
    "002.lr.table": lambda e: [
        paper_rate(s, e.inputs["d_model"], e.inputs["warmup"]) for s in (1, 100, 4000, 10**4, 10**5, 300_000)
    ],
    "002.dropout": lambda e: [model_settings(PRESETS[name]).dropout for name in (BASE, BIG)],
    "002.ls.other": lambda e: model_and_training.smoothed_target(0.1, 37_000)[1],
    "002.ls.true": lambda e: model_and_training.smoothed_target(0.1, 37_000)[0],
    "002.ls.count": lambda e: (model_and_training.smoothed_target(0.1, 37_000) < 0.5).sum(),
    "002.ch8.pe.unrounded.pos*": lambda e: exact_sinusoids(4, 4)[int(e.id[-1])],
    "002.ch8.pe.sin003": lambda e: exact_sinusoids(4, 4)[3, 2],
    "002.ch8.pe.shortened": lambda e: exact_sinusoids(4, 4)[1:, 2],
    "002.ch8.pe.table": lambda e: chain("exact")["positions"],
    "002.ch8.given": given_matrices,
    "002.ch8.emb.src": lambda e: chain("exact")["source.embedding"],
    "002.ch8.emb.tgt": lambda e: chain("exact")["target.embedding"],
    "002.ch8.step.*": lambda e: chain("step")[ENCODER[e.id.rpartition(".")[2]]],
    "002.ch8.exact.*": lambda e: chain("exact")[ENCODER[e.id.rpartition(".")[2]]],
    "002.ch8.printedpe.*": lambda e: chain("printedpe")[ENCODER[e.id.rpartition(".")[2]]],
    "002.ch8.alpha1.row*": row_of,
    "002.ch8.head1.row*": row_of,
    "002.ch8.norm1.row*": row_of,
    "002.ch8.ffn.row*": row_of,
    "002.ch8.enc.row*": row_of,
    "002.ch8.exp": lambda e: (lambda found: [*found, sum(found)])([attending.odds(s) for s in (5.61, 4.035, 3.825)]),
    "002.ch8.norm1.mean": lambda e: mean_and_variance(e.inputs["y"])[0],
    "002.ch8.norm1.var": lambda e: mean_and_variance(e.inputs["y"])[1],
    "002.ch8.norm1.std_slip": lambda e: normed(e.inputs["y"]),
    "002.ch8.tgt.input.given": lambda e: chain("printedpe")["target.input"],
    "002.ch8.tgt.input.exact": lambda e: chain("exact")["target.input"],
    "002.ch8.dec.mask_softmax.row*": lambda e: masked_softmax(e.inputs["scores"]),
    "002.ch8.dec.cross_rows": lambda e: chain("exact")["cross.weights"].sum(-1),
    "002.ch8.dec.prob_rows": lambda e: chain("exact")["probabilities"].sum(-1),
    "002.ch8.dec.exact.*": lambda e: chain("exact")[DECODER[e.id.rpartition(".")[2]]],
    "002.ch8.dec.scores": lambda e: np.tril(chain("exact")["decoder.scores"]),
    "002.ch8.dec.argmax.post_ln": lambda e: chain("exact")["prediction"],
    "002.ch8.dec.argmax.bare_ffn": lambda e: chain("exact")["bare.prediction"],
    "002.ch8.dec.shifted.*": lambda e: chain("shifted")[DECODER[e.id.rpartition(".")[2]]],
    "002.ch8.scaled_embedding.enc": lambda e: chain("scaled")["encoder.output"],
    "002.ch8.dec.reachable": lambda e: step("002-8", "bound"),
    "002.ch8.dims": dimensions,
    "004.db.exact": lambda e: attending.mean_age("张三"),
    "004.db.prefix": lambda e: attending.mean_age("张"),
    "004.db.dots": lambda e: attention_scores(tensor([[[e.inputs["q"]]]]), tensor([[e.inputs["K"]]]), 1.0)[0, 0, 0],
    "004.db.softmax": lambda e: softmax(e.inputs),
    "004.db.output": lambda e: step("004-database", "age")[0],
    "004.db.output.scaled": lambda e: {
        "weights": step("004-database", "scaled.weights"), "output": step("004-database", "scaled.age")[0],
    },
    "004.db.output.sumnorm": lambda e: step("004-database", "masked.age")[0],
    "004.db.output.sharp": lambda e: [
        attending.ask(1.0, tuple(by * x for x in attending.QUERY))[2].item() for by in (1, 5, 10, 50)
    ],
}  # fmt: skip
