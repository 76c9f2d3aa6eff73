// The cross-entropy of rows of logits, and its gradient in their place.
//
// It is chunk_cross_entropy of training/loss.py, which reads and writes a row some ten times; here it is read three
// times, from the nearest cache. With R-Drop it is _two_passes. tests/nn/test_native_loss.py holds them equal.

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

// exp(x - greatest) of each x, whole registers, also in its place; their sum over the first `count`.
float exponentials(const float* row, int64_t count, float greatest, float* to) {
    Vector sum[2] = {all(0), all(0)};
    int64_t i = 0;
    for (; i + 2 * LANES <= count; i += 2 * LANES)
        for (int half = 0; half < 2; ++half) {
            const Vector made = exponential(load(row + i + half * LANES) - greatest);
            store(to + i + half * LANES, made);
            sum[half] += made;
        }
    float rest = 0;
    for (; i < filled(count); i += LANES) {
        store(to + i, exponential(load(row + i) - greatest));
        for (int64_t j = i; j < std::min(i + LANES, count); ++j) rest += to[j];
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
        const float total = exponentials(wide.data(), vocabulary, found.greatest, wide.data());
        const float normaliser = found.greatest + std::log(total), even = share / vocabulary;
        const float likelihood = normaliser - chosen, uniform = normaliser - found.sum / vocabulary;
        sums[2 * number_of_row] = (1 - share) * likelihood + share * uniform;
        sums[2 * number_of_row + 1] = likelihood;
        write(wide.data(), vocabulary, 1 / total, even, from);
        put(from + token, wide[token] / total - even - (1 - share));
    }
};

// What one row comes to under the model: its logits, their exponentials, and what both have to do with the loss.
struct Pass {
    std::vector<float> logits, exponents;
    float factor, normaliser, mean;  // p = factor * exponent, log p = logit - normaliser

    template <class Number>
    void take(const Number* row, int64_t count) {
        logits.resize(filled(count));
        exponents.resize(filled(count));
        widen(row, count, logits.data());
        const Statistics found = statistics(logits.data(), count);
        const float total = exponentials(logits.data(), count, found.greatest, exponents.data());
        factor = 1 / total;
        normaliser = found.greatest + std::log(total);
        mean = found.sum / count;
    }

    // Some log p, and p; Some: one number or a register.
    template <class Some, class Read>
    Some log_probability(int64_t place, Read read) const { return read(logits.data() + place) - normaliser; }
    template <class Some, class Read>
    Some probability(int64_t place, Read read) const { return read(exponents.data() + place) * factor; }
};

float one(const float* from) { return *from; }
Vector many(const float* from) { return load(from); }

struct TwoRoom {
    Pass passes[2];
};

// R-Drop: two passes, whose divergence has a price.
template <class Number>
struct TwoLosses {
    Number* logits[2];
    const int64_t* right;
    int64_t vocabulary, step[2];
    float share, alpha;
    float* sums;

    // Adds p1 d and p2 d, with d = log p1 - log p2, of the tokens from `place` on.
    template <class Some, class Read>
    static void add(const Pass* passes, int64_t place, Read read, Some* diverging) {
        const Some d = passes[0].log_probability<Some>(place, read) - passes[1].log_probability<Some>(place, read);
        for (int pass = 0; pass < 2; ++pass) diverging[pass] += passes[pass].probability<Some>(place, read) * d;
    }

    // The gradients of both passes, but for the right token.
    template <class Some, class Read>
    void gradients(const Pass* passes, int64_t place, Read read, const float* divergence, Some* made) const {
        const Some d = passes[0].log_probability<Some>(place, read) - passes[1].log_probability<Some>(place, read);
        const Some p = passes[0].probability<Some>(place, read), q = passes[1].probability<Some>(place, read);
        const float even = share / vocabulary, price = alpha / 4;
        made[0] = (p - even) * 0.5f + (p * (d - divergence[0]) + p - q) * price;
        made[1] = (q - even) * 0.5f + (q * (-d - divergence[1]) + q - p) * price;
    }

