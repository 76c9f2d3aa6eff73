"""Kinds of pieces: characters, words, byte pairs, byte-level byte pairs, WordPiece, unigram."""
