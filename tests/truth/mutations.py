"""Changes of production code, each with figures of the documents that must not survive it.

`python -m truth.mutations` in the folder `tests` prints docs/mutations.md: which figures fail after which change. It
does so without what checks shapes in the other tests, which would refuse some changes before any figure is wrong.
"""

import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import NamedTuple

from decoding.test_scoring import test_forbidden_symbols_have_no_share, test_length_penalty_by_hand
from metrics.test_translation import test_a_short_corpus_pays_the_brevity_penalty, test_bleu_by_hand
from nn.test_attention import test_each_head_is_the_formula
from openwork.cost import transformer as cost_transformer
from openwork.data import batching
from openwork.decoding import scoring
from openwork.metrics import translation
from openwork.models import interfaces
from openwork.models.layer_settings import LayerSettings
from openwork.models.presets import PRESETS
from openwork.nn import (
    convolution,
    embedding,
    kernels,
    masks,
    normalisation,
    positions,
    recurrent,
    recurrent_decoders,
    residual,
)
from openwork.nn.attention import MultiHeadAttention
from openwork.nn.embedding import TokenEmbedding
from openwork.nn.feedforward import FeedForward
from openwork.nn.kernels import reference
from openwork.text.external import reading as external_reading
from openwork.text.external.library import HuggingFaceTokenizer
from openwork.text.pieces.wordpiece import Matching
from openwork.training import loss, schedules
from openwork.training.settings import TrainingSettings
from training.test_loss import test_by_hand as test_smoothing_by_hand
from truth import recomputed
from truth.changing import Change, Default, Expression, Item
from truth.recomputed import RECOMPUTED
from truth.stated import ARITHMETIC, CITATIONS, FROM_BERTS_VOCABULARY
from truth.test_numbers import BY_ID, ENTRIES, disagreement
from truth.test_wordpieces import (
    test_texts_are_cut_as_the_description_says,
    test_the_steps_that_are_shown_lead_to_the_same_pieces,
)

# Nothing is computed for a citation; BERT's vocabulary is not on every machine.
NOT_TRIED = {*CITATIONS, *FROM_BERTS_VOCABULARY}
PAGE = Path(__file__).resolve().parents[2] / "docs" / "mutations.md"


class Mutation(NamedTuple):
    """A change in words; the change; ids of figures that depend on what was changed, by the formulas."""

    words: str
    change: Change
    must: tuple[str, ...]


