// Attention of short sentences, forwards and backwards: each head of a sentence is computed in float32 in the cache.
//
// With S = scale Q K^T, A = softmax(S), H = A V, and dX for the gradient of a loss by X:
//
//     dV = A^T dH,  dA = dH V^T,  dS = A * (dA - rowsum(dA * A)),  dQ = scale dS K,  dK = scale dS^T Q
//
// All six products are one function: out = sum over j of a column of one matrix times a row of another.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "division.h"
#include "room.h"
#include "vectors.h"

// attention.py has the same fields. A tensor is (sentence, head, position, width), its numbers of a head side by side.
struct Heads {
    void* numbers;
    int64_t sentence_step, head_step, step;
};

struct AttentionFields {
    Heads query, key, value, output, gradient, by_query, by_key, by_value;
    void* weights;           // (sentence, head, query, padded key): A, which is kept for the way back
    const int64_t* lengths;  // (sentence): of the keys; null: all are real
    int64_t sentences, heads, queries, keys, width, is_causal, threads;
    float scale;
};

namespace {

constexpr float NOTHING = -std::numeric_limits<float>::infinity();

// begin, begin + 1, ...
inline Whole places(int64_t begin) {
    Whole made;
    for (int lane = 0; lane < LANES; ++lane) made[lane] = lane;
    return made + static_cast<int32_t>(begin);
}

// Blocks of rows and columns exchanged, all of them `DISTANCE` wide. The lanes are constants, so that compilers find the
// instruction that moves them.
template <int DISTANCE, int... LANE>
inline void exchange(Vector (&rows)[LANES], std::integer_sequence<int, LANE...> lanes) {
    if constexpr (DISTANCE < LANES) {
        for (int row = 0; row < LANES; ++row) {
            if (row & DISTANCE) continue;
            const Vector one = rows[row], other = rows[row + DISTANCE];
#if defined(__clang__)
            rows[row] = __builtin_shufflevector(one, other, (LANE & DISTANCE ? LANES + LANE - DISTANCE : LANE)...);
            rows[row + DISTANCE] = __builtin_shufflevector(one, other, (LANE & DISTANCE ? LANES + LANE : LANE + DISTANCE)...);
#else
            rows[row] = __builtin_shuffle(one, other, Whole{(LANE & DISTANCE ? LANES + LANE - DISTANCE : LANE)...});
            rows[row + DISTANCE] = __builtin_shuffle(one, other, Whole{(LANE & DISTANCE ? LANES + LANE : LANE + DISTANCE)...});
#endif
        }
        exchange<2 * DISTANCE>(rows, lanes);
    }
}

// Rows and columns exchanged.
inline void transpose(Vector (&rows)[LANES]) { exchange<1>(rows, std::make_integer_sequence<int, LANES>()); }

// A matrix of the one factor: number (row, j) is at row * row_step + j * step.
struct Factor {
    const float* numbers;
    int64_t row_step, step;
};

template <int ROWS, int VECTORS, class Number>
inline void block(Factor left, const float* right, int64_t right_step, int64_t count, Number* out, int64_t out_step) {
    Vector sums[ROWS][VECTORS];
    for (int row = 0; row < ROWS; ++row)
        for (int v = 0; v < VECTORS; ++v) sums[row][v] = all(0);
    for (int64_t j = 0; j < count; ++j) {
        Vector from[VECTORS];
        for (int v = 0; v < VECTORS; ++v) from[v] = load(right + j * right_step + v * LANES);
        for (int row = 0; row < ROWS; ++row) {
            const Vector factor = all(left.numbers[row * left.row_step + j * left.step]);
            for (int v = 0; v < VECTORS; ++v) sums[row][v] = fused(factor, from[v], sums[row][v]);
        }
    }
    for (int row = 0; row < ROWS; ++row)
        for (int v = 0; v < VECTORS; ++v) store(out + row * out_step + v * LANES, sums[row][v]);
}

// Some rows of a product, in blocks of as many columns as fit, then of half as many.
template <int ROWS, int VECTORS, class Number>
void strip(Factor left, const float* right, int64_t count, int64_t columns, Number* out, int64_t out_step,
           int64_t column = 0) {
    for (; column + VECTORS * LANES <= columns; column += VECTORS * LANES)
        block<ROWS, VECTORS>(left, right + column, columns, count, out + column, out_step);
    if constexpr (VECTORS > 1) strip<ROWS, VECTORS / 2>(left, right, count, columns, out, out_step, column);
}

// out (rows, columns) = left (rows, count) right (count, columns); columns fill registers.
//
// The sums of a block fill registers, of which AVX2 has 16 and others 32.
template <int ROWS = LANES == 8 ? 6 : 4, class Number>
void product(Factor left, const float* right, int64_t rows, int64_t count, int64_t columns, Number* out,
             int64_t out_step, int64_t row = 0) {
    constexpr int VECTORS = LANES == 8 ? 2 : 4;
    for (; row + ROWS <= rows; row += ROWS)
        strip<ROWS, VECTORS>(Factor{left.numbers + row * left.row_step, left.row_step, left.step}, right, count, columns,
                             out + row * out_step, out_step);
    if constexpr (ROWS > 1) product<ROWS / 2>(left, right, rows, count, columns, out, out_step, row);
}

struct AttentionRoom {
    std::vector<float> query, key, value, gradient, turned, weights, slopes;
};

template <class Number>
struct Attention {
    const AttentionFields& fields;
    AttentionRoom& room;
    int64_t padded;  // keys in whole registers

