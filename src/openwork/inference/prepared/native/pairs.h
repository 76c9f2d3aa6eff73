// Products of rows with a matrix in integers of eight bits where no instruction adds up four bytes: AVX2, NEON, and
// AVX-512 without VNNI. Two products at a time, in integers of sixteen bits, so that no sum overflows.
//
// The sums are those of integers.h.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "floats.h"
#include "structures.h"
#include "vectors.h"

namespace integers {

constexpr int PARTS = 2;              // registers of outputs
constexpr int PANEL = PARTS * LANES;  // outputs that are computed together
constexpr int GROUP = 2;              // inputs whose products are added up at once
constexpr int TALL = LANES == 8 ? 6 : 8;  // rows that are computed together
constexpr int TOGETHER = 32 * TALL;       // rows for which the weights are read once

// [outputs / PANEL][inputs / GROUP][PANEL][GROUP]
inline const int8_t* weights_of(const Product& product) { return static_cast<const int8_t*>(product.weights); }

// Weights of LANES outputs and two inputs each, and what is added to LANES sums for two numbers of a row.
#if OPENWORK_LANES == 16
using Pairs = __m512i;
inline Pairs widened(const int8_t* from) { return _mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i*)from)); }
inline Whole added(Pairs weights, int32_t two) { return (Whole)_mm512_madd_epi16(weights, _mm512_set1_epi32(two)); }
#elif OPENWORK_LANES == 8
using Pairs = __m256i;
inline Pairs widened(const int8_t* from) { return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i*)from)); }
inline Whole added(Pairs weights, int32_t two) { return (Whole)_mm256_madd_epi16(weights, _mm256_set1_epi32(two)); }
#else
using Pairs = int16x8_t;
inline Pairs widened(const int8_t* from) { return vmovl_s8(vld1_s8(from)); }
inline Whole added(Pairs weights, int32_t two) {
    const int16x8_t same = vreinterpretq_s16_s32(vdupq_n_s32(two));
    return (Whole)vpaddq_s32(vmull_s16(vget_low_s16(weights), vget_low_s16(same)), vmull_high_s16(weights, same));
}
#endif

// Rows as integers, each with a scale of its own: what a row becomes does not depend on the rows beside it.
struct Rows {
    using Cached = BFloat16;  // keys and values

    std::vector<int16_t> numbers;  // from -127 to 127
    std::vector<float> steps;      // what one step of the integers is
    int width = 0;

    void take(const float* x, int rows, int columns) {
        width = columns;
        numbers.resize(static_cast<size_t>(rows) * columns);
        steps.resize(rows);
        for (int row = 0; row < rows; ++row) take_row(x + static_cast<size_t>(row) * columns, row);
    }

    void take_row(const float* x, int row) {
        const auto part = [&](int begin) {
            if (begin + LANES <= width) return load(x + begin);
            float some[LANES] = {};
            std::copy(x + begin, x + width, some);
            return load(some);
        };
        Vector most{}, nothing{};
        for (int i = 0; i < width; i += LANES) {
            most = greater(most, greater(part(i), -part(i)));
            nothing += part(i) * 0.0f;  // not a number where one of them is none
        }
        const float greatest = greatest_of(most), factor = greatest > 0 ? 127.0f / greatest : 0.0f;
        int16_t* made = numbers.data() + static_cast<size_t>(row) * width;
        for (int i = 0; i < width; i += LANES) {
            const Whole whole = rounded(part(i) * factor);
            for (int j = 0; j < std::min(LANES, width - i); ++j) made[i + j] = static_cast<int16_t>(whole[j]);
        }
        // what is no number may not become one by being rounded
        steps[row] = sum_of(nothing) == 0.0f ? greatest / 127.0f : std::numeric_limits<float>::quiet_NaN();
    }
};

// The products of ROWS rows with one panel of weights.
template <int ROWS>
void rows_of_panel(const Product& product, int panel, const Rows& x, int first, float* y, After after) {
    const int inputs = product.inputs;
    const int8_t* weights = weights_of(product) + static_cast<size_t>(panel) * inputs;
    const int16_t* numbers = x.numbers.data() + static_cast<size_t>(first) * inputs;
    Whole sums[ROWS][PARTS] = {};
    for (int k = 0; k < inputs; k += GROUP, weights += PANEL * GROUP) {
        Pairs two[PARTS];
        for (int part = 0; part < PARTS; ++part) two[part] = widened(weights + part * LANES * GROUP);
        for (int row = 0; row < ROWS; ++row) {
            int32_t same;
            std::memcpy(&same, numbers + static_cast<size_t>(row) * inputs + k, sizeof same);
            for (int part = 0; part < PARTS; ++part) sums[row][part] += added(two[part], same);
        }
    }
    for (int part = 0; part < PARTS; ++part) {
        const int begin = panel + part * LANES, left = product.outputs - begin;
        if (left <= 0) return;
        const Vector scales = load(product.scales + begin);
        const Vector bias = product.bias ? load(product.bias + begin) : Vector{};
        for (int row = 0; row < ROWS; ++row) {
            float* place = y + static_cast<size_t>(first + row) * product.outputs + begin;
            const Vector sum = __builtin_convertvector(sums[row][part], Vector);
            write(place, sum * (scales * x.steps[first + row]) + bias, left, after);
        }
    }
}

template <int ROWS>
void rest_of_panel(const Product& product, int panel, const Rows& x, int first, int rows, float* y, After after) {
    if (rows == ROWS) return rows_of_panel<ROWS>(product, panel, x, first, y, after);
    if constexpr (ROWS > 1) rest_of_panel<ROWS - 1>(product, panel, x, first, rows, y, after);
}

inline void some_rows(const Product& product, const Rows& x, int first, int end, float* y, After after) {
    for (int panel = 0; panel < product.outputs; panel += PANEL) {
        int row = first;
        for (; row + TALL <= end; row += TALL) rows_of_panel<TALL>(product, panel, x, row, y, after);
        rest_of_panel<TALL - 1>(product, panel, x, row, end - row, y, after);
    }
}

// Some rows at a time, so that what is written of a large vocabulary stays near.
inline void apply(const Product& product, const Rows& x, int rows, float* y, After after = After::nothing) {
    for (int first = 0; first < rows; first += TOGETHER)
        some_rows(product, x, first, std::min(rows, first + TOGETHER), y, after);
}

}  // namespace integers