MUTATIONS = (
    Mutation("attention without 1 / sqrt(d_k)",
        Expression(reference.attention_scores, " * scale", ""),
        ("000.attn.scaled", "002.var.scaled", "002.grad.WQ", "002.ch8.exact.scaled1", "004.db.output.scaled")),
    Mutation("scores divided by d_k and not by its root",
        Expression(kernels.scale_of, "**-0.5", "**-1"),
        ("000.attn.scaled", "002.var.scaled", "002.ch8.exact.alpha1", "002.ch8.step.scaled1")),
    Mutation("distances as scores, in place of products",
        Expression(reference.attention_scores, "query @ key.transpose(-2, -1)",
            "-((query[..., None, :] - key[..., None, :, :]) ** 2).sum(-1)"),
        ("000.attn.scores", "004.db.dots", "002.var.dot.64", "002.var.dot.512", "002.ch8.exact.raw1")),
    Mutation("a softmax over the queries",
        Expression(reference.softmax_over, "return scores.softmax(dim=-1)", "return scores.softmax(dim=-2)"),
        ("000.attn.softmax.row1", "002.attn.weights_sum", "002.exp100", "002.ch8.alpha1.row1", "004.db.softmax")),
    Mutation("a softmax over the queries, where there is a mask",
        Expression(reference.softmax_over, "allowed).softmax(dim=-1)", "allowed).softmax(dim=-2)"),
        ("002.mask.softmax.row2", "002.ch8.dec.mask_softmax.row2", "002.ch8.dec.exact.alpha_head1",
            "004.db.output.sumnorm")),
    Mutation("masked scores are 0 and not minus infinity",
        Expression(reference.masked_scores, "else fill)", "else 0.0)"),
        ("002.mask.matrix", "002.mask.softmax.row1", "002.ch8.dec.exact.alpha_head1", "004.db.exact", "004.db.prefix")),
    Mutation("a causal mask that hides the position itself",
        Expression(masks.causal, "keys <= queries", "keys < queries"),
        ("002.mask.matrix", "002.mask.softmax.row4", "002.ch8.dec.exact.self")),
    Mutation("a causal mask that shows one position more",
        Expression(masks.causal, "keys <= queries", "keys <= queries + 1"),
        ("002.mask.matrix", "002.mask.softmax.row1", "002.ch8.dec.exact.self")),
    Mutation("values in the wrong order",
        Expression(reference.weighted_sum, "weights @ value", "weights @ value.flip(-2)"),
        ("000.attn.output.row2", "002.grad.WQ", "002.ch8.head1.row1", "004.db.output")),
    Mutation("values added up, whatever their weights",
        Expression(reference.weighted_sum, "weights @ value", "weights.sign() @ value"),
        ("000.attn.output.row1", "002.ch8.head1.row1", "004.db.exact")),
    Mutation("heads cut across positions",
        Expression(MultiHeadAttention.split, "x.unflatten(-1, (-1, each)).transpose(1, 2)",
            "x.reshape(len(x), -1, x.shape[1], each)"),
        ("002.ch8.exact.head1", "002.ch8.step.raw1", "002.ch8.exact.alpha1")),
    Mutation("heads joined across positions",
        Expression(MultiHeadAttention.join, "heads.transpose(1, 2).flatten(-2)",
            "heads.reshape(len(heads), heads.shape[2], -1)"),
        ("002.ch8.exact.concat", "002.ch8.exact.mha")),
    Mutation("W^O for heads that are not side by side",
        Expression(MultiHeadAttention.__init__, "heads.count * heads.value_width, output", "heads.value_width, output"),
        ("000.mha.wo_shape", "002.mha.concat")),
    Mutation("d_k half as wide",
        Expression(vars(LayerSettings)["key_width"].fget, "// self.heads", "// self.heads // 2"),
        ("001.dk",)),
    Mutation("sinusoids to the base 100",
        Expression(positions.exact_sinusoids, "-math.log(base) / width", "-math.log(base) / 2 / width"),
        ("000.pe.pos1.third", "000.pe.full", "002.ch8.pe.unrounded.pos1", "002.ch8.pe.sin003", "002.ch8.pe.shortened")),
    Mutation("sines and cosines change places",
        Expression(positions.exact_sinusoids, "table[:, 0::2] = angle.sin()\n    table[:, 1::2] = angle.cos()",
            "table[:, 0::2] = angle.cos()\n    table[:, 1::2] = angle.sin()"),
        ("000.pe.pos0", "000.pe.pos1.first", "002.ch8.pe.table")),
    Mutation("positions counted from 1",
        Expression(positions.exact_sinusoids, "torch.arange(positions, dtype=torch.float64)",
            "torch.arange(1, positions + 1, dtype=torch.float64)"),
        ("000.pe.pos0", "002.ch8.tgt.input.exact", "002.pe.rotation")),
    Mutation("positions multiplied and not added",
        Expression(positions.SinusoidalPositions.at, "x + self.rows", "x * self.rows"),
        ("000.pe.sum", "002.ch8.exact.input", "002.ch8.tgt.input.given", "002.ch8.step.input")),
    Mutation("one learnt position too many",
        Expression(positions.LearnedPositions.__init__, "nn.Embedding(size, width)", "nn.Embedding(size + 1, width)"),
        ("002.pe.learned_params",)),
    Mutation("a layer norm with a larger epsilon",
        Expression(normalisation.layer_norm, "eps=epsilon", "eps=epsilon * 1000"),
        ("002.ch8.given", "002.ch8.exact.norm1", "002.ch8.norm1.row1", "002.ch8.norm1.var")),
    Mutation("a layer norm that divides the squares by N - 1",
        Expression(normalisation.layer_norm, "return nn.LayerNorm(width, eps=epsilon)",
            "norm = nn.LayerNorm(width, eps=epsilon)\n"
            "    norm.register_forward_hook(lambda _, __, y: y * (1 - 1 / width) ** 0.5)\n    return norm"),
        ("001.layernorm.std", "002.ch8.norm1.row1", "002.ch8.norm1.std_slip", "002.ch8.enc.row1")),
    Mutation("a layer norm that leaves the mean",
        Expression(normalisation.layer_norm, "nn.LayerNorm(width, eps=epsilon)", "RMSNorm(width)"),
        ("001.layernorm.std", "002.ch8.norm1.mean", "002.ch8.exact.enc", "002.ch8.dec.reachable")),
    Mutation("another activation in the feed-forward network",
        Expression(FeedForward.__init__, "activation()", "nn.GELU()"),
        ("002.ch8.exact.relu", "002.ch8.exact.ffn", "002.ch8.step.relu")),
    Mutation("a feed-forward network twice as wide inside",
        Expression(FeedForward.__init__, "super().__init__()", "super().__init__()\n    inner = 2 * inner"),
        ("000.ffn.shapes", "001.params.code")),
    Mutation("a feed-forward network that leaves out its first layer",
        Expression(FeedForward.forward, "self.activation(self.expand(x))",
            "self.activation(x.repeat_interleave(self.expand.out_features // x.shape[-1], -1))"),
        ("002.rnn.decay", "002.res.decay", "002.res.compound")),
    Mutation("residuals left out",
        Expression(residual.ResidualSum.forward, "x + self", "self"),
        ("002.res.factors", "002.res.compound", "002.ch8.exact.res1", "002.ch8.step.res2")),
    Mutation("the norm before the residual sum",
        Expression(residual.PostNorm.after, "self.norm(self.residual(x, sublayer_output))",
            "self.residual(x, self.norm(sublayer_output))"),
        ("002.ch8.exact.norm1", "002.ch8.exact.enc", "002.ch8.dec.argmax.post_ln")),
    Mutation("a residual's projection of another width",
        Expression(residual.ProjectedResidual.__init__, "nn.Linear(before, after, bias=False)",
            "nn.Linear(after, after, bias=False)"),
        ("002.proj.params",)),
    Mutation("embeddings divided by sqrt(d_model)",
        Expression(TokenEmbedding.__init__, "width**0.5", "width**-0.5"),
        ("001.embed.scale", "002.ch8.scaled_embedding.enc")),
    Mutation("embeddings with their scale added",
        Expression(TokenEmbedding.forward, "* self.scale", "+ self.scale"),
        ("002.ch8.emb.src", "002.ch8.emb.tgt", "002.ch8.dec.exact.input")),
    Mutation("matrices drawn with half the variance",
        Expression(embedding.initialise, "nn.init.xavier_uniform_(module.weight)",
            "nn.init.xavier_uniform_(module.weight, 0.5**0.5)"),
        ("001.xavier.bound",)),
    Mutation("a recurrent decoder that takes every other token",
        Expression(recurrent_decoders.RecurrentDecoder._attend, "x.unbind(1)", "x[:, ::2].unbind(1)"),
        ("002.rnn.serial",)),
    Mutation("weights counted tensor by tensor",
        Expression(interfaces.count_weights, "parameter.numel()", "len(parameter)"),
        ("001.params.code", "001.params.unused", "002.pe.learned_params")),
    Mutation("the weights of attention forgotten in a cost",
        Expression(cost_transformer.attention_part, "weights=width * query +", "weights="),
        ("002.params.base", "002.params.big", "002.params.1024over512")),
    Mutation("logits with the opposite sign",
        Expression(interfaces.SequenceModel.project, "self.output_weight", "-self.output_weight"),
        ("002.ch8.dec.exact.logits_post_ln", "002.ch8.dec.argmax.post_ln", "002.ch8.dec.argmax.bare_ffn")),
    Mutation("a position's logits lost",
        Expression(interfaces.SequenceModel.project, "linear(hidden,", "linear(hidden[..., 1:, :],"),
        ("001.out.shape", "001.example.logprobs", "002.ch8.dims")),
    Mutation("probabilities that add up to 1 over all positions",
        Expression(scoring._logarithm_of_sum, "logits.log_softmax(-1)", "logits.log_softmax(-2)"),
        ("002.ch8.dec.exact.prob_post_ln", "002.ch8.dec.prob_rows")),
    Mutation("the least probable token is chosen",
        Expression(scoring.most_probable_tokens, "scores.max(-1)", "scores.min(-1)"),
        ("002.ch8.dec.argmax.post_ln", "002.ch8.dec.shifted.argmax_post_ln")),
    Mutation("a rate that takes the larger branch",
        Expression(schedules.paper_rate, "* min(step**", "* max(step**"),
        ("002.lr.table",)),
    Mutation("a rate with the root of the width",
        Expression(schedules.paper_rate, "width**-0.5", "width**0.5"),
        ("002.lr.scale", "002.lr.peak", "002.lr.table")),
    Mutation("a rate that falls with the step itself",
        Expression(schedules.paper_rate, "step**-0.5", "step**-1"),
        ("002.lr.sqrt4000", "002.lr.decay", "002.lr.peak", "002.lr.table")),
    Mutation("smoothing shared with the right token",
        Expression(loss.even_share, "smoothing * vocabulary / (vocabulary - 1)", "smoothing"),
        ("002.ls.true", "002.ls.other")),
    Mutation("a loss that forgets the right token",
        Expression(loss.chunk_cross_entropy, "hard * (share - 1), dtype", "hard * share, dtype"),
        ("002.ls.true", "002.ls.count")),
    Mutation("batches of half the budget",
        Expression(batching._cut, "budget // int(lengths[start])", "budget // 2 // int(lengths[start])"),
        ("002.batch",)),
    Mutation("Adam's usual beta_2", Default(TrainingSettings, "beta2", 0.999), ("002.adam",)),
    Mutation("the base model's dropout for the big one",
        Item("openwork.models.presets.PRESETS", PRESETS["paper-big"], "dropout", 0.1),
        ("002.dropout",)),
    Mutation("GRUs and simple cells made as LSTMs",
        Expression(recurrent.cell_layers, "CELLS[cell]", 'CELLS["lstm"]'),
        ("002.lstm.params", "002.gru.params")),
    Mutation("a causal convolution that begins one position late",
        Expression(convolution.CausalConvolution.forward, "first - self.span", "first - self.span + 1"),
        ("002.convs2s.layers", "002.bytenet.layers")),
    Mutation("dilations that do not grow",
        Expression(convolution.dilations, "2 ** (layer % cycle)", "1"),
        ("002.bytenet.layers",)),
)  # fmt: skip

