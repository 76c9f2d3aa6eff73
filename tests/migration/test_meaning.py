"""What single options come to, held against the toolkits' own formulas where a number is at stake."""

from math import cos, pi, sqrt
from pathlib import Path
from typing import Any

import pytest

from migration.translated import note, translate, value, verdict
from openwork.migration.draft import Draft, Verdict
from openwork.migration.rules import choose_value, copy_key
from openwork.migration.translation import TOOLKITS
from openwork.training.schedules import make_schedule

pytestmark = pytest.mark.slow

FAIRSEQ = "fairseq-train data-bin -s de -t en --arch transformer --lr 0.0005 --max-update 1000 --max-tokens 4000 "
MARIAN = "marian --type transformer -t a.en a.de --enc-depth 6 --after 1000u --transformer-ffn-activation relu "
SOCKEYE = "sockeye-train -s a.en -t a.de -vs b.en -vt b.de -o out --max-updates 1000 "
ONMT = "onmt_train -encoder_type transformer -decoder_type transformer -layers 6 -hidden_size 512 -optim adam "

SHELL_CASES: list[tuple[str, dict[str, Any]]] = [
    (FAIRSEQ + "--optimizer adam --weight-decay 0.01", {"training.optimiser": "adamw", "training.weight_decay": 0.01}),
    (FAIRSEQ + "--optimizer adam --weight-decay 0.0", {"training.optimiser": "adam"}),
    (FAIRSEQ + "--optimizer nag --momentum 0.9", {"training.optimiser": "sgd", "training.momentum": 0.9}),
    (FAIRSEQ + "--optimizer adafactor", {"training.optimiser": "adafactor"}),
    (FAIRSEQ + "--adam-betas '(0.8, 0.99)'", {"training.beta1": 0.8, "training.beta2": 0.99}),
    (
        FAIRSEQ,
        {"training.beta2": 0.999, "training.clip_norm": 0.0, "training.metric": "loss", "training.epsilon": 1e-8},
    ),
    (FAIRSEQ + "--criterion cross_entropy", {"training.label_smoothing": 0.0}),
    (
        FAIRSEQ + "--criterion label_smoothed_cross_entropy --label-smoothing 0.2",
        {"training.label_smoothing": 0.2, "training.smoothing_form": "others"},
    ),
    (FAIRSEQ + "--criterion label_smoothed_cross_entropy_with_rdrop --rdrop-alpha 3", {"training.r_drop": 3.0}),
    (
        FAIRSEQ + "--encoder-learned-pos --decoder-learned-pos --max-source-positions 300 --max-target-positions 200",
        {"model.positions": "learned", "model.maximum_length": 300},
    ),
    (FAIRSEQ + "--no-token-positional-embeddings", {"model.positions": "none"}),
    (FAIRSEQ + "--share-all-embeddings", {"model.tying": "three-way", "text.shared": True}),
    (FAIRSEQ, {"model.tying": "none", "text.shared": False, "model.attention_bias": True}),
    (FAIRSEQ + "--encoder-normalize-before --decoder-normalize-before", {"model.norm": "pre"}),
    (FAIRSEQ + "--update-freq 8,4", {"training.accumulate": 4}),
    (FAIRSEQ + "--store-ema --ema-decay 0.999", {"training.ema": 0.999}),
    (FAIRSEQ + "--bf16", {"training.precision": "bfloat16"}),
    (
        FAIRSEQ.replace("transformer", "transformer_wmt_en_de_big_t2t"),
        {
            "model.width": 1024,
            "model.heads": 16,
            "model.dropout": 0.3,
            "model.norm": "pre",
            "model.feedforward_dropout": 0.1,
        },
    ),
    (
        FAIRSEQ.replace("transformer", "transformer_tiny") + "--encoder-layers 3",
        {"model.width": 64, "model.encoder_layers": 3, "model.decoder_layers": 2},
    ),
    (
        FAIRSEQ
        + "--lr-scheduler polynomial_decay --warmup-updates 100 --end-learning-rate 1e-5 --total-num-update 1000",
        {"training.schedule": "linear", "training.lowest_rate": 1e-5, "training.warmup": 100},
    ),
    (FAIRSEQ + "--lr-scheduler cosine --min-lr 1e-6", {"training.schedule": "cosine", "training.lowest_rate": 1e-6}),
    (
        FAIRSEQ + "; fairseq-generate data-bin --sampling --sampling-topk 5 --temperature 0.7 --nbest 3 --beam 3",
        {"decoding.samples": 3, "decoding.top_k": 5, "decoding.temperature": 0.7, "decoding.best": 3},
    ),
    (
        FAIRSEQ + "; fairseq-generate x --diverse-beam-groups 2 --diverse-beam-strength 0.3 --beam 4",
        {"decoding.groups": 2, "decoding.diversity": 0.3},
    ),
    (FAIRSEQ + "; fairseq-generate x --unnormalized", {"decoding.length_penalty": 0.0}),
    (FAIRSEQ + "; fairseq-generate x --max-len-a 1 --max-len-b 20", {"decoding.extra_length": 20}),
    (MARIAN + "--task transformer-big-prenorm", {"model.width": 1024, "model.norm": "pre", "training.beta2": 0.998}),
    (
        MARIAN + "--task transformer-base --dim-emb 256",
        {"model.width": 256, "training.warmup": 16000, "training.ema": 0.9999},
    ),
    (MARIAN + "--alibi", {"model.positions": "alibi"}),
    (MARIAN + "--transformer-train-position-embeddings", {"model.positions": "learned"}),
    (
        MARIAN + "--transformer-preprocess n --transformer-postprocess da --transformer-postprocess-top n",
        {"model.norm": "pre"},
    ),
    (MARIAN.replace("1000u", "2Ku"), {"training.steps": 2000}),
    (MARIAN.replace("--after 1000u", "--after-batches 700"), {"training.steps": 700}),
    (MARIAN + "--exponential-smoothing", {"training.ema": 0.9999}),
    (MARIAN + "--optimizer-params 0.9 0.98 1e-9 0.01", {"training.optimiser": "adamw", "training.weight_decay": 0.01}),
    (MARIAN + "--mini-batch-words 3000 --optimizer-delay 4", {"batches.tokens": 3000, "training.accumulate": 4}),
    (MARIAN + "--label-smoothing 0.1", {"training.label_smoothing": 0.1, "training.smoothing_form": "vocabulary"}),
    (MARIAN + "-v s.spm t.spm", {"text.source_file": "s.spm", "text.target_file": "t.spm", "text.shared": False}),
    (MARIAN.replace("-t a.en a.de", "--tsv -t a.tsv"), {"data.tsv": "a.tsv", "data.source": None}),
    (
        SOCKEYE + "--learning-rate-scheduler-type none --initial-learning-rate 0.001",
        {"training.schedule": "constant", "training.learning_rate": 0.001},
    ),
    (SOCKEYE + "--weight-tying-type trg_softmax", {"model.tying": "target", "text.shared": False}),
    (
        SOCKEYE + "--label-smoothing-impl fairseq",
        {"training.smoothing_form": "others", "training.label_smoothing": 0.1},
    ),
    (SOCKEYE + "--transformer-feed-forward-use-glu", {"model.feedforward": "reglu"}),
    (SOCKEYE + "--num-layers 20:2", {"model.encoder_layers": 20, "model.decoder_layers": 2, "model.norm": "pre"}),
    (SOCKEYE + "--gradient-clipping-type norm --gradient-clipping-threshold 2.5", {"training.clip_norm": 2.5}),
    (SOCKEYE, {"training.clip_norm": 0.0, "model.attention_dropout": 0.1, "training.beta2": 0.999}),
    (
        SOCKEYE + "; sockeye-translate -m m --length-penalty-alpha 0.7 --length-penalty-beta 5 -b 3",
        {"decoding.length_penalty": 0.7, "decoding.beam": 3},
    ),
    (SOCKEYE + "; sockeye-translate -m m --greedy", {"decoding.beam": 1}),
    (ONMT + "-max_relative_positions 20", {"model.positions": "relative", "model.relative_distance": 20}),
    (ONMT + "-max_relative_positions=-1", {"model.positions": "rotary"}),
    (ONMT + "-multiquery -num_kv 2", {"model.key_value_heads": 2}),
    (
        ONMT + "-pos_ffn_activation_fn gated-silu -layer_norm rms",
        {"model.feedforward": "swiglu", "model.normalisation": "rms"},
    ),
    (ONMT + "-rnn_size 256", {"model.width": 256}),
    (
        ONMT + "; onmt_translate -length_penalty wu -alpha 0.8 -beam_size 7 -coverage_penalty wu -beta 0.2",
        {"decoding.length_penalty": 0.8, "decoding.beam": 7, "decoding.coverage_penalty": 0.2},
    ),
    (
        ONMT + "; onmt_translate -random_sampling_topk 10 -random_sampling_temp 0.8",
        {"decoding.samples": 1, "decoding.top_k": 10, "decoding.temperature": 0.8},
    ),
]


