// What the encoder and the decoder share: norms, attention, and sub-layers on a residual stream.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "floats.h"
#include "structures.h"
#include "vectors.h"
#ifdef __AVX512VNNI__
#include "integers.h"
#else
#include "bytes.h"
#endif

namespace {

// (x - mean) / sqrt(variance + epsilon) * gain + shift, of one row.
void normalise(const Norm& norm, const float* x, int width, float* y) {
    const int whole = width / LANES * LANES;  // the rest fills no register
    Vector parts{};
    for (int i = 0; i < whole; i += LANES) parts += load(x + i);
    const float mean = std::accumulate(x + whole, x + width, sum_of(parts)) / static_cast<float>(width);
    Vector squares{};
    for (int i = 0; i < whole; i += LANES) squares = fused(load(x + i) - mean, load(x + i) - mean, squares);
    float sum = sum_of(squares);
    for (int i = whole; i < width; ++i) sum += (x[i] - mean) * (x[i] - mean);
    const float factor = 1.0f / std::sqrt(sum / static_cast<float>(width) + norm.epsilon);
    for (int i = 0; i < whole; i += LANES) {
        const Vector shift = norm.shift ? load(norm.shift + i) : Vector{};
        store(y + i, (load(x + i) - mean) * factor * load(norm.gain + i) + shift);
    }
    for (int i = whole; i < width; ++i) y[i] = (x[i] - mean) * factor * norm.gain[i] + (norm.shift ? norm.shift[i] : 0);
}

void normalise_rows(const Norm& norm, const float* x, int rows, int width, float* y) {
    for (int row = 0; row < rows; ++row)
        normalise(norm, x + static_cast<size_t>(row) * width, width, y + static_cast<size_t>(row) * width);
}

// Numbers that become their softmax, in place; there is room for a whole register after them.
void softmax(float* scores, int count) {
    const int last = (count - 1) / LANES * LANES;  // register, of which others need not be filled
    store(scores + last, places(last) < Whole{} + count ? load(scores + last) : all(-std::numeric_limits<float>::infinity()));
    Vector most = load(scores), sum{};
    for (int i = LANES; i <= last; i += LANES) most = greater(most, load(scores + i));
    const float greatest = greatest_of(most);
    for (int i = 0; i <= last; i += LANES) {
        const Vector made = exponential(load(scores + i) - greatest);
        store(scores + i, made);
        sum += made;
    }
    const float factor = 1.0f / sum_of(sum);
    for (int i = 0; i <= last; i += LANES) store(scores + i, load(scores + i) * factor);
}

// Keys or values that one head sees: of place p the vector that begins at number index[p] * unit.
template <class Cached>
struct Seen {
    const Cached* vectors;
    const int64_t* index;
    ptrdiff_t unit;
    int width;

    const Cached* at(int place) const { return vectors + index[place] * unit; }
};

// q K^T of one query. A register of scores is made at a time, for their sums are added up together.
template <class Cached>
void score(const float* query, const Seen<Cached>& keys, int count, float* scores) {
    const int whole = keys.width / LANES * LANES;
    for (int first = 0; first < count; first += LANES) {
        Vector parts[LANES] = {};
#pragma GCC unroll 4
        for (int four = 0; four < LANES; four += 4) {
            if (first + four >= count) break;
#pragma GCC unroll 4
            for (int i = four; i < four + 4; ++i) {
                const Cached* key = keys.at(std::min(first + i, count - 1));
                for (int j = 0; j < whole; j += LANES) parts[i] = fused(load(query + j), load(key + j), parts[i]);
            }
        }
        store(scores + first, sum_of_each(parts));
    }
    for (int place = 0; whole < keys.width && place < count; ++place)
        for (int i = whole; i < keys.width; ++i) scores[place] += query[i] * number(keys.at(place)[i]);
}

// Of the vectors with their weights PARTS registers from number `begin` on, summed.
template <int PARTS, class Cached>
void weigh(const float* weights, const Seen<Cached>& values, int count, int begin, float* found) {
    Vector sums[2][PARTS] = {};  // two, so that no sum waits for the one before it
    const auto add = [&](int place, Vector (&sum)[PARTS]) {
        const Cached* value = values.at(place) + begin;
        for (int i = 0; i < PARTS; ++i) sum[i] = fused(load(value + i * LANES), all(weights[place]), sum[i]);
    };
    for (int place = 0; place + 1 < count; place += 2) add(place, sums[0]), add(place + 1, sums[1]);
    if (count % 2) add(count - 1, sums[0]);
    for (int i = 0; i < PARTS; ++i) store(found + begin + i * LANES, sums[0][i] + sums[1][i]);
}

// softmax(q K^T) V of one query (equation 1; 1 / sqrt(d_k) stands in the weights of the queries).
template <class Cached>
void attend(const float* query, const Seen<Cached>& keys, const Seen<Cached>& values, int count, float* scores,
            float* found) {
    score(query, keys, count, scores);
    softmax(scores, count);
    int i = 0;
    for (; i + 2 * LANES <= values.width; i += 2 * LANES) weigh<2>(scores, values, count, i, found);
    for (; i + LANES <= values.width; i += LANES) weigh<1>(scores, values, count, i, found);
    for (; i < values.width; ++i) {
        found[i] = 0;
        for (int place = 0; place < count; ++place) found[i] += number(values.at(place)[i]) * scores[place];
    }
}

// A residual stream (rows, width) and its sub-layers, with products of one kind.
template <class Rows>
struct Stream {
    Rows taken;  // what the products read
    std::vector<float> x, normed;
    int rows = 0, width = 0;
    bool norm_first = true;

    void begin(int new_rows, int new_width, bool pre_norm) {
        rows = new_rows, width = new_width, norm_first = pre_norm;
        x.resize(static_cast<size_t>(rows) * width);
        normed.resize(x.size());
    }

    // What the sub-layer sees: the stream, or its norm.
    void enter(const Norm& norm) {
        if (!norm_first) return taken.take(x.data(), rows, width);
        normalise_rows(norm, x.data(), rows, width, normed.data());
        taken.take(normed.data(), rows, width);
    }

    void multiply(const Product& product, float* y, After after = After::nothing) {
        apply(product, taken, rows, y, after);
    }

    // The sub-layer's last product, added to the stream.
    void leave(const Product& product, const float* from, const Norm& norm) {
        taken.take(from, rows, product.inputs);
        multiply(product, x.data(), After::added);
        if (!norm_first) normalise_rows(norm, x.data(), rows, width, x.data());
    }

    // Equation 2; `room` for the inner vectors.
    void feed_forward(const Product& expand, const Product& contract, const Norm& norm, float* room) {
        enter(norm);
        multiply(expand, room, After::rectified);
        leave(contract, room, norm);
    }

    // The last norm, where there is one; the products then read the stream.
    void end(const Norm& norm) {
        if (norm.gain) normalise_rows(norm, x.data(), rows, width, x.data());
        taken.take(x.data(), rows, width);
    }
};

}  // namespace
