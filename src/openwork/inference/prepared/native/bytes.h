// Products of rows with a matrix in integers of eight bits without AVX-512 VNNI: AVX2, AVX-VNNI, older AVX-512, NEON.
//
// The sums are exact, as those of integers.h. x86 multiplies unsigned bytes by signed ones, so 128 is added to the
// numbers of a row, and what that adds to the sums of a panel stands before its weights, with the sign changed. AVX2
// adds up two products in sixteen bits: two weights of one sign, side by side, are at most MOST_OF_TWO together.

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
constexpr int TALL = LANES == 8 ? 5 : 8;  // rows that are computed together
constexpr int TOGETHER = 32 * TALL;       // rows for which the weights are read once
constexpr int ADDED_TO_WEIGHTS = 0;

// What is added to LANES sums: of four bytes of a row with the weights of their outputs.
#if OPENWORK_LANES == 4
constexpr int ADDED_TO_ROWS = 0, MOST_OF_TWO = 0;  // 0: any
using Bytes = int8x16_t;
inline Whole added(Whole sums, Bytes weights, int32_t four) {
    const int8x16_t same = vreinterpretq_s8_s32(vdupq_n_s32(four));
#ifdef __ARM_FEATURE_DOTPROD
    return (Whole)vdotq_s32((int32x4_t)sums, weights, same);
#else
    const int16x8_t low = vmull_s8(vget_low_s8(weights), vget_low_s8(same)), high = vmull_high_s8(weights, same);
    return (Whole)vpadalq_s16((int32x4_t)sums, vpaddq_s16(low, high));
#endif
}
#elif defined(__AVXVNNI__)
constexpr int ADDED_TO_ROWS = 128, MOST_OF_TWO = 0;
using Bytes = __m256i;
inline Whole added(Whole sums, Bytes weights, int32_t four) {
    return (Whole)_mm256_dpbusd_avx_epi32((__m256i)sums, _mm256_set1_epi32(four), weights);
}
#elif OPENWORK_LANES == 8
constexpr int ADDED_TO_ROWS = 128, MOST_OF_TWO = 128;  // 255 * 128 < 2^15
using Bytes = __m256i;
inline Whole added(Whole sums, Bytes weights, int32_t four) {
    const __m256i twos = _mm256_maddubs_epi16(_mm256_set1_epi32(four), weights);
    return sums + (Whole)_mm256_madd_epi16(twos, _mm256_set1_epi16(1));
}
#else
constexpr int ADDED_TO_ROWS = 128, MOST_OF_TWO = 128;
using Bytes = __m512i;
inline Whole added(Whole sums, Bytes weights, int32_t four) {
    const __m512i twos = _mm512_maddubs_epi16(_mm512_set1_epi32(four), weights);
    return sums + (Whole)_mm512_madd_epi16(twos, _mm512_set1_epi16(1));
}
#endif

constexpr int HEAD = ADDED_TO_ROWS ? PANEL * static_cast<int>(sizeof(int32_t)) : 0;  // bytes before a panel's weights

// [outputs / PANEL], each with what its sums begin with, and its weights [inputs / FOUR][PANEL][FOUR]
inline const int8_t* panel_of(const Product& product, int panel) {
    return static_cast<const int8_t*>(product.weights) + static_cast<size_t>(panel / PANEL) * (HEAD + PANEL * product.inputs);
}

template <class Register>
inline Register at(const int8_t* place) {
    Register made;
    std::memcpy(&made, place, sizeof made);
    return made;
}

// Rows as integers, each with a scale of its own: what a row becomes does not depend on the rows beside it.
struct Rows {
    using Cached = BFloat16;  // keys and values

    std::vector<uint8_t> numbers;  // from -127 to 127, and what is added to rows
    std::vector<float> steps;      // what one step of the integers is
    int width = 0;

    void take(const float* x, int rows, int columns) {
        width = columns;
        numbers.resize(static_cast<size_t>(rows) * columns);
        steps.resize(rows);
        for (int row = 0; row < rows; ++row) take_row(x + static_cast<size_t>(row) * columns, row);
    }

    void take_row(const float* x, int row) {
        constexpr int NOT_FINITE = 0x7F800000;  // bits from which on a number without its sign is infinite or none
        const int whole = width / LANES * LANES;
        float last[LANES] = {};  // what fills no register
        std::copy(x + whole, x + width, last);
        Whole most = (Whole)load(last) & INT32_MAX;
        for (int i = 0; i < whole; i += LANES) most = greater(most, (Whole)load(x + i) & INT32_MAX);
        const int32_t bits = greatest_of(most);
        float greatest;
        std::memcpy(&greatest, &bits, sizeof greatest);
        const float factor = greatest > 0 ? 127.0f / greatest : 0.0f;
        uint8_t* made = numbers.data() + static_cast<size_t>(row) * width;
        for (int i = 0; i < whole; i += LANES) store(made + i, rounded(load(x + i) * factor) + ADDED_TO_ROWS);
        uint8_t rest[LANES];
        store(rest, rounded(load(last) * factor) + ADDED_TO_ROWS);
        std::copy(rest, rest + width - whole, made + whole);
        // what is no number may not become one by being rounded
        steps[row] = bits >= NOT_FINITE ? std::numeric_limits<float>::quiet_NaN() : greatest / 127.0f;
    }
};

// The products of ROWS rows with one panel of weights.
template <int ROWS>
void rows_of_panel(const Product& product, int panel, const Rows& x, int first, float* y, After after) {
    const int inputs = product.inputs;
    const int8_t* weights = panel_of(product, panel);
    const uint8_t* numbers = x.numbers.data() + static_cast<size_t>(first) * inputs;
    Whole sums[ROWS][PARTS];
    for (int part = 0; part < PARTS; ++part) {
        const Whole begun = HEAD ? at<Whole>(weights + part * sizeof(Whole)) : Whole{};
        for (int row = 0; row < ROWS; ++row) sums[row][part] = begun;
    }
    weights += HEAD;
    for (int k = 0; k < inputs; k += FOUR, weights += PANEL * FOUR) {
        Bytes bytes[PARTS];
        for (int part = 0; part < PARTS; ++part) bytes[part] = at<Bytes>(weights + part * sizeof(Bytes));
        for (int row = 0; row < ROWS; ++row) {
            int32_t four;
            std::memcpy(&four, numbers + static_cast<size_t>(row) * inputs + k, sizeof four);
            for (int part = 0; part < PARTS; ++part) sums[row][part] = added(sums[row][part], bytes[part], four);
        }
    }
#pragma GCC unroll 2  // GCC keeps an array in memory, above too, if a loop counts through it
    for (int part = 0; part < PARTS; ++part) {
        const int begin = panel + part * LANES, left = product.outputs - begin;
        if (left <= 0) return;
        const Vector scales = load(product.scales + begin);
        const Vector bias = product.bias ? load(product.bias + begin) : Vector{};
#pragma GCC unroll 8
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