    explicit Attention(const AttentionFields& given)
        : fields(given), room(own_room<AttentionRoom>()), padded(filled(given.keys)) {
        room.query.resize(fields.queries * fields.width);
        room.gradient.resize(fields.queries * fields.width);
        room.key.resize(padded * fields.width);
        room.value.resize(padded * fields.width);
        room.turned.resize(padded * fields.width);
        room.weights.resize(fields.queries * padded);
        room.slopes.resize(fields.queries * padded);
    }

    static Number* at(const Heads& heads, int64_t sentence, int64_t head) {
        return static_cast<Number*>(heads.numbers) + sentence * heads.sentence_step + head * heads.head_step;
    }

    // Some positions in float32, one after another.
    void widen(const Heads& heads, int64_t sentence, int64_t head, int64_t positions, float* to) const {
        const Number* from = at(heads, sentence, head);
        for (int64_t position = 0; position < positions; ++position)
            for (int64_t i = 0; i < fields.width; i += LANES)
                store(to + position * fields.width + i, load(from + position * heads.step + i));
    }

    // (width, padded keys) in float32 of the keys, or of their values.
    void turn(const Heads& heads, int64_t sentence, int64_t head) const {
        const Number* from = at(heads, sentence, head);
        for (int64_t begin = 0; begin < padded; begin += LANES)
            for (int64_t i = 0; i < fields.width; i += LANES) {
                Vector rows[LANES];
                for (int lane = 0; lane < LANES; ++lane)
                    rows[lane] = begin + lane < fields.keys ? load(from + (begin + lane) * heads.step + i) : all(0);
                transpose(rows);
                for (int lane = 0; lane < LANES; ++lane)
                    store(room.turned.data() + (i + lane) * padded + begin, rows[lane]);
            }
    }

    Number* kept(int64_t sentence, int64_t head) const {
        return static_cast<Number*>(fields.weights) + (sentence * fields.heads + head) * fields.queries * padded;
    }

    // How many keys a query may attend to: the first ones.
    int64_t allowed(int64_t sentence, int64_t query) const {
        const int64_t real = fields.lengths ? std::min(fields.lengths[sentence], fields.keys) : fields.keys;
        return fields.is_causal ? std::min(real, query + 1 + fields.keys - fields.queries) : real;
    }

