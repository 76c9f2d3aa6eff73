// Layer normalisation of x + m added, and that sum alone, forwards and backwards; m is 1 or a mask of dropout.
//
// With s = x + m added, n = (s - mean) / sqrt(variance + epsilon), y = gain n + shift, and dX for the gradient by X:
//
//     g = gain dy,  ds = (g - mean(g) - n mean(g n)) / sqrt(variance + epsilon)
//     dx = ds,  d added = m ds,  d gain = sum of dy n,  d shift = sum of dy
//
// m is 0 with the probability threshold / 256, else 256 / (256 - threshold); the same numbers are drawn again backwards.
// Rows fill registers of any width: their length is a multiple of 16.

#include <cmath>
#include <cstdint>
#include <vector>

#include "division.h"
#include "philox.h"
#include "room.h"
#include "vectors.h"

namespace {

struct NormRoom {
    std::vector<float> sums;      // s, then n
    std::vector<float> slopes;    // g
    std::vector<float> factors;   // m
    std::vector<uint32_t> words;
};

}  // namespace

// norm.py has the same fields.
struct NormFields {
    const void *x, *added;  // (row, width); `added` may be null
    const float *gain, *shift;
    void* output;           // forwards
    float *means, *scales;  // (row)
    const void* gradient;   // backwards: (row, width)
    void *by_sum, *by_added;
    float *by_gain, *by_shift;  // (thread, width), zeros at first
    int64_t rows, width;
    float epsilon;
    uint64_t key;
    int64_t threshold, threads;
};

namespace {

template <class Number>
struct Norm {
    const NormFields& fields;
    NormRoom& room;

    explicit Norm(const NormFields& given) : fields(given), room(own_room<NormRoom>()) {
        room.sums.resize(fields.width);
        room.slopes.resize(fields.width);
        room.factors.resize(fields.width);
    }

    const Number* row_of(const void* matrix, int64_t row) const {
        return static_cast<const Number*>(matrix) + row * fields.width;
    }
    Number* row_of(void* matrix, int64_t row) const { return static_cast<Number*>(matrix) + row * fields.width; }

    // m of a row.
    void draw(int64_t row) const {
        const int64_t counters = (fields.width + 16 * TOGETHER - 1) / (16 * TOGETHER) * TOGETHER;
        room.words.resize(counters * WORDS);
        random_words(fields.key, row * counters, counters, room.words.data());
        const uint8_t* bytes = reinterpret_cast<const uint8_t*>(room.words.data());
        const Vector kept = all(256.0f / (256 - fields.threshold));
        const Whole least = Whole{} + static_cast<int32_t>(fields.threshold);
        for (int64_t i = 0; i < fields.width; i += LANES) {
            store(room.factors.data() + i, whole(bytes + i) >= least ? kept : all(0));
        }
    }

    // s of a row, and its sum.
    float add(int64_t row) const {
        const Number* x = row_of(fields.x, row);
        Vector sum = all(0);
        if (fields.threshold) draw(row);
        for (int64_t i = 0; i < fields.width; i += LANES) {
            Vector s = load(x + i);
            if (fields.added) {
                const Vector more = load(row_of(fields.added, row) + i);
                s += fields.threshold ? more * load(room.factors.data() + i) : more;
            }
            store(room.sums.data() + i, s);
            sum += s;
        }
        return sum_of(sum);
    }

    // The sum alone; m is a mask.
    void sum(int64_t row) const {
        const Number *x = row_of(fields.x, row), *added = row_of(fields.added, row);
        Number* output = row_of(fields.output, row);
        draw(row);
        for (int64_t i = 0; i < fields.width; i += LANES)
            store(output + i, load(x + i) + load(added + i) * load(room.factors.data() + i));
    }

    void sum_backward(int64_t row) const {
        const Number* gradient = row_of(fields.gradient, row);
        Number* by_added = row_of(fields.by_added, row);
        draw(row);
        for (int64_t i = 0; i < fields.width; i += LANES)
            store(by_added + i, load(gradient + i) * load(room.factors.data() + i));
    }

