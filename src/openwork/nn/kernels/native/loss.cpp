// The cross-entropy of rows of logits, and its gradient in their place.
//
// It is chunk_cross_entropy of training/loss.py, which reads and writes a row some ten times; here it is read three
// times, from the nearest cache. tests/nn/test_native_loss.py holds the two equal.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "division.h"
#include "room.h"
#include "vectors.h"

namespace {

constexpr float NOTHING = -std::numeric_limits<float>::infinity();

// A row in float32 in whole registers; what lies beyond its end is minus infinity, whose exponential is next to nothing.
template <class Number>
void widen(const Number* row, int64_t count, float* wide) {
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES) store(wide + i, load(row + i));
    for (; i < count; ++i) wide[i] = number(row[i]);
    for (; i < filled(count); ++i) wide[i] = NOTHING;
}

// Two registers at a time, so that one addition need not wait for the other.
struct Statistics {
    float greatest, sum;
};

Statistics statistics(const float* row, int64_t count) {
    Vector most[2] = {all(NOTHING), all(NOTHING)}, sum[2] = {all(0), all(0)};
    int64_t i = 0;
    for (; i + 2 * LANES <= count; i += 2 * LANES)
        for (int half = 0; half < 2; ++half) {
            const Vector x = load(row + i + half * LANES);
            most[half] = greater(most[half], x);
            sum[half] += x;
        }
    float greatest = greatest_of(greater(most[0], most[1])), rest = 0;
    for (; i < count; ++i) {
        greatest = std::max(greatest, row[i]);
        rest += row[i];
    }
    return {greatest, sum_of(sum[0] + sum[1]) + rest};
}

// exp(x - greatest) in the place of each x, whole registers; their sum over the first `count`.
float exponentials(float* row, int64_t count, float greatest) {
    Vector sum[2] = {all(0), all(0)};
    int64_t i = 0;
    for (; i + 2 * LANES <= count; i += 2 * LANES)
        for (int half = 0; half < 2; ++half) {
            const Vector made = exponential(load(row + i + half * LANES) - greatest);
            store(row + i + half * LANES, made);
            sum[half] += made;
        }
    float rest = 0;
    for (; i < filled(count); i += LANES) {
        store(row + i, exponential(load(row + i) - greatest));
        for (int64_t j = i; j < std::min(i + LANES, count); ++j) rest += row[j];
    }
    return sum_of(sum[0] + sum[1]) + rest;
}

void put(float* to, float made) { *to = made; }
void put(BFloat16* to, float made) {
    BFloat16 some[LANES];
    store(some, all(made));
    *to = some[0];
}

// factor e - even, in the type of the logits.
template <class Number>
void write(const float* from, int64_t count, float factor, float even, Number* to) {
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES) store(to + i, load(from + i) * factor - even);
    for (; i < count; ++i) put(to + i, from[i] * factor - even);
}

struct LossRoom {
    std::vector<float> row;
};

template <class Number>
struct Loss {
    Number* logits;
    const int64_t* right;
    int64_t vocabulary, step;
    float share;
    float* sums;

    // The gradient p - q in the place of a row, and its smoothed loss and likelihood in `sums`.
    void row(int64_t number_of_row) const {
        std::vector<float>& wide = own_room<LossRoom>().row;
        wide.resize(filled(vocabulary));
        Number* from = logits + number_of_row * step;
        const int64_t token = right[number_of_row];
        widen(from, vocabulary, wide.data());
        const float chosen = wide[token];
        const Statistics found = statistics(wide.data(), vocabulary);
        const float total = exponentials(wide.data(), vocabulary, found.greatest);
        const float normaliser = found.greatest + std::log(total), even = share / vocabulary;
        const float likelihood = normaliser - chosen, uniform = normaliser - found.sum / vocabulary;
        sums[2 * number_of_row] = (1 - share) * likelihood + share * uniform;
        sums[2 * number_of_row + 1] = likelihood;
        write(wide.data(), vocabulary, 1 / total, even, from);
        put(from + token, wide[token] / total - even - (1 - share));
    }

    void compute(int64_t count, int64_t threads) const {
        divided(count, threads, [this](int64_t first, int64_t last, int64_t) {
            for (int64_t one = first; one < last; ++one) row(one);
        });
    }
};

}  // namespace

extern "C" {

// Logits (row, vocabulary), rows `step` numbers apart; `right` (row); `sums` (row, 2).
void openwork_loss_float32(float* logits, const int64_t* right, int64_t rows, int64_t vocabulary, int64_t step,
                           float share, float* sums, int64_t threads) {
    Loss<float>{logits, right, vocabulary, step, share, sums}.compute(rows, threads);
}

void openwork_loss_bfloat16(BFloat16* logits, const int64_t* right, int64_t rows, int64_t vocabulary, int64_t step,
                            float share, float* sums, int64_t threads) {
    Loss<BFloat16>{logits, right, vocabulary, step, share, sums}.compute(rows, threads);
}
}