@pytest.mark.parametrize(("command", "expected"), SHELL_CASES)
def test_command_lines(command: str, expected: dict[str, Any], tmp_path: Path):
    translation = translate(tmp_path, command, "train.sh")
    assert {key: value(translation, key) for key in expected} == expected


JOEY = """
data: {{train: t, dev: d, src: {{lang: de, level: {level}}}, trg: {{lang: en, level: {level}}}}}
testing: {{beam_size: 5, beam_alpha: {alpha}}}
training: {{learning_rate: 0.0003, scheduling: {scheduling}, learning_rate_warmup: 4000, learning_rate_factor: 2,
           batch_size: 20, updates: 1000, optimizer: {optimizer}, weight_decay: 0.01}}
model:
    encoder: {{type: transformer, num_layers: 2, num_heads: 2, hidden_size: 64, ff_size: 128,
               embeddings: {{embedding_dim: 64, scale: True}}}}
    decoder: {{type: transformer, num_layers: 2, num_heads: 2, hidden_size: 64, ff_size: 128,
               embeddings: {{embedding_dim: 64, scale: True}}}}
"""


def joey(folder: Path, *, level: str = "bpe", alpha: float = 1, scheduling: str = "noam", optimizer: str = "adam"):
    return translate(
        folder, JOEY.format(level=level, alpha=alpha, scheduling=scheduling, optimizer=optimizer), "c.yaml"
    )


