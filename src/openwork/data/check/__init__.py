"""What is wrong with a corpus, found before it is trained on: one file for each kind of fault.

    text      one side of one pair: damaged encodings, odd characters, odd spaces
    lengths   sides whose lengths do not go together
    repeats   what stands there twice, and what stands in training and is to be predicted later
    pairs     sides that do not translate each other
    languages sides in another language than the others

Each gives faults: a kind, the place of the pair, and what was seen there. Nothing is changed and nothing left out.
"""
