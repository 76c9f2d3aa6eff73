// Attention of short sentences, forwards and backwards: each head of a sentence is computed in float32 in the cache.
//
// With S = scale Q K^T, A = softmax(S), H = A V, and dX for the gradient of a loss by X:
//
//     dV = A^T dH,  dA = dH V^T,  dS = A * (dA - rowsum(dA * A)),  dQ = scale dS K,  dK = scale dS^T Q
//
// All six products are one function: out = sum over j of a column of one matrix times a row of another. Where the
// processor has AVX-512's products of bfloat16, the sums are over pairs of j, and A and dS are rounded for them.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "division.h"
#include "pairs.h"
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

// A matrix of the one factor. Its parts are numbers, or pairs of neighbours where the processor multiplies bfloat16 so;
// part (row, j) is at row * row_step + j * step.
template <class Part>
struct Factor {
    const Part* parts;
    int64_t row_step, step;
};

template <int ROWS, int VECTORS, class Part, class Number>
inline void block(Factor<Part> left, const Part* right, int64_t right_step, int64_t count, Number* out,
                  int64_t out_step) {
    using Parts = decltype(load(right));
    Vector sums[ROWS][VECTORS];
    for (int row = 0; row < ROWS; ++row)
        for (int v = 0; v < VECTORS; ++v) sums[row][v] = all(0);
    for (int64_t j = 0; j < count; ++j) {
        Parts from[VECTORS];
        for (int v = 0; v < VECTORS; ++v) from[v] = load(right + j * right_step + v * LANES);
        for (int row = 0; row < ROWS; ++row) {
            const Parts factor = all(left.parts[row * left.row_step + j * left.step]);
            for (int v = 0; v < VECTORS; ++v) sums[row][v] = fused(factor, from[v], sums[row][v]);
        }
    }
    for (int row = 0; row < ROWS; ++row)
        for (int v = 0; v < VECTORS; ++v) store(out + row * out_step + v * LANES, sums[row][v]);
}

// Some rows of a product, in blocks of as many columns as fit, then of half as many.
template <int ROWS, int VECTORS, class Part, class Number>
void strip(Factor<Part> left, const Part* right, int64_t count, int64_t columns, Number* out, int64_t out_step,
           int64_t column = 0) {
    for (; column + VECTORS * LANES <= columns; column += VECTORS * LANES)
        block<ROWS, VECTORS>(left, right + column, columns, count, out + column, out_step);
    if constexpr (VECTORS > 1) strip<ROWS, VECTORS / 2>(left, right, count, columns, out, out_step, column);
}

// out (rows, columns) = left (rows, count) right (count, columns); columns fill registers.
//
// The sums of a block fill registers, of which AVX2 has 16 and others 32.
template <int ROWS = LANES == 8 ? 6 : 4, class Part, class Number>
void product(Factor<Part> left, const Part* right, int64_t rows, int64_t count, int64_t columns, Number* out,
             int64_t out_step, int64_t row = 0) {
    constexpr int VECTORS = LANES == 8 ? 2 : 4;
    for (; row + ROWS <= rows; row += ROWS)
        strip<ROWS, VECTORS>(Factor<Part>{left.parts + row * left.row_step, left.row_step, left.step}, right, count,
                             columns, out + row * out_step, out_step);
    if constexpr (ROWS > 1) product<ROWS / 2>(left, right, rows, count, columns, out, out_step, row);
}

template <class Part>
struct AttentionRoom {
    std::vector<Part> along, across, turned, down;
    std::vector<float> weights, slopes;
    std::vector<BFloat16> narrow;
};

template <class Number>
struct Attention {
    static constexpr bool PAIRED = IN_PAIRS<Number>;
    using Part = std::conditional_t<PAIRED, Pair, float>;

    const AttentionFields& fields;
    AttentionRoom<Part>& room;
    int64_t padded;  // keys in whole registers

    explicit Attention(const AttentionFields& given)
        : fields(given), room(own_room<AttentionRoom<Part>>()), padded(filled(given.keys)) {
        const int64_t most = std::max(fields.queries, padded);
        for (auto* parts : {&room.along, &room.across, &room.turned}) parts->resize(most * fields.width);
        room.weights.resize(fields.queries * padded);
        room.slopes.resize(fields.queries * padded);
        if constexpr (PAIRED) {
            room.down.resize(parts_of(fields.queries) * padded);
            room.narrow.resize(fields.queries * padded);
        }
    }

    // How many parts have so many numbers; the last one may be half empty.
    static int64_t parts_of(int64_t numbers) { return PAIRED ? (numbers + 1) / 2 : numbers; }

    static Number* at(const Heads& heads, int64_t sentence, int64_t head) {
        return static_cast<Number*>(heads.numbers) + sentence * heads.sentence_step + head * heads.head_step;
    }

    // Rows one after another, whose parts are of one row.
    Factor<Part> along(const Number* from, int64_t step, int64_t rows) const {
        Part* to = room.along.data();
        const int64_t parts = parts_of(fields.width);
        for (int64_t row = 0; row < rows; ++row)
            if constexpr (PAIRED) {
                std::memcpy(to + row * parts, from + row * step, fields.width * sizeof *from);
            } else {
                for (int64_t i = 0; i < parts; i += LANES) store(to + row * parts + i, load(from + row * step + i));
            }
        return {to, parts, 1};
    }

