// Products of rows with a matrix in float32.

#pragma once

#include <algorithm>
#include <cstddef>

#include "structures.h"
#include "vectors.h"

namespace {

// Outputs of a product, of which `left` or a register full are there.
inline void write(float* place, Vector made, int left, After after) {
    if (after == After::rectified) made = greater(Vector{}, made);  // of NaN: NaN
    if (left >= LANES) return store(place, after == After::added ? made + load(place) : made);
    float some[LANES];
    store(some, made);
    for (int j = 0; j < left; ++j) place[j] = after == After::added ? some[j] + place[j] : some[j];
}

}  // namespace

namespace floats {

// The sums of TALL rows and PARTS registers of outputs stay in registers: 24 of 32, or 12 of 16 with AVX2.
constexpr int PARTS = LANES == 8 ? 3 : 4;
constexpr int PANEL = PARTS * LANES;     // outputs that are computed together
constexpr int TALL = LANES == 8 ? 4 : 6;  // rows that are computed together
constexpr int TOGETHER = 72 * TALL;       // rows for which the weights are read once

// Rows as the products take them: as they are.
struct Rows {
    using Cached = float;  // keys and values

    const float* numbers = nullptr;

    void take(const float* x, int, int) { numbers = x; }
};

// Of ROWS rows the first USED registers of a panel's outputs. Weights: [outputs / PANEL][inputs][PANEL]. Each sum is
// formed in the order of the inputs, whatever ROWS is: so what becomes of a row does not depend on its company.
template <int ROWS, int USED>
void rows_of_panel(const Product& product, int panel, const float* x, float* y, After after) {
    Vector sums[ROWS][USED] = {};
    const float* weights = static_cast<const float*>(product.weights) + static_cast<size_t>(panel) * product.inputs;
    for (int k = 0; k < product.inputs; ++k, weights += PANEL) {
        Vector part[USED];
        for (int i = 0; i < USED; ++i) part[i] = load(weights + i * LANES);
        for (int row = 0; row < ROWS; ++row) {
            const Vector same = all(x[static_cast<size_t>(row) * product.inputs + k]);
            for (int i = 0; i < USED; ++i) sums[row][i] = fused(part[i], same, sums[row][i]);
        }
    }
#pragma GCC unroll 4  // GCC keeps an array in memory, above too, if a loop counts through it
    for (int i = 0; i < USED; ++i) {
        const int begin = panel + i * LANES, left = product.outputs - begin;
        const Vector bias = product.bias ? load(product.bias + begin) : Vector{};
#pragma GCC unroll 6
        for (int row = 0; row < ROWS; ++row) {
            float* place = y + static_cast<size_t>(row) * product.outputs + begin;
            Vector made = sums[row][i] + bias;
            write(place, made, left, after);
        }
    }
}

template <int USED>
void panel_of_rows(const Product& product, int panel, const float* x, int rows, float* y, After after) {
    const auto at = [&](int row) { return x + static_cast<size_t>(row) * product.inputs; };
    const auto to = [&](int row) { return y + static_cast<size_t>(row) * product.outputs; };
    int row = 0;
    for (; row + TALL <= rows; row += TALL) rows_of_panel<TALL, USED>(product, panel, at(row), to(row), after);
    switch (rows - row) {
        case 5: rows_of_panel<std::min(5, TALL), USED>(product, panel, at(row), to(row), after); break;
        case 4: rows_of_panel<4, USED>(product, panel, at(row), to(row), after); break;
        case 3: rows_of_panel<3, USED>(product, panel, at(row), to(row), after); break;
        case 2: rows_of_panel<2, USED>(product, panel, at(row), to(row), after); break;
        case 1: rows_of_panel<1, USED>(product, panel, at(row), to(row), after); break;
        default: break;
    }
}

inline void some_rows(const Product& product, const float* x, int rows, float* y, After after) {
    for (int panel = 0; panel < product.outputs; panel += PANEL) {
        const int used = (product.outputs - panel + LANES - 1) / LANES;
        switch (std::min(used, PARTS)) {
            case 1: panel_of_rows<1>(product, panel, x, rows, y, after); break;
            case 2: panel_of_rows<2>(product, panel, x, rows, y, after); break;
            case 3: panel_of_rows<3>(product, panel, x, rows, y, after); break;
            default: panel_of_rows<PARTS>(product, panel, x, rows, y, after); break;
        }
    }
}

// Some rows at a time, so that what is written of a large vocabulary stays near.
inline void apply(const Product& product, const Rows& x, int rows, float* y, After after = After::nothing) {
    for (int first = 0; first < rows; first += TOGETHER)
        some_rows(product, x.numbers + static_cast<size_t>(first) * product.inputs, std::min(TOGETHER, rows - first),
                  y + static_cast<size_t>(first) * product.outputs, after);
}

}  // namespace floats
