// Products of rows with a matrix in integers of eight bits. Needs AVX-512 with VNNI.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "structures.h"
#include "tiles.h"
#include "vectors.h"

namespace integers {

constexpr int ADDED_TO_WEIGHTS = 128, ADDED_TO_ROWS = 0, MOST_OF_TWO = 0;
constexpr int TALL = 6;    // rows that are computed together: 24 registers of sums, four of weights
constexpr int TOGETHER = 8 * TALL;  // rows for which the weights are read once

// The lanes of a register that `left` numbers fill.
inline __mmask16 first_lanes(int left) { return left >= LANES ? 0xFFFF : static_cast<__mmask16>((1u << left) - 1); }

// [outputs / PANEL][inputs / FOUR][PANEL][FOUR], each plus 128
inline const uint8_t* weights_of(const Product& product) { return static_cast<const uint8_t*>(product.weights); }

// Rows as integers, each with a scale of its own: what a row becomes does not depend on the rows beside it.
struct Rows {
    using Cached = BFloat16;  // keys and values

    std::vector<int8_t> numbers;
    std::vector<float> steps;   // what one step of the integers is
    std::vector<int32_t> sums;  // of the integers of a row
    int width = 0, stride = 0;  // stride: with zeros up to a whole tile

    const int8_t* row(int number) const { return numbers.data() + static_cast<size_t>(number) * stride; }

    void take(const float* x, int rows, int columns) {
        width = columns;
        stride = (columns + TILE - 1) / TILE * TILE;
        numbers.resize(static_cast<size_t>(rows + MOST - 1) * stride);  // a tile reads beyond the last rows
        steps.resize(rows);
        sums.resize(rows);
        for (int row = 0; row < rows; ++row) take_row(x + static_cast<size_t>(row) * columns, row);
    }

    void take_row(const float* x, int row) {
        constexpr int NOT_FINITE = 0x7F800000;  // bits from which on a number without its sign is infinite or none
        const int whole = width / LANES * LANES;
        const __mmask16 rest = first_lanes(width - whole);
        const __m512i unsign = _mm512_set1_epi32(0x7FFFFFFF);
        __m512i most = _mm512_and_si512(_mm512_maskz_loadu_epi32(rest, x + whole), unsign);
        for (int i = 0; i < whole; i += LANES)
            most = _mm512_max_epu32(most, _mm512_and_si512(_mm512_loadu_si512(x + i), unsign));
        const int bits = _mm512_reduce_max_epi32(most);
        float greatest;
        std::memcpy(&greatest, &bits, sizeof greatest);
        const __m512 factor = _mm512_set1_ps(greatest > 0 ? 127.0f / greatest : 0.0f);
        int8_t* made = numbers.data() + static_cast<size_t>(row) * stride;
        std::fill(made + whole, made + stride, 0);
        __m512i sum = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_maskz_loadu_ps(rest, x + whole), factor));
        _mm512_mask_cvtepi32_storeu_epi8(made + whole, rest, sum);
        for (int i = 0; i < whole; i += LANES) {
            const __m512i number = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(x + i), factor));
            sum = _mm512_add_epi32(sum, number);
            _mm_storeu_si128(reinterpret_cast<__m128i*>(made + i), _mm512_cvtepi32_epi8(number));
        }
        // what is no number may not become one by being rounded
        steps[row] = bits >= NOT_FINITE ? std::numeric_limits<float>::quiet_NaN() : greatest / 127.0f;
        sums[row] = _mm512_reduce_add_epi32(sum);
    }
};

// Where the sums of up to MOST rows with one panel come to stand; of unsigned weights, so 128 times the row's sum too
// high.
using Sums = int32_t[MOST][PANEL];

