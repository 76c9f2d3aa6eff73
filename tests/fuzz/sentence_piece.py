"""A small SentencePiece model, made where the library is there."""

import io
from functools import cache

TEXT = ["Ein Hund läuft.", "Zwei Männer 2, 3 und <b>.", "狗在跑步。", ""]


@cache
def sentence_piece_model(kind: str) -> bytes:
    """The bytes of its file."""
    import sentencepiece

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXT * 5), model_writer=model, vocab_size=40, model_type=kind, minloglevel=2,
        hard_vocab_limit=False,
    )  # fmt: skip
    return model.getvalue()