    // Of a row of scores their softmax, which is kept, too; keys that may not be attended to get zero, and so all, if none may.
    void normalise(float* row, int32_t count, Number* kept) const {
        const Whole last = Whole{} + count;
        Vector most = all(NOTHING), sum = all(0);
        for (int64_t j = 0; j < padded; j += LANES)
            most = greater(most, places(j) < last ? load(row + j) * fields.scale : all(NOTHING));
        const float greatest = greatest_of(most);
        for (int64_t j = 0; j < padded; j += LANES) {
            const Vector made = exponential(load(row + j) * fields.scale - greatest);
            const Vector kept = places(j) < last ? made : all(0);
            store(row + j, kept);
            sum += kept;
        }
        const float factor = count > 0 ? 1 / sum_of(sum) : 0;
        for (int64_t j = 0; j < padded; j += LANES) {
            store(row + j, load(row + j) * factor);
            store(kept + j, load(row + j));
        }
    }

    void forward(int64_t sentence, int64_t head) const {
        float* weights = room.weights.data();
        widen(fields.query, sentence, head, fields.queries, room.query.data());
        widen(fields.value, sentence, head, fields.keys, room.value.data());
        turn(fields.key, sentence, head);
        product(Factor{room.query.data(), fields.width, 1}, room.turned.data(), fields.queries, fields.width, padded,
                weights, padded);
        for (int64_t query = 0; query < fields.queries; ++query)
            normalise(weights + query * padded, allowed(sentence, query), kept(sentence, head) + query * padded);
        product(Factor{weights, padded, 1}, room.value.data(), fields.queries, fields.keys, fields.width,
                at(fields.output, sentence, head), fields.output.step);
    }

    void backward(int64_t sentence, int64_t head) const {
        float *weights = room.weights.data(), *slopes = room.slopes.data();
        for (int64_t j = 0; j < fields.queries * padded; j += LANES) store(weights + j, load(kept(sentence, head) + j));
        widen(fields.query, sentence, head, fields.queries, room.query.data());
        widen(fields.key, sentence, head, fields.keys, room.key.data());
        widen(fields.gradient, sentence, head, fields.queries, room.gradient.data());
        turn(fields.value, sentence, head);
        product(Factor{room.gradient.data(), fields.width, 1}, room.turned.data(), fields.queries, fields.width,
                padded, slopes, padded);
        for (int64_t query = 0; query < fields.queries; ++query) {
            float* row = slopes + query * padded;
            const float* weight = weights + query * padded;
            Vector along = all(0);
            for (int64_t j = 0; j < padded; j += LANES) along = fused(load(row + j), load(weight + j), along);
            const float sum = sum_of(along);
            for (int64_t j = 0; j < padded; j += LANES)
                store(row + j, load(weight + j) * (load(row + j) - sum) * fields.scale);
        }
        product(Factor{slopes, padded, 1}, room.key.data(), fields.queries, fields.keys, fields.width,
                at(fields.by_query, sentence, head), fields.by_query.step);
        product(Factor{slopes, 1, padded}, room.query.data(), fields.keys, fields.queries, fields.width,
                at(fields.by_key, sentence, head), fields.by_key.step);
        product(Factor{weights, 1, padded}, room.gradient.data(), fields.keys, fields.queries, fields.width,
                at(fields.by_value, sentence, head), fields.by_value.step);
    }
};

template <class Number, class Task>
void for_heads(const AttentionFields& fields, Task task) {
    divided(fields.sentences * fields.heads, fields.threads, [&](int64_t first, int64_t last, int64_t) {
        const Attention<Number> attention(fields);
        for (int64_t number = first; number < last; ++number)
            task(attention, number / fields.heads, number % fields.heads);
    });
}

template <class Number>
void forward(const AttentionFields& fields) {
    for_heads<Number>(fields, [](const Attention<Number>& attention, int64_t sentence, int64_t head) {
        attention.forward(sentence, head);
    });
}

template <class Number>
void backward(const AttentionFields& fields) {
    for_heads<Number>(fields, [](const Attention<Number>& attention, int64_t sentence, int64_t head) {
        attention.backward(sentence, head);
    });
}

}  // namespace

extern "C" {

void openwork_attention_float32(const AttentionFields* fields) { forward<float>(*fields); }
void openwork_attention_bfloat16(const AttentionFields* fields) { forward<BFloat16>(*fields); }
void openwork_attention_backward_float32(const AttentionFields* fields) { backward<float>(*fields); }
void openwork_attention_backward_bfloat16(const AttentionFields* fields) { backward<BFloat16>(*fields); }
}