    void row(int64_t number_of_row) const {
        Pass* passes = own_room<TwoRoom>().passes;
        Number* rows[2];
        float smoothed = 0, likelihood = 0;
        const int64_t token = right[number_of_row], whole = vocabulary / LANES * LANES;
        for (int pass = 0; pass < 2; ++pass) {
            rows[pass] = logits[pass] + number_of_row * step[pass];
            passes[pass].take(rows[pass], vocabulary);
            const float own = passes[pass].normaliser - passes[pass].logits[token];
            likelihood += own / 2;
            smoothed += ((1 - share) * own + share * (passes[pass].normaliser - passes[pass].mean)) / 2;
        }
        Vector parts[2] = {all(0), all(0)};
        float rest[2] = {0, 0};
        for (int64_t i = 0; i < whole; i += LANES) add(passes, i, many, parts);
        for (int64_t i = whole; i < vocabulary; ++i) add(passes, i, one, rest);
        const float divergence[2] = {sum_of(parts[0]) + rest[0], -sum_of(parts[1]) - rest[1]};
        for (int64_t i = 0; i < whole; i += LANES) {
            Vector made[2];
            gradients(passes, i, many, divergence, made);
            for (int pass = 0; pass < 2; ++pass) store(rows[pass] + i, made[pass]);
        }
        for (int64_t i = whole; i < vocabulary; ++i) write(passes, i, divergence, rows, 0.0f);
        write(passes, token, divergence, rows, (share - 1) / 2);
        sums[2 * number_of_row] = smoothed + alpha / 4 * (divergence[0] + divergence[1]);
        sums[2 * number_of_row + 1] = likelihood;
    }

    // The gradients of one token, with what is added to them.
    void write(const Pass* passes, int64_t token, const float* divergence, Number** rows, float added) const {
        float made[2];
        gradients(passes, token, one, divergence, made);
        for (int pass = 0; pass < 2; ++pass) put(rows[pass] + token, made[pass] + added);
    }
};

template <class Rows>
void compute(const Rows& losses, int64_t count, int64_t threads) {
    divided(count, threads, [&](int64_t first, int64_t last, int64_t) {
        for (int64_t one = first; one < last; ++one) losses.row(one);
    });
}

}  // namespace

extern "C" {

// Logits (row, vocabulary), rows `step` numbers apart; `right` (row); `sums` (row, 2).
void openwork_loss_float32(float* logits, const int64_t* right, int64_t rows, int64_t vocabulary, int64_t step,
                           float share, float* sums, int64_t threads) {
    compute(Loss<float>{logits, right, vocabulary, step, share, sums}, rows, threads);
}

void openwork_loss_bfloat16(BFloat16* logits, const int64_t* right, int64_t rows, int64_t vocabulary, int64_t step,
                            float share, float* sums, int64_t threads) {
    compute(Loss<BFloat16>{logits, right, vocabulary, step, share, sums}, rows, threads);
}

// The same of two passes, with R-Drop.
void openwork_loss_of_two_float32(float* first, float* second, const int64_t* right, int64_t rows, int64_t vocabulary,
                                  int64_t step, int64_t second_step, float share, float alpha, float* sums,
                                  int64_t threads) {
    const TwoLosses<float> losses{{first, second}, right, vocabulary, {step, second_step}, share, alpha, sums};
    compute(losses, rows, threads);
}

void openwork_loss_of_two_bfloat16(BFloat16* first, BFloat16* second, const int64_t* right, int64_t rows,
                                   int64_t vocabulary, int64_t step, int64_t second_step, float share, float alpha,
                                   float* sums, int64_t threads) {
    const TwoLosses<BFloat16> losses{{first, second}, right, vocabulary, {step, second_step}, share, alpha, sums};
    compute(losses, rows, threads);
}
}