def test_joeynmt(tmp_path: Path):
    translation = joey(tmp_path, level="char", alpha=-1)
    assert value(translation, "text.kind") == "characters" and value(translation, "decoding.length_penalty") == 0
    assert value(translation, "training.schedule") == "paper" and value(translation, "training.schedule_scale") == 2
    assert (
        value(translation, "batches.tokens") == 500 and verdict(translation, "training.batch_size") is Verdict.ATTENTION
    )
    assert value(translation, "model.norm") == "pre"
    assert verdict(translation, "training.weight_decay") is Verdict.MISSING  # added to the gradient, with adam
    assert value(joey(tmp_path, optimizer="adamw"), "training.weight_decay") == 0.01
    assert value(joey(tmp_path, level="word"), "text.kind") == "words"
    plateau = joey(tmp_path, scheduling="plateau")
    assert verdict(plateau, "training.scheduling") is Verdict.ATTENTION
    assert value(plateau, "training.schedule") == "constant"


@pytest.mark.parametrize(
    ("cells", "attention", "expected"),
    [
        (("gru", "gru"), "luong", {"model.cell": "gru", "model.attention": "general"}),
        (("lstm", "gru"), "bahdanau", {"model.cell": "lstm", "model.attention": "additive"}),
    ],
)
def test_joeynmt_recurrent(tmp_path: Path, cells: tuple[str, str], attention: str, expected: dict[str, object]) -> None:
    stack = "{{type: recurrent, num_layers: 2, hidden_size: 64, embeddings: {{embedding_dim: 64}}, rnn_type: {} {}}}"
    model = "model: {{encoder: {}, decoder: {}}}".format(
        stack.format(cells[0], ""), stack.format(cells[1], f", attention: {attention}")
    )
    text = JOEY.format(level="bpe", alpha=1, scheduling="noam", optimizer="adam").partition("model:")[0] + model
    translation = translate(tmp_path, text, "c.yaml")
    assert {key: value(translation, key) for key in expected} == expected
    several = Verdict.ATTENTION if cells[0] != cells[1] else Verdict.MAPPED
    assert verdict(translation, "model.decoder.rnn_type") is several


