// Products of matrices in bfloat16 by AVX-512's instruction for pairs of neighbours. Of a linear layer:
//
//     Y = X W^T + b, or max(0, .) of it;  dX = dY W;  dW = dY^T X
//
// A tile of the result, 12 rows by 32 columns, stays in registers, in float32, while pairs are added up. The right
// factor is packed in panels of 32 columns, pair of rows after pair of rows: a tile reads it from one end to the other.
// The rows of X and dY are read where they are; the columns of dY, which are the rows of dY^T, are packed.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "division.h"
#include "pairs.h"
#include "room.h"
#include "vectors.h"

// products.py has the same fields: out (rows, columns) = left (rows, count) right (count, columns).
struct PairProductFields {
    const void *left, *right, *bias;  // bias: (columns), or null
    void *out, *packed;               // packed: memory for the panels of the right factor
    int64_t left_step, right_step, out_step, rows, columns, count, threads, is_rectified;
};

#if OPENWORK_PAIRS

namespace {

constexpr int ROWS = 12, VECTORS = 2, PANEL = VECTORS * LANES;
constexpr int64_t BLOCK = 1024;     // pairs that are added up in registers: so many of a panel stay in a core's cache
constexpr int64_t LEFT = 128 * 1024;  // pairs of the left factor that stay there while all panels pass by
constexpr int64_t TOGETHER = 4;     // pairs of rows that are packed for all panels, so that a cache line is read once

constexpr __mmask16 ALL = 0xFFFF;
inline __mmask16 first_lanes(int64_t count) { return count >= LANES ? ALL : count <= 0 ? 0 : (1u << count) - 1; }

// The numbers of the lanes in a mask; those of the others are zeros.
inline Bits load_some(const BFloat16* from, __mmask16 mask) {
    return (Bits)_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, from));
}
inline Vector load_some(const void* from, __mmask16 mask) {
    return (Vector)_mm512_maskz_loadu_ps(mask, from);
}

// Panels [panel][pair of rows][WIDTH columns] of (rows, columns); beyond the last row and column are zeros.
template <int WIDTH>
void pack(const BFloat16* from, int64_t step, int64_t rows, int64_t columns, Pair* to) {
    const int64_t pairs = (rows + 1) / 2;
    for (int64_t begin = 0; begin < pairs; begin += TOGETHER)
        for (int64_t column = 0; column < columns; column += WIDTH)
            for (int64_t pair = begin; pair < std::min(pairs, begin + TOGETHER); ++pair)
                for (int64_t i = 0; i < WIDTH; i += LANES) {
                    const __mmask16 real = first_lanes(std::min<int64_t>(columns - column, WIDTH) - i);
                    const BFloat16* one = from + 2 * pair * step + column + i;
                    __builtin_prefetch(one + 2 * TOGETHER * step);
                    __builtin_prefetch(one + (2 * TOGETHER + 1) * step);
                    const Bits high = 2 * pair + 1 < rows ? load_some(one + step, real) << 16 : Bits{};
                    // What goes beyond WIDTH is written again with the next pair.
                    const __mmask16 kept = pair + 1 < pairs ? ALL : first_lanes(WIDTH - i);
                    Pair* place = to + column * pairs + pair * WIDTH + i;
                    _mm512_mask_storeu_epi32(place, kept, (__m512i)(load_some(one, real) | high));
                }
}

// The same of (columns, 2 pairs) with its rows and columns exchanged.
void pack_turned(const Pair* from, int64_t step, int64_t columns, int64_t pairs, Pair* to) {
    for (int64_t column = 0; column < (columns + PANEL - 1) / PANEL * PANEL; column += LANES)
        for (int64_t pair = 0; pair < pairs; pair += LANES) {
            const __mmask16 real = first_lanes(pairs - pair);
            Vector rows[LANES];
            for (int lane = 0; lane < LANES; ++lane)
                rows[lane] = column + lane < columns ? load_some(from + (column + lane) * step + pair, real) : all(0);
            transpose(rows);
            Pair* place = to + column / PANEL * PANEL * pairs + pair * PANEL + column % PANEL;
            for (int lane = 0; lane < LANES && pair + lane < pairs; ++lane)
                store(place + lane * PANEL, Pairs{rows[lane]});
        }
}

// The next pairs of some rows of the left factor, where they are. Two addresses and multiples of the step name them.
struct Along {
    const Pair *first, *seventh;
    int64_t step, three, five;

    Along(const Pair* from, int64_t row_step)
        : first(from), seventh(from + 6 * row_step), step(row_step), three(3 * row_step), five(5 * row_step) {
        asm("" : "+r"(seventh), "+r"(step), "+r"(three), "+r"(five));  // else compilers keep more addresses than fit
    }
    template <int ROW>
    Pair of() const {
        constexpr int PLACE = ROW % 6;
        return *((ROW < 6 ? first : seventh) + (PLACE == 3 ? three : PLACE == 5 ? five : PLACE * step));
    }
    const Pair* beginning() const { return first; }
    void go_on() { ++first, ++seventh; }
};