// The products of ROWS rows with one panel of weights.
template <int ROWS>
void multiply(const Rows& x, int first, int inputs, const uint8_t* weights, Sums& made) {
    const int8_t* numbers = x.row(first);
    __m512i sums[ROWS][4];
    for (auto& row : sums)
        for (auto& sum : row) sum = _mm512_setzero_si512();
    for (int k = 0; k < inputs; k += FOUR, weights += PANEL * FOUR) {
        __m512i four[4];
        for (int part = 0; part < 4; ++part) four[part] = _mm512_loadu_si512(weights + part * PANEL);
        for (int row = 0; row < ROWS; ++row) {
            int32_t bytes;
            std::memcpy(&bytes, numbers + static_cast<size_t>(row) * x.stride + k, FOUR);
            const __m512i same = _mm512_set1_epi32(bytes);
            for (int part = 0; part < 4; ++part) sums[row][part] = _mm512_dpbusd_epi32(sums[row][part], four[part], same);
        }
    }
#pragma GCC unroll 6  // GCC keeps an array in memory, above too, if a loop counts through it
    for (int row = 0; row < ROWS; ++row)
        for (int part = 0; part < 4; ++part) _mm512_store_si512(made[row] + part * LANES, sums[row][part]);
}

// From sums of integers to numbers.
inline void give(const Product& product, int panel, const Rows& x, int first, int rows, const Sums& sums, float* y,
                 After after) {
    __mmask16 masks[4];
    __m512 scales[4], bias[4];
    for (int part = 0; part < 4; ++part) {
        const int begin = panel + part * LANES, left = product.outputs - begin;
        masks[part] = left > 0 ? first_lanes(left) : 0;
        scales[part] = _mm512_maskz_loadu_ps(masks[part], product.scales + begin);
        bias[part] = product.bias ? _mm512_maskz_loadu_ps(masks[part], product.bias + begin) : _mm512_setzero_ps();
    }
    for (int row = 0; row < rows; ++row) {
        float* place = y + static_cast<size_t>(first + row) * product.outputs + panel;
        const __m512i high = _mm512_set1_epi32(128 * x.sums[first + row]);
        const __m512 step = _mm512_set1_ps(x.steps[first + row]);
        for (int part = 0; part < 4; ++part) {
            const __m512i sum = _mm512_sub_epi32(_mm512_load_si512(sums[row] + part * LANES), high);
            __m512 made = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum), _mm512_mul_ps(scales[part], step), bias[part]);
            if (after == After::rectified) made = _mm512_max_ps(_mm512_setzero_ps(), made);  // of NaN: NaN
            if (after == After::added)
                made = _mm512_add_ps(made, _mm512_maskz_loadu_ps(masks[part], place + part * LANES));
            _mm512_mask_storeu_ps(place + part * LANES, masks[part], made);
        }
    }
}

inline void multiply_some(const Rows& x, int first, int rows, int inputs, const uint8_t* weights, Sums& sums) {
    switch (rows) {
        case 1: return multiply<1>(x, first, inputs, weights, sums);
        case 2: return multiply<2>(x, first, inputs, weights, sums);
        case 3: return multiply<3>(x, first, inputs, weights, sums);
        case 4: return multiply<4>(x, first, inputs, weights, sums);
        case 5: return multiply<5>(x, first, inputs, weights, sums);
        default: return multiply<TALL>(x, first, inputs, weights, sums);
    }
}

inline void some_rows(const Product& product, const Rows& x, int first, int end, float* y, After after) {
    alignas(64) Sums sums;
    const Tiles tiles(end - first);
    for (int panel = 0; panel < product.outputs; panel += PANEL) {
        const uint8_t* weights = weights_of(product) + static_cast<size_t>(panel) * product.inputs;
        for (int row = first, rows; row < end; row += rows) {
            rows = tiles.rows(end - row);
            if (rows) tiles.multiply(x.row(row), x.stride, weights, sums);
            else multiply_some(x, row, rows = std::min(TALL, end - row), product.inputs, weights, sums);
            give(product, panel, x, row, rows, sums, y, after);
        }
    }
}

// Some rows at a time, so that what is written of a large vocabulary stays near.
inline void apply(const Product& product, const Rows& x, int rows, float* y, After after = After::nothing) {
    for (int first = 0; first < rows; first += TOGETHER)
        some_rows(product, x, first, std::min(rows, first + TOGETHER), y, after);
}

}  // namespace integers