# No figure of the documents depends on these; a test that is worked by hand does.
ELSEWHERE: tuple[tuple[str, Change, Callable[[], None]], ...] = (
    ("another length penalty",
        Expression(scoring.length_penalty, "/ 6) **", "/ 7) **"), test_length_penalty_by_hand),
    ("a length penalty that does not know alpha",
        Expression(scoring.length_penalty, "** alpha", "** 1.0"), test_length_penalty_by_hand),
    ("heads interleaved when they are cut: those of chapter 8 are the same both ways",
        Expression(MultiHeadAttention.split, "x.unflatten(-1, (-1, each)).transpose(1, 2)",
            "x.unflatten(-1, (each, -1)).movedim(-1, 1)"),
        test_each_head_is_the_formula),
    ("symbols that may come", Expression(scoring.allow, "logits + forbidding(", "logits if True else ("),
        test_forbidden_symbols_have_no_share),
    ("BLEU of pairs at most", Expression(translation.bleu_metric, "force=True", "force=True, max_ngram_order=2"),
        test_bleu_by_hand),
    ("BLEU of references against translations",
        Expression(translation._score, "corpus_score(list(hypotheses), [list(references)]",
            "corpus_score(list(references), [list(hypotheses)]"),
        test_a_short_corpus_pays_the_brevity_penalty),
    ("a smoothed loss that forgets the right token",
        Expression(loss.smoothed_cross_entropy, "(1 - share) * likelihood", "0 * likelihood"), test_smoothing_by_hand),
    ("a tokenizer of BERT's that leaves out the comma",
        Expression(HuggingFaceTokenizer.encode_framed, "encode_batch([text])",
            "encode_batch([text.replace(',', '')])"),
        test_texts_are_cut_as_the_description_says),
    ("a tokenizer of BERT's without [CLS] and [SEP] around a text",
        Expression(HuggingFaceTokenizer.encode_framed, "encode_batch([text])",
            "encode_batch([text], add_special_tokens=False)"),
        test_texts_are_cut_as_the_description_says),
    ("a tokenizer of BERT's that leaves capital letters",
        Expression(external_reading.bert_library, "lowercase=lower_case", "lowercase=False"),
        test_texts_are_cut_as_the_description_says),
    ("a vocabulary that is read without its last pieces",
        Expression(external_reading.read_bert, "list(read_bounded_lines(path))", "list(read_bounded_lines(path))[:-9]"),
        test_texts_are_cut_as_the_description_says),
    ("the shortest match first",
        Expression(Matching.work, "range(min(len(word), begin + self._longest_piece), begin, -1)",
            "range(begin + 1, min(len(word), begin + self._longest_piece) + 1)"),
        test_the_steps_that_are_shown_lead_to_the_same_pieces),
)  # fmt: skip