// The same of a panel.
struct Packed {
    const Pair* from;

    template <int ROW>
    Pair of() const { return from[ROW]; }
    const Pair* beginning() const { return from; }
    void go_on() { from += ROWS; }
};

// Where sums go to. They begin with what is there unless `is_first`, and stay in float32 unless `is_last`.
struct Target {
    float* sums;
    BFloat16* out;
    const BFloat16* bias;
    int64_t sums_step, out_step, columns;
    bool is_first, is_last, is_rectified;
};

// `coming`: what the next tile reads of the left factor, which is prefetched with each pair.
template <int COUNT, class Left, int... ROW>
inline void add_up(Left left, const Pair* coming, const Pair* right, int64_t pairs, Vector (&sums)[COUNT][VECTORS],
                   std::integer_sequence<int, ROW...>) {
    const auto add = [](Vector(&sum)[VECTORS], Pairs factor, Pairs one, Pairs other) {
        sum[0] = fused(factor, one, sum[0]);
        sum[1] = fused(factor, other, sum[1]);
    };
    for (int64_t pair = 0; pair < pairs; ++pair, left.go_on(), right += PANEL, coming += COUNT) {
        __builtin_prefetch(coming);
        const Pairs one = load(right), other = load(right + LANES);
        (add(sums[ROW], all(left.template of<ROW>()), one, other), ...);
    }
}

// Calls task(row, v, sum) for each sum of a tile.
template <int COUNT, class Task>
inline void for_each(Vector (&sums)[COUNT][VECTORS], Task task) {
#pragma GCC unroll 16
    for (int row = 0; row < COUNT; ++row)
#pragma GCC unroll 2
        for (int v = 0; v < VECTORS; ++v) task(row, v, sums[row][v]);
}

// A function of its own: inlined, compilers keep the sums in memory.
template <int COUNT, class Left>
__attribute__((noinline)) void tile(Left left, const Pair* coming, const Pair* right, int64_t pairs,
                                    const Target& target, int64_t row, int64_t column) {
    Vector sums[COUNT][VECTORS], bias[VECTORS] = {};
    __mmask16 real[VECTORS];
    for (int v = 0; v < VECTORS; ++v) {
        real[v] = first_lanes(target.columns - column - v * LANES);
        if (target.bias) bias[v] = (Vector)(load_some(target.bias + column + v * LANES, real[v]) << 16);
    }
    float* kept = target.sums + row * target.sums_step + column;
    BFloat16* out = target.out + row * target.out_step + column;
    for_each(sums, [&](int r, int v, Vector& sum) {
        sum = target.is_first ? all(0) : load_some(kept + r * target.sums_step + v * LANES, real[v]);
    });
    if (target.is_last)
        for (int r = 0; r < COUNT; ++r) __builtin_prefetch(out + r * target.out_step, 1);
    add_up(left, coming, right, pairs, sums, std::make_integer_sequence<int, COUNT>());
    if (!target.is_last)
        return for_each(sums, [&](int r, int v, Vector& sum) {
            _mm512_mask_storeu_ps(kept + r * target.sums_step + v * LANES, real[v], (__m512)sum);
        });
    if (target.bias) for_each(sums, [&](int, int v, Vector& sum) { sum += bias[v]; });
    if (target.is_rectified) for_each(sums, [&](int, int, Vector& sum) { sum = greater(all(0), sum); });
    if (column + PANEL <= target.columns)
        return for_each(sums, [&](int r, int v, Vector& sum) { store(out + r * target.out_step + v * LANES, sum); });
    for_each(sums, [&](int r, int v, Vector& sum) {
        const __m256i halves = (__m256i)_mm512_cvtneps_pbh((__m512)sum);
        _mm256_mask_storeu_epi16(out + r * target.out_step + v * LANES, real[v], halves);
    });
}

// A tile of as many rows as there are, at most ROWS.
template <int COUNT = ROWS, class Left>
void tile_of(int64_t rows, Left left, const Pair* coming, const Pair* right, int64_t pairs, const Target& target,
             int64_t row, int64_t column) {
    if (rows >= COUNT) return tile<COUNT>(left, coming, right, pairs, target, row, column);
    if constexpr (COUNT > 1) tile_of<COUNT - 1>(rows, left, coming, right, pairs, target, row, column);
}

struct ProductRoom {
    std::vector<Pair> left;
    std::vector<float> sums;
};