    // (parts of the rows, columns): a part has numbers of a column.
    static const Part* across(const Number* from, int64_t step, int64_t rows, int64_t columns, Part* to) {
        for (int64_t row = 0; row < rows; row += PAIRED ? 2 : 1, to += columns)
            for (int64_t i = 0; i < columns; i += LANES)
                if constexpr (PAIRED) {
                    const Vector one = load(from + row * step + i);
                    const Vector other = row + 1 < rows ? load(from + (row + 1) * step + i) : all(0);
                    store(reinterpret_cast<float*>(to + i), (Vector)((Bits)one >> 16 | (Bits)other));
                } else {
                    store(to + i, load(from + row * step + i));
                }
        return to - parts_of(rows) * columns;
    }

    const Part* across(const Heads& heads, int64_t sentence, int64_t head, int64_t rows) const {
        return across(at(heads, sentence, head), heads.step, rows, fields.width, room.across.data());
    }

    // (parts of the width, padded keys) of the keys, or of their values.
    const Part* turned(const Heads& heads, int64_t sentence, int64_t head) const {
        const Number* from = at(heads, sentence, head);
        float* to = reinterpret_cast<float*>(room.turned.data());
        const int64_t parts = parts_of(fields.width);
        const auto parts_at = [&](int64_t row, int64_t i) {
            if constexpr (PAIRED) {
                const float* pairs = reinterpret_cast<const float*>(from + row * heads.step) + i;
                if (i + LANES <= parts) return load(pairs);
                Vector few = all(0);
                std::memcpy(&few, pairs, (parts - i) * sizeof *pairs);
                return few;
            } else {
                return load(from + row * heads.step + i);
            }
        };
        for (int64_t begin = 0; begin < padded; begin += LANES)
            for (int64_t i = 0; i < parts; i += LANES) {
                Vector rows[LANES];
                for (int lane = 0; lane < LANES; ++lane)
                    rows[lane] = begin + lane < fields.keys ? parts_at(begin + lane, i) : all(0);
                transpose(rows);
                for (int lane = 0; lane < LANES && i + lane < parts; ++lane)
                    store(to + (i + lane) * padded + begin, rows[lane]);
            }
        return room.turned.data();
    }

    Number* kept(int64_t sentence, int64_t head) const {
        return static_cast<Number*>(fields.weights) + (sentence * fields.heads + head) * fields.queries * padded;
    }

    // A matrix (queries, padded keys) as the left factor: its rows, or its columns. `narrow` has the same numbers.
    Factor<Part> rows_of(const float* matrix, const BFloat16* narrow) const {
        if constexpr (PAIRED) return {reinterpret_cast<const Pair*>(narrow), padded / 2, 1};
        else return {matrix, padded, 1};
    }
    Factor<Part> columns_of(const float* matrix, const BFloat16* narrow) const {
        if constexpr (PAIRED) return {across(narrow, padded, fields.queries, padded, room.down.data()), 1, padded};
        else return {matrix, 1, padded};
    }

    // The same numbers in the narrow type, where products are of it.
    const BFloat16* narrowed_slopes() const {
        if constexpr (PAIRED)
            for (int64_t j = 0; j < fields.queries * padded; j += LANES)
                store(room.narrow.data() + j, load(room.slopes.data() + j));
        return room.narrow.data();
    }
    static const BFloat16* narrow(const Number* kept) {
        if constexpr (PAIRED) return kept;
        else return nullptr;
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
        Number* kept_weights = kept(sentence, head);
        product(along(at(fields.query, sentence, head), fields.query.step, fields.queries),
                turned(fields.key, sentence, head), fields.queries, parts_of(fields.width), padded, weights, padded);
        for (int64_t query = 0; query < fields.queries; ++query)
            normalise(weights + query * padded, allowed(sentence, query), kept_weights + query * padded);
        product(rows_of(weights, narrow(kept_weights)), across(fields.value, sentence, head, fields.keys),
                fields.queries, parts_of(fields.keys), fields.width, at(fields.output, sentence, head),
                fields.output.step);
    }

    void backward(int64_t sentence, int64_t head) const {
        float *weights = room.weights.data(), *slopes = room.slopes.data();
        const Number* kept_weights = kept(sentence, head);
        for (int64_t j = 0; j < fields.queries * padded; j += LANES) store(weights + j, load(kept_weights + j));
        product(along(at(fields.gradient, sentence, head), fields.gradient.step, fields.queries),
                turned(fields.value, sentence, head), fields.queries, parts_of(fields.width), padded, slopes, padded);
        for (int64_t query = 0; query < fields.queries; ++query) {
            float* row = slopes + query * padded;
            const float* weight = weights + query * padded;
            Vector along = all(0);
            for (int64_t j = 0; j < padded; j += LANES) along = fused(load(row + j), load(weight + j), along);
            const float sum = sum_of(along);
            for (int64_t j = 0; j < padded; j += LANES)
                store(row + j, load(weight + j) * (load(row + j) - sum) * fields.scale);
        }
        const BFloat16* narrow_slopes = narrowed_slopes();
        product(rows_of(slopes, narrow_slopes), across(fields.key, sentence, head, fields.keys), fields.queries,
                parts_of(fields.keys), fields.width, at(fields.by_query, sentence, head), fields.by_query.step);
        product(columns_of(slopes, narrow_slopes), across(fields.query, sentence, head, fields.queries), fields.keys,
                parts_of(fields.queries), fields.width, at(fields.by_key, sentence, head), fields.by_key.step);
        product(columns_of(weights, narrow(kept_weights)), across(fields.gradient, sentence, head, fields.queries),
                fields.keys, parts_of(fields.queries), fields.width, at(fields.by_value, sentence, head),
                fields.by_value.step);
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
