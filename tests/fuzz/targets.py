"""Everything that reads what a stranger may have written, each with files that it understands to begin from."""

import gzip
import io
import json
import lzma
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save

from fuzz.folders import FOLDERS
from fuzz.sentence_piece import TEXT, sentence_piece_model
from fuzz.target import Target
from openwork.base.config import read_run
from openwork.base.files import read_lines
from openwork.base.lines import clean_line
from openwork.base.records import RecordWriter, read_records
from openwork.data.check.faults import file_pairs
from openwork.data.check.text import text_faults
from openwork.data.corpora.download import extract
from openwork.data.glossary import read_glossary
from openwork.data.readers.exchange import read_tmx, read_xliff
from openwork.data.readers.lines import read_jsonl, read_tsv
from openwork.data.readers.po import read_po
from openwork.inference.requests import read_json
from openwork.inference.settings import read_translation_file
from openwork.interop.ctranslate2.binary import Contents, read_binary, write_binary
from openwork.interop.hugging_face.bart import read_config
from openwork.migration.translation import translate_configuration
from openwork.models.weights import read_tensors
from openwork.runs.file.resolve import resolve_run
from openwork.text.external.reading import load_tokenizer, read_tokenizer
from openwork.text.pair import train_pair
from openwork.text.settings import TextSettings


def _all(read: Callable[[Path], Iterator[object]]) -> Callable[[Path], object]:
    return lambda path: list(read(path))


def _lines() -> list[bytes]:
    return ["".join(f"{line}\n" for line in TEXT).encode(), b"one\r\ntwo\r\n", "\ufeffx\u2028y\n".encode()]


def _tsv() -> list[bytes]:
    return ["Ein Hund\tA dog\n狗\tdog\n".encode(), b"a\tb\nc\td\te\n"]


def _jsonl() -> list[bytes]:
    return [
        b'{"source": "Ein Hund", "target": "A dog"}\n{"source": "a", "target": "b", "more": [1, {"x": null}]}\n',
        b'{"translation": {"de": "Ein Hund", "en": "A dog"}}\n',
    ]


def _po() -> list[bytes]:
    return [
        b'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n"Language: de\\n"\n\n'
        b'#, fuzzy\nmsgctxt "a"\nmsgid "A dog"\nmsgid_plural "Dogs"\nmsgstr[0] "Ein \\"Hund\\"\\n"\nmsgstr[1] "Hunde"\n'
    ]


def _tmx() -> list[bytes]:
    return [
        b'<?xml version="1.0" encoding="UTF-8"?>\n<tmx version="1.4"><header srclang="en"/><body>\n'
        b'<tu><tuv xml:lang="en"><seg>A <bpt i="1">b</bpt>dog</seg></tuv>'
        b'<tuv xml:lang="de"><seg>Ein Hund &amp; x</seg></tuv>'
        b"</tu>\n</body></tmx>\n"
    ]


def _xliff() -> list[bytes]:
    return [
        b'<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">'
        b'<file source-language="en" target-language="de"><body><trans-unit id="1">'
        b'<source>A <g id="1">dog</g></source><target state="final">Ein Hund</target></trans-unit>'
        b"</body></file></xliff>\n",
        b'<xliff version="2.0" xmlns="urn:oasis:names:tc:xliff:document:2.0" srcLang="en" trgLang="de"><file id="f">'
        b'<unit id="u"><segment><source>A dog</source><target>Ein Hund</target></segment></unit></file></xliff>\n',
    ]


def _glossary() -> list[bytes]:
    return ["dog\tHund\ntwo men\tzwei Männer\n".encode()]


def _run() -> list[bytes]:
    return [
        b'[data]\ncorpus = "copy"\n[model]\npreset = "small"\ndropout = 0.1\n[training]\nsteps = 10\nwarmup = 4\n',
        b'[data]\nsource = "a"\ntarget = "b"\nmix = [{corpus = "copy", weight = 2.0}]\n[batches]\ntokens = 100\n'
        b"[decoding]\nbeam = 5\n",
    ]


def _translation() -> list[bytes]:
    return [b'bundle = ["a"]\nprecision = "int8"\nstream = true\n[decoding]\nbeam = 4\nforbidden = ["x"]\n']


def _migration() -> list[bytes]:
    return [
        b"#!/bin/sh\nfairseq-train data-bin --arch transformer_iwslt_de_en --lr 5e-4 --max-tokens 4096 $MORE\n",
        b"name: x\ndata:\n  train: a\n  src:\n    lang: de\ntraining:\n  batch_size: 4096\n  learning_rate: 0.0002\n"
        b"model:\n  encoder:\n    num_layers: 6\n",
        b"src_vocab: a\ntgt_vocab: b\nencoder_type: transformer\nlayers: 6\nrnn_size: 512\nbatch_type: tokens\n",
        b"marian --type transformer --train-sets a b --vocabs v v --dim-emb 512 --enc-depth 6\n",
        b"mini-batch: 64\ntype: transformer\nenc-depth: 6\nlearn-rate: 0.0003\n",
    ]


def _records() -> list[bytes]:
    return [
        b'{"time": 1.5, "kind": "step", "step": 1, "loss": "nan"}\n{"time": 2, "kind": "validation", "bleu": 3.5}\n{"ti'
    ]


@cache
def _tokenizers() -> list[bytes]:
    found = []
    for kind in ("byte-pair", "unigram", "wordpiece", "words", "characters"):
        settings = TextSettings.model_validate({"kind": kind, "vocabulary_size": 320})
        made = train_pair(TEXT * 20, TEXT * 20, settings).source
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "tokenizer.json"
            made.save(path)
            found.append(path.read_bytes())
    return found