// Some rows of a product whose right factor is packed, in blocks that fit into a core's cache. `left_of` gives, for the
// rows and pairs of a block, a function that gives the left factor from one of its rows on. With `is_sum` the sums are
// added to what is there.
template <class LeftOf>
void product(const PairProductFields& fields, Target target, int64_t first, int64_t last, bool is_sum, LeftOf left_of) {
    const Pair* right = static_cast<const Pair*>(fields.packed);
    const int64_t pairs = (fields.count + 1) / 2, most = std::min(pairs, BLOCK);
    const int64_t together = std::max<int64_t>(1, LEFT / std::max<int64_t>(1, most) / ROWS) * ROWS;
    ProductRoom& room = own_room<ProductRoom>();
    if (!is_sum) {
        room.sums.resize(pairs > BLOCK ? together * fields.columns : 0);
        target.sums_step = fields.columns;
    }
    const Target whole = target;
    for (int64_t begin = first; begin < last; begin += together) {
        const int64_t rows = std::min(together, last - begin);
        target.out = whole.out + begin * fields.out_step;
        target.sums = is_sum ? whole.sums + begin * whole.sums_step : room.sums.data();
        for (int64_t pair = 0; pair < pairs; pair += BLOCK) {
            const int64_t count = std::min(BLOCK, pairs - pair);
            target.is_first = !is_sum && pair == 0;
            target.is_last = !is_sum && pair + count == pairs;
            const auto left = left_of(begin, rows, pair, count, room.left);
            for (int64_t column = 0; column < fields.columns; column += PANEL) {
                const Pair* panel = right + column * pairs + pair * PANEL;
                for (int64_t row = 0; row < rows; row += ROWS)
                    tile_of(rows - row, left(row), left(row + ROWS).beginning(), panel, count, target, row, column);
            }
        }
    }
}

Target target_of(const PairProductFields& fields) {
    return {nullptr, static_cast<BFloat16*>(fields.out), static_cast<const BFloat16*>(fields.bias), 0, fields.out_step,
            fields.columns, true, true, fields.is_rectified != 0};
}

// For a left factor whose rows are those of a matrix.
void by_rows(const PairProductFields& fields) {
    const int64_t step = fields.left_step / 2;
    divided(fields.rows, fields.threads, [&](int64_t first, int64_t last, int64_t) {
        const auto left_of = [&](int64_t begin, int64_t, int64_t pair, int64_t, std::vector<Pair>&) {
            const Pair* from = static_cast<const Pair*>(fields.left) + begin * step + pair;
            return [=](int64_t row) { return Along(from + row * step, step); };
        };
        product(fields, target_of(fields), first, last, false, left_of);
    });
}

// For a left factor whose rows are the columns of a matrix.
void by_columns(const PairProductFields& fields, Target target, bool is_sum) {
    pack<PANEL>(static_cast<const BFloat16*>(fields.right), fields.right_step, fields.count, fields.columns,
                static_cast<Pair*>(fields.packed));
    divided(fields.rows, fields.threads, [&](int64_t first, int64_t last, int64_t) {
        const auto left_of = [&](int64_t begin, int64_t rows, int64_t pair, int64_t pairs, std::vector<Pair>& room) {
            room.resize((rows + ROWS - 1) / ROWS * ROWS * pairs);
            const auto* from = static_cast<const BFloat16*>(fields.left) + 2 * pair * fields.left_step + begin;
            pack<ROWS>(from, fields.left_step, std::min(2 * pairs, fields.count - 2 * pair), rows, room.data());
            return [panels = room.data(), pairs](int64_t row) { return Packed{panels + row * pairs}; };
        };
        product(fields, target, first, last, is_sum, left_of);
    });
}

}  // namespace

#endif

extern "C" {

int openwork_has_pairs() { return OPENWORK_PAIRS; }

#if OPENWORK_PAIRS
// right: W (columns, count). The widths of X and W are even.
void openwork_product_turned_bfloat16(const PairProductFields* fields) {
    pack_turned(static_cast<const Pair*>(fields->right), fields->right_step / 2, fields->columns, fields->count / 2,
                static_cast<Pair*>(fields->packed));
    by_rows(*fields);
}

// right: W (count, columns); `count` is even.
void openwork_product_bfloat16(const PairProductFields* fields) {
    pack<PANEL>(static_cast<const BFloat16*>(fields->right), fields->right_step, fields->count, fields->columns,
                static_cast<Pair*>(fields->packed));
    by_rows(*fields);
}

// left: (count, rows), right: (count, columns).
void openwork_product_of_columns_bfloat16(const PairProductFields* fields) {
    by_columns(*fields, target_of(*fields), false);
}

// The same, added to `out` in float32.
void openwork_add_product_of_columns_bfloat16(const PairProductFields* fields) {
    Target target = target_of(*fields);
    target.sums = static_cast<float*>(fields->out), target.sums_step = fields->columns, target.out = nullptr;
    by_columns(*fields, target, true);
}
#endif
}
