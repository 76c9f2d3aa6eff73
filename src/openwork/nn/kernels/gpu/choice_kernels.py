"""The best next tokens of a search, and what follows from them for its state, in buffers of fixed sizes.

First each row is cut into parts, of which programs find the best entries and the sums of exponentials. Then a program
for each sentence, or row, puts these together, chooses, and writes what the search knows about the sentence. So logits
are read once, and one launch does the work of some dozens of small operations.

Of equals the entry that comes first is chosen: that of the earlier row and the lower token.
"""

import triton  # type: ignore[import-not-found]
import triton.language as tl  # type: ignore[import-not-found]


@triton.jit
def best_of_parts(
    logits, added, values, tokens, most, total, row_step, vocabulary, count, parts, BLOCK: tl.constexpr
):  # fmt: skip
    """For each row and part the `count` best scores and their tokens, best first.

    `added` (vocabulary) is added to the logits (row, vocabulary). `values` and `tokens` (row, part, count). `most` and
    `total` (row, part): the greatest score and the sum of exp(score - greatest).
    """
    row, part = tl.program_id(0), tl.program_id(1)
    places = tl.arange(0, BLOCK)
    columns = part * BLOCK + places
    inside = columns < vocabulary
    scores = tl.load(logits + row.to(tl.int64) * row_step + columns, mask=inside, other=-float("inf")).to(tl.float32)
    scores += tl.load(added + columns, mask=inside, other=0.0)
    greatest = tl.max(scores, 0)
    shift = tl.where(greatest == -float("inf"), 0.0, greatest)  # all of a part may be forbidden
    here = row * parts + part
    tl.store(most + here, shift)
    tl.store(total + here, tl.sum(tl.exp(scores - shift), 0))
    for number in range(count):
        best = tl.max(scores, 0)
        place = tl.min(tl.where(scores == best, places, BLOCK - 1), 0)
        tl.store(values + here * count + number, best)
        tl.store(tokens + here * count + number, tl.minimum(part * BLOCK + place, vocabulary - 1))
        scores = tl.where(places == place, -float("inf"), scores)


@triton.jit(do_not_specialize=["rows"])
def take_greedy(
    values, tokens, most, total, written, history, totals, done, limits, normalisers, position, rows, parts, end,
    PARTS: tl.constexpr,
):  # fmt: skip
    """A step of a greedy search for one row, which is a sentence.

    `written` (row): the token that is read next. `history` (step, row). `normalisers` (row): log Z, 0 where the
    sentence is done.
    """
    row, read = tl.program_id(0), tl.load(position).to(tl.int32)
    part = tl.arange(0, PARTS)
    inside, here = part < parts, row * parts + part
    value = tl.load(values + here, mask=inside, other=-float("inf"))
    shift = tl.load(most + here, mask=inside, other=-float("inf"))
    highest = tl.max(shift, 0)
    sums = tl.load(total + here, mask=inside, other=0.0) * tl.exp(shift - highest)
    normaliser = highest + tl.log(tl.sum(sums, 0))
    best = tl.max(value, 0)
    first = tl.min(tl.where(value == best, part, parts - 1), 0)
    token = tl.load(tokens + row * parts + first)
    gain, was_done = best - normaliser, tl.load(done + row) != 0
    tl.store(normalisers + row, tl.where(was_done, 0.0, normaliser))
    tl.store(totals + row, tl.load(totals + row) + tl.where(was_done, 0.0, gain))
    tl.store(history + read.to(tl.int64) * rows + row, token)
    tl.store(written + row, token)
    is_over = (token == end) | (tl.load(limits + row) <= read + 1) | (gain == -float("inf"))
    tl.store(done + row, was_done | is_over)


@triton.jit(do_not_specialize=["sentences"])
def take_beam(
    values, tokens, most, total, written, parents, log_probabilities, history, ancestors, ended, continued, scores,
    counts, done, normalisers, penalties, position, sentences, beam, parts, count, vocabulary, end,
    ROWS: tl.constexpr, PARTS: tl.constexpr, EACH: tl.constexpr,
):  # fmt: skip
    """A step of a beam search for one sentence: `count` = 2 beam candidates, those that end, and those that survive.

    `written` and `parents` (rows): the tokens that are read next and the rows that they continue; `history` and
    `ancestors` (step, rows) the same of all steps. `ended` and `continued` (step, sentence, beam): log-probabilities of
    the candidates that end, and the rows that they continue; `scores` (sentence, beam): theirs of this step.
    `normalisers` (sentence): the sum of log Z, 0 where it is done.
    """
    sentence, read = tl.program_id(0), tl.load(position).to(tl.int32)
    places, part, each = tl.arange(0, ROWS), tl.arange(0, PARTS), tl.arange(0, EACH)
    rows, is_row = sentence * beam + places, places < beam
    spread, inside = (rows * parts)[:, None] + part[None, :], is_row[:, None] & (part < parts)[None, :]
    shift = tl.load(most + spread, mask=inside, other=-1e30)
    highest = tl.max(shift, 1)
    sums = tl.load(total + spread, mask=inside, other=0.0) * tl.exp(shift - highest[:, None])
    normaliser = highest + tl.log(tl.sum(sums, 1))
    known = tl.load(log_probabilities + rows, mask=is_row, other=-float("inf"))
    is_live, was_done = known > -float("inf"), tl.load(done + sentence) != 0
    counted = is_live & is_row & (was_done == 0)
    tl.store(normalisers + sentence, tl.sum(tl.where(counted, normaliser, 0.0), 0))
    listed = (rows * parts * count)[:, None] + each[None, :]
    inside = is_live[:, None] & (each < parts * count)[None, :]
    value = tl.load(values + listed, mask=inside, other=-float("inf"))
    token = tl.load(tokens + listed, mask=inside, other=0)
    value = value - normaliser[:, None] + known[:, None]
    value = tl.where(inside & (value == value), value, -float("inf"))  # what is no number is found by log Z
    order = places[:, None] * vocabulary + token
    now = tl.load(penalties + read)
    step = read.to(tl.int64) * sentences * beam
    alive = sentence * 0
    endings = sentence * 0
    for number in range(count):
        best = tl.max(tl.max(value, 1), 0)
        chosen = tl.min(tl.min(tl.where(value == best, order, beam * vocabulary - 1), 1), 0)
        value = tl.where(order == chosen, -float("inf"), value)
        parent, found = sentence * beam + chosen // vocabulary, chosen % vocabulary
        ends = (found == end) & (best > -float("inf"))
        taken = ends & (number < beam) & (was_done == 0)
        place, is_first = sentence * beam + number, number < beam
        tl.store(ended + step + place, tl.where(taken, best, -float("inf")), mask=is_first)
        tl.store(continued + step + place, parent, mask=is_first)
        tl.store(scores + place, tl.where(taken, best / now, -float("inf")), mask=is_first)
        endings += taken.to(tl.int32)
        lives = (ends == 0) & (alive < beam)
        row = sentence * beam + alive
        tl.store(log_probabilities + row, best, mask=lives)
        tl.store(parents + row, parent, mask=lives)
        tl.store(written + row, found, mask=lives)
        tl.store(ancestors + step + row, parent, mask=lives)
        tl.store(history + step + row, found, mask=lives)
        alive += lives.to(tl.int32)
    tl.store(counts + sentence, tl.load(counts + sentence) + endings)