@pytest.mark.parametrize(
    ("options", "expected", "cell"),
    [
        ("--dec-cell lstm --enc-cell lstm", "lstm", Verdict.SAME),
        ("--dec-cell tanh --enc-cell lstm", "rnn", Verdict.ATTENTION),
        ("--dec-cell ssru --enc-cell ssru", "gru", Verdict.ATTENTION),
    ],
)
def test_marian_recurrent(tmp_path: Path, options: str, expected: str, cell: Verdict) -> None:
    text = "marian --type s2s -t a.en a.de --dim-rnn 64 "
    translation = translate(tmp_path, text + options, "train.sh")
    if "ssru" not in options:
        assert value(translation, "model.cell") == expected
    assert verdict(translation, "--enc-cell") is cell
    assert value(translate(tmp_path, text, "plain.sh"), "model.cell") == "gru"  # Marian's default


OPENNMT_RECURRENT = """
data: {corpus_1: {path_src: a.en, path_tgt: a.de}}
encoder_type: brnn
decoder_type: rnn
hidden_size: 64
"""


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("", {"model.cell": "lstm", "model.attention": "general"}),
        ("rnn_type: GRU\nglobal_attention: mlp\n", {"model.cell": "gru", "model.attention": "additive"}),
        ("global_attention: dot\n", {"model.attention": "dot"}),
        ("global_attention: none\n", {"model.attention": "none"}),
    ],
)
def test_opennmt_recurrent(tmp_path: Path, options: str, expected: dict[str, object]) -> None:
    translation = translate(tmp_path, OPENNMT_RECURRENT + options, "c.yaml")
    expected = {"model.kind": "recurrent", **expected}
    assert {key: value(translation, key) for key in expected} == expected


def test_opennmt_with_cells_and_attention_that_we_have_not(tmp_path: Path) -> None:
    translation = translate(tmp_path, OPENNMT_RECURRENT + "rnn_type: SRU\nglobal_attention: fast\n", "c.yaml")
    assert verdict(translation, "rnn_type") is Verdict.MISSING
    assert verdict(translation, "global_attention") is Verdict.MISSING