def _tensors() -> list[bytes]:
    return [save({"a": torch.arange(6.0).view(2, 3), "b": torch.tensor([1, 2])}, {"x": "y"}), save({})]


def _hugging_face() -> list[bytes]:
    known = {
        "model_type": "marian",
        "architectures": ["MarianMTModel"],
        "d_model": 16,
        "encoder_layers": 1,
        "decoder_layers": 1,
        "encoder_attention_heads": 2,
        "decoder_attention_heads": 2,
        "encoder_ffn_dim": 8,
        "decoder_ffn_dim": 8,
        "vocab_size": 9,
        "activation_function": "swish",
        "pad_token_id": 8,
        "eos_token_id": 0,
        "decoder_start_token_id": 8,
        "scale_embedding": True,
        "static_position_embeddings": True,
        "max_position_embeddings": 64,
        "tie_word_embeddings": True,
    }
    return [json.dumps(known).encode(), json.dumps({**known, "model_type": "bart", "scale_embedding": False}).encode()]


def _bert() -> list[bytes]:
    return ["[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##b\nhund\n狗\n".encode()]


def _requests(path: Path) -> object:
    for line in path.read_bytes().split(b"\n"):
        text, _ = clean_line(line)
        read_json(text)
    return None


def _asked() -> list[bytes]:
    return [b'{"text": "Ein Hund", "prefix": "A", "required": ["dog"], "forbidden": []}\nplain\n{"text": 1}\n']


def _check(path: Path) -> object:
    return [list(text_faults(pair, line)) for line, pair in enumerate(file_pairs(path, path), start=1)]


@cache
def _ctranslate2() -> list[bytes]:
    variables = {
        "encoder/embeddings/weight": np.arange(8, dtype="<f4").reshape(4, 2),
        "decoder/layer_0/linear/weight": np.ones((2, 2), "i1"),
        "encoder/num_heads": np.array(2, "<i2"),
    }
    contents = Contents("TransformerSpec", 7, variables, {"decoder/embeddings/weight": "encoder/embeddings/weight"})
    with tempfile.TemporaryDirectory() as folder:
        write_binary(Path(folder) / "model.bin", contents)
        return [(Path(folder) / "model.bin").read_bytes()]


GPT2 = b'{"a": 0, "b": 1, "ab": 2, "<|endoftext|>": 3}'


def _gpt2() -> list[bytes]:
    return [GPT2]


def _archives() -> list[bytes]:
    found = []
    for mode in ("w", "w:gz", "w:xz"):
        with io.BytesIO() as stream:
            with tarfile.open(fileobj=stream, mode=mode) as archive:
                for name in ("./in/y", "in/x", "../evil"):
                    member = tarfile.TarInfo(name)
                    member.size = 2
                    archive.addfile(member, io.BytesIO(b"a\n"))
            found.append(stream.getvalue())
    return found


def _sentence_piece() -> list[bytes]:
    return [sentence_piece_model(kind) for kind in ("unigram", "bpe", "char")]


TARGETS: dict[str, Target] = {
    "lines": Target("a.txt", _lines, _all(read_lines)),
    "gzip": Target("a.txt.gz", lambda: [gzip.compress(text, mtime=0) for text in _lines()], _all(read_lines)),
    "xz": Target("a.txt.xz", lambda: [lzma.compress(text) for text in _lines()], _all(read_lines)),
    "tsv": Target("a.tsv", _tsv, _all(read_tsv)),
    "jsonl": Target("a.jsonl", _jsonl, _all(read_jsonl)),
    "po": Target("a.po", _po, _all(read_po)),
    "tmx": Target("a.tmx", _tmx, _all(read_tmx)),
    "xliff": Target("a.xlf", _xliff, _all(read_xliff)),
    "glossary": Target("a.tsv", _glossary, read_glossary),
    "run file": Target("run.toml", _run, lambda path: resolve_run(read_run(path, [], {}))),
    "translation file": Target("t.toml", _translation, read_translation_file),
    "configuration of others": Target("train.sh", _migration, lambda path: translate_configuration(path, None)),
    "configuration of others, yaml": Target("c.yml", _migration, lambda path: translate_configuration(path, None)),
    "records": Target("records.jsonl", _records, read_records),
    "records continued": Target("records.jsonl", _records, lambda path: RecordWriter(path).close()),
    "tokenizer": Target("tokenizer.json", _tokenizers, load_tokenizer),
    "any tokenizer": Target("tokenizer.json", _tokenizers, read_tokenizer),
    "BERT's vocabulary": Target("vocab.txt", _bert, read_tokenizer),
    "tensors": Target("w.safetensors", _tensors, read_tensors),
    "Hugging Face's config": Target("config.json", _hugging_face, lambda path: read_config(path.parent)),
    "CTranslate2's binary": Target("model.bin", _ctranslate2, read_binary),
    "requests": Target("requests.jsonl", _asked, _requests),
    "checked files": Target("a.txt", _lines, _check),
    "archive": Target("a.tar.gz", _archives, lambda path: extract(path, {"in/x": path.parent / "out" / "x"})),
    "GPT-2's vocabulary": Target("vocab.json", _gpt2, read_tokenizer, {"merges.txt": b"#version: 0.2\na b\n"}),
    "GPT-2's merges": Target("merges.txt", lambda: [b"#version: 0.2\na b\n"], read_tokenizer, {"vocab.json": GPT2}),
    **({"SentencePiece": Target("a.model", _sentence_piece, read_tokenizer)} if find_spec("sentencepiece") else {}),
    **FOLDERS,
}