    void forward(int64_t row) const {
        const float mean = add(row) / fields.width;
        float* sums = room.sums.data();
        Vector squares = all(0);
        for (int64_t i = 0; i < fields.width; i += LANES) {
            const Vector centred = load(sums + i) - mean;
            squares = fused(centred, centred, squares);
        }
        const float scale = 1 / std::sqrt(sum_of(squares) / fields.width + fields.epsilon);
        Number* output = row_of(fields.output, row);
        for (int64_t i = 0; i < fields.width; i += LANES)
            store(output + i, (load(sums + i) - mean) * scale * load(fields.gain + i) + load(fields.shift + i));
        fields.means[row] = mean;
        fields.scales[row] = scale;
    }

    void backward(int64_t row, float* by_gain, float* by_shift) const {
        add(row);
        const float mean = fields.means[row], scale = fields.scales[row];
        float *sums = room.sums.data(), *slopes = room.slopes.data();
        const Number* gradient = row_of(fields.gradient, row);
        Vector total = all(0), along = all(0);
        for (int64_t i = 0; i < fields.width; i += LANES) {
            const Vector n = (load(sums + i) - mean) * scale, dy = load(gradient + i), g = dy * load(fields.gain + i);
            store(sums + i, n);
            store(slopes + i, g);
            total += g;
            along = fused(g, n, along);
            store(by_gain + i, fused(dy, n, load(by_gain + i)));
            store(by_shift + i, load(by_shift + i) + dy);
        }
        const float mean_slope = sum_of(total) / fields.width, mean_along = sum_of(along) / fields.width;
        Number* by_sum = row_of(fields.by_sum, row);
        for (int64_t i = 0; i < fields.width; i += LANES) {
            const Vector slope = (load(slopes + i) - mean_slope - load(sums + i) * mean_along) * scale;
            store(by_sum + i, slope);
            if (fields.threshold)
                store(row_of(fields.by_added, row) + i, slope * load(room.factors.data() + i));
        }
    }
};

// The task for each row; a thread's number says which sums are its own.
template <class Number, class Task>
void for_rows(const NormFields& fields, Task task) {
    divided(fields.rows, fields.threads, [&](int64_t first, int64_t last, int64_t thread) {
        const Norm<Number> norm(fields);
        for (int64_t row = first; row < last; ++row) task(norm, row, thread);
    });
}

template <class Number>
void forward(const NormFields& fields) {
    for_rows<Number>(fields, [](const Norm<Number>& norm, int64_t row, int64_t) { norm.forward(row); });
}

template <class Number>
void backward(const NormFields& fields) {
    for_rows<Number>(fields, [&](const Norm<Number>& norm, int64_t row, int64_t thread) {
        norm.backward(row, fields.by_gain + thread * fields.width, fields.by_shift + thread * fields.width);
    });
}

template <class Number>
void sum(const NormFields& fields) {
    for_rows<Number>(fields, [](const Norm<Number>& norm, int64_t row, int64_t) { norm.sum(row); });
}

template <class Number>
void sum_backward(const NormFields& fields) {
    for_rows<Number>(fields, [](const Norm<Number>& norm, int64_t row, int64_t) { norm.sum_backward(row); });
}

}  // namespace

extern "C" {

void openwork_sum_float32(const NormFields* fields) { sum<float>(*fields); }
void openwork_sum_bfloat16(const NormFields* fields) { sum<BFloat16>(*fields); }
void openwork_sum_backward_float32(const NormFields* fields) { sum_backward<float>(*fields); }
void openwork_sum_backward_bfloat16(const NormFields* fields) { sum_backward<BFloat16>(*fields); }
void openwork_norm_float32(const NormFields* fields) { forward<float>(*fields); }
void openwork_norm_bfloat16(const NormFields* fields) { forward<BFloat16>(*fields); }
void openwork_norm_backward_float32(const NormFields* fields) { backward<float>(*fields); }
void openwork_norm_backward_bfloat16(const NormFields* fields) { backward<BFloat16>(*fields); }

// As many random words as `words` has room for: 4 for each counter.
void openwork_random_words(uint64_t key, uint64_t first, int64_t counters, uint32_t* words) {
    random_words(key, first, counters, words);
}
}