@pytest.mark.parametrize("step", [1, 100, 4000, 4001, 16_000])
def test_learning_rates_are_those_of_the_toolkits(step: int, tmp_path: Path):
    """Each rate by the toolkit's own formula, and by the schedule of the translated run file."""

    def ours(translation: Any) -> float:
        return make_schedule(translation.settings.training, value(translation, "model.width"))(step)

    warm = min(step / 4000, sqrt(4000 / step))
    steps = "--max-update 20000"
    fairseq = translate(tmp_path, f"{FAIRSEQ.replace('--max-update 1000', steps)}--lr-scheduler inverse_sqrt", "a.sh")
    assert ours(fairseq) == pytest.approx(0.0005 * warm)
    options = (
        "--learning-rate-scheduler-type inv-sqrt-decay --learning-rate-warmup 4000 --initial-learning-rate 0.06325"
    )
    sockeye = translate(tmp_path, f"{SOCKEYE.replace('1000', '20000')}{options}", "b.sh")
    assert ours(sockeye) == pytest.approx(0.06325 * min(1, step / 4000) / sqrt(max(step, 4000)), rel=1e-5)
    options = "--learn-rate 0.0003 --lr-warmup 4000 --lr-decay-inv-sqrt 4000"
    marian = translate(tmp_path, f"{MARIAN.replace('1000u', '20000u')}{options}", "c.sh")
    assert ours(marian) == pytest.approx(0.0003 * warm)
    options = "-decay_method noam -learning_rate 2 -warmup_steps 4000 -train_steps 20000"
    opennmt = translate(tmp_path, ONMT + options, "d.sh")
    assert ours(opennmt) == pytest.approx(2 * 512**-0.5 * min(step**-0.5, step * 4000**-1.5))
    rsqrt = translate(tmp_path, ONMT + options.replace("noam", "rsqrt"), "e.sh")
    if step >= 4000:  # before, theirs is flat and ours rises: that is said
        assert ours(rsqrt) == pytest.approx(2 / sqrt(step), rel=1e-5)
    assert verdict(rsqrt, "-learning_rate") is Verdict.ATTENTION


def test_cosine_of_eole(tmp_path: Path):
    text = "training: {decay_method: cosine, learning_rate: 0.001, warmup_steps: 10, train_steps: 100, optim: adam}\n"
    translation = translate(tmp_path, f"{text}model: {{architecture: transformer, encoder: {{layers: 3}}}}", "c.yaml")
    schedule = make_schedule(translation.settings.training, 512)
    assert schedule(55) == pytest.approx(0.001 * 0.5 * (1 + cos(pi * 45 / 90)), rel=0.05)
    assert value(translation, "model.encoder_layers") == 3 and value(translation, "model.decoder_layers") == 2


def test_what_differs_in_meaning_needs_attention(tmp_path: Path):
    translation = translate(tmp_path, FAIRSEQ + "--fp16 --max-epoch 3 ; fairseq-generate x --lenpen 1.5", "train.sh")
    for shown, words in {
        "--max-tokens": "for each GPU",
        "--fp16": "never in float16",
        "--max-epoch": "counts in updates",
    }.items():
        assert verdict(translation, shown) is Verdict.ATTENTION and words in note(translation, shown)
    assert verdict(translation, "--lenpen") is Verdict.MAPPED
    assert (value(translation, "decoding.length_penalty"), value(translation, "decoding.length_rule")) == (1.5, "power")