@cache
def failing(mutation: Mutation) -> frozenset[str]:
    """The ids of the figures that are not what they should be while the change is there."""
    recomputed.trace.cache_clear()
    recomputed.chain.cache_clear()
    try:
        with mutation.change.made():
            return frozenset(entry.id for entry in ENTRIES if entry.id not in NOT_TRIED and disagreement(entry))
    finally:
        recomputed.trace.cache_clear()
        recomputed.chain.cache_clear()


def untouched() -> list[str]:
    """The figures that survive every change, in the order of numbers.json."""
    touched = frozenset().union(*map(failing, MUTATIONS))
    return [identifier for identifier in BY_ID if identifier not in touched]


def families(identifiers: Iterable[str]) -> list[str]:
    """Ids in the order of numbers.json; where all that one function makes are among them, its pattern alone."""
    wanted = set(identifiers)
    found: dict[str, None] = {}
    for identifier in BY_ID:
        if identifier in wanted:
            pattern = next(p for p in (*RECOMPUTED, identifier) if fnmatchcase(identifier, p))
            whole = {other for other in BY_ID if fnmatchcase(other, pattern)} <= wanted
            found[pattern if whole else identifier] = None
    return list(found)


def lines() -> Iterator[str]:
    """docs/mutations.md."""
    yield from HEAD
    for mutation in MUTATIONS:
        fail = failing(mutation)
        names = ", ".join(f"`{name}`" for name in families(fail))
        yield from _section(mutation.words, mutation.change)
        yield from textwrap.wrap(f"Failing, {len(fail)} of {len(ENTRIES)}: {names}.", 120, break_on_hyphens=False)
    yield from ("", "# Changes that no figure depends on, and the test that they break")
    for words, change, test in ELSEWHERE:
        yield from _section(words, change)
        yield f"Failing: `tests/{test.__module__.replace('.', '/')}.py::{test.__name__}`."
    yield from (
        "",
        "# Figures that no change touches",
        "",
        "They are citations, arithmetic on given figures, or made from a file that not every machine has.",
        "",
    )
    for identifier in untouched():
        yield f"- `{identifier}`: {_reason(identifier)}"


