"""Checks of a corpus before it is trained on: one file for each group of faults.

    text      one side of one pair: damaged encodings, odd characters, odd spaces, another language
    repeats   duplicates, and held-out pairs that are in training
    pairs     sides whose lengths do not fit, or that do not translate each other

Each gives faults: a kind, the line of the pair, and the text that shows it. Nothing is changed or left out.
"""