def test_defaults_of_the_toolkit_without_a_counterpart_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Silence would change the model."""
    bare = MARIAN.replace("--transformer-ffn-activation relu", "")
    translation = translate(tmp_path, bare, "m.sh")
    implied = {line.key for line in translation.lines if line.implied}
    assert {"model.attention_bias", "decoding.beam", "training.label_smoothing", "model.output_bias"} <= implied
    assert value(translation, "model.feedforward") == "swish" and "model.feedforward" in implied
    monkeypatch.setitem(TOOLKITS["marian"].defaults, "transformer-ffn-activation", "tanh")
    translation = translate(tmp_path, bare, "m.sh")
    assert any("transformer-ffn-activation tanh" in remark for remark in translation.remarks)


def test_values_that_ours_do_not_allow_are_left_out_and_said(tmp_path: Path):
    translation = translate(tmp_path, FAIRSEQ + "--dropout 1.5 --encoder-attention-heads 7 --seed x", "train.sh")
    assert translation.settings is not None
    assert value(translation, "model.dropout") == 0.1
    assert "left out" in note(translation, "--dropout") and "1.5" in note(translation, "--dropout")
    assert "not understood" in note(translation, "--seed")
    assert value(translation, "model.width") % value(translation, "model.heads") == 0


def test_an_option_given_twice_counts_once_and_both_are_told(tmp_path: Path):
    translation = translate(tmp_path, FAIRSEQ + "\\\n --dropout 0.1 \\\n --dropout 0.3", "train.sh")
    assert value(translation, "model.dropout") == 0.3
    first, second = [finding for finding in translation.findings if finding.option.shown == "--dropout"]
    assert first.verdict is Verdict.MISSING and "given again at train.sh:3" in first.note
    assert second.verdict is Verdict.MAPPED


def test_a_second_training_in_a_script_is_said(tmp_path: Path):
    translation = translate(tmp_path, f"{FAIRSEQ}--dropout 0.2\n{FAIRSEQ}--dropout 0.4\n", "train.sh")
    assert value(translation, "model.dropout") == 0.2
    assert any("line 2: a second" in remark for remark in translation.remarks)


def test_the_configuration_that_a_command_names_is_read(tmp_path: Path):
    (tmp_path / "c.yml").write_text("type: transformer\ndim-emb: 256\nenc-depth: 3\ntrain-sets: [a.en, a.de]\n")
    translation = translate(tmp_path, "marian -c c.yml --enc-depth 5 --after 10u", "m.sh")
    assert value(translation, "model.width") == 256 and value(translation, "model.encoder_layers") == 5
    assert verdict(translation, "-c") is Verdict.SAME
    absent = translate(tmp_path, "marian -c d.yml --enc-depth 5 --after 10u", "m.sh")
    assert verdict(absent, "-c") is Verdict.MISSING
    joey_file = joey(tmp_path)
    by_command = translate(tmp_path, "python -m joeynmt train c.yaml", "j.sh")
    assert by_command.settings == joey_file.settings and verdict(by_command, "c.yaml") is Verdict.SAME
    assert any("d.yml is not there" in remark for remark in absent.remarks)


def test_variables_that_are_not_set_are_said(tmp_path: Path):
    command = MARIAN.replace("a.en a.de", "$DATA/a.en ${DATA}/a.de")
    unset = translate(tmp_path, command, "m.sh")
    assert value(unset, "data.source") == "$DATA/a.en"
    assert any("$DATA is not set" in remark for remark in unset.remarks)
    known = translate(tmp_path, command, "m.sh", DATA="/corpora")
    assert value(known, "data.source") == "/corpora/a.en"
    assert any("from the environment" in remark for remark in known.remarks)


def test_a_bare_command_line_is_recognised(tmp_path: Path):
    text = "--type transformer --dim-emb 256 --enc-depth 3 --transformer-heads 4 --train-sets a.en a.de"
    translation = translate(tmp_path, text, "line.txt")
    assert translation.toolkit.name == "marian" and value(translation, "model.width") == 256


def test_data_that_are_no_text_leave_placeholders_and_something_to_do(tmp_path: Path):
    translation = translate(tmp_path, FAIRSEQ, "train.sh")
    assert value(translation, "data.source") == "YOUR-TRAINING-TEXT.de"
    assert any("name your text files" in task for task in translation.to_do)


def test_texts_that_are_already_cut_need_attention(tmp_path: Path):
    translation = translate(tmp_path, MARIAN.replace("a.en a.de", "a.bpe.en a.tok.de"), "m.sh")
    assert verdict(translation, "-t") is Verdict.ATTENTION and "plain text" in note(translation, "-t")


def test_every_key_that_the_tables_write_exists():
    keys = set(Draft("", (), {}).defaults())
    for toolkit in TOOLKITS.values():
        for name, (rule, arguments) in toolkit.table.items():
            if rule in (copy_key, choose_value):
                assert arguments[0] in keys, (toolkit.name, name)


def test_the_kind_of_model_that_is_not_here_is_named(tmp_path: Path) -> None:
    translation = translate(
        tmp_path, OPENNMT_RECURRENT.replace("brnn", "transformer").replace(": rnn", ": cnn"), "c.yaml"
    )
    assert "not cnn" in note(translation, "decoder_type")