def _reason(identifier: str) -> str:
    if identifier in CITATIONS:
        return f"stated by {CITATIONS[identifier].source}"
    return "made from BERT's vocabulary, where it is installed" if identifier in FROM_BERTS_VOCABULARY else "arithmetic"


HEAD = """\
# What fails when openwork's code is changed

The documents' figures in `tests/truth/numbers.json` are made again by openwork's functions: so a change of a function
must make some of them fail, and what no change touches is not made by openwork. A name with a star is all figures that
begin so. Where a model can no longer be built, all that is made with it fails at once.

Printed by `python -m truth.mutations` in the folder `tests`. `tests/truth/test_mutations.py` makes the changes one by
one and holds this page to what fails.""".splitlines()


def _section(words: str, change: Change) -> Iterator[str]:
    yield from ("", f"## {words[0].upper()}{words[1:]}", "", f"In `{change.place}`, {change.words}.", "")


def main() -> None:
    """Prints the page; fails where a figure that must fail does not, or where one that we make survives everything."""
    print("\n".join(lines()))
    survived = {one.words: lost for one in MUTATIONS if (lost := set(one.must) - failing(one))}
    unexplained = set(untouched()) ^ (set(ARITHMETIC) | NOT_TRIED)
    if survived or unexplained:
        sys.exit(f"{survived or ''} {unexplained or ''}")


if __name__ == "__main__":
    main()
