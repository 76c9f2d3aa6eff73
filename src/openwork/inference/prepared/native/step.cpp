// One step of a Transformer's decoder for many rows, in integers of eight bits.
//
// It is models/prepared/layers.py in one call: there a step is some hundred and fifty calls of the framework, each of
// which costs microseconds and reads its input from memory again. Here a row stays in the cache between them.
// tests/models/test_native.py holds the two equal.
//
// Needs a processor with AVX-512 and VNNI. All widths are multiples of LANES; native/requirements.py sees to that.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "vectors.h"

namespace {

constexpr int PANEL = 64;  // outputs that are computed together: four registers
constexpr int FOUR = 4;    // products of bytes that one instruction adds up
constexpr int TALL = 6;    // rows that are computed together: 24 registers of sums, four of weights
constexpr int TOGETHER = 8 * TALL;  // rows for which the weights are read once

}  // namespace

// The structures of native/structures.py.
struct Product {  // y = x W^T + b
    int32_t inputs, outputs;
    const uint8_t* weights;  // [outputs / PANEL][inputs / FOUR][PANEL][FOUR], each plus 128
    const float* scales;     // what one step of the integers is, of each output
    const float* bias;       // or null
};

struct Norm {
    const float* gain;   // or null: there is no norm here
    const float* shift;  // or null
    float epsilon;
};

struct Layer {
    Product project, self_output, query, cross_output, expand, contract;
    Norm self_norm, cross_norm, feedforward_norm;
};

struct Decoder {
    int32_t layers, width, heads, key_width, value_width;
    int32_t norm_first;  // pre-norm; else post-norm
    const Layer* layer;
    Norm final_norm;
    Product output;
};

struct Step {
    int32_t rows, position, past_rows, source;  // source: positions that the memory has room for
    const float* x;                             // (rows, width): embeddings with their positions
    const int64_t* past_row;                    // (position, rows): where each row's earlier positions stand; null: in order
    const int64_t* sentence;                    // of each row, where its memory stands; null: in order
    const int64_t* lengths;                     // of the sentences of the memory
    float* const* past_keys;                    // of each layer (position, past row, heads * key_width)
    float* const* past_values;
    const float* const* memory_keys;    // of each layer (sentence, head, source, key_width)
    const float* const* memory_values;  // of each layer (sentence, head, source, value_width)
    float* logits;                      // (rows, outputs)
    float* attended;                      // (rows, head, source): attention of the last layer; or null
};

namespace {

// Rows as integers, each with a scale of its own: what a row becomes does not depend on the rows beside it.
struct Integers {
    std::vector<int8_t> numbers;
    std::vector<float> steps;   // what one step of the integers is
    std::vector<int32_t> sums;  // of the integers of a row
    int width = 0;

    void take(const float* x, int rows, int columns) {
        width = columns;
        numbers.resize(static_cast<size_t>(rows) * columns);
        steps.resize(rows);
        sums.resize(rows);
        for (int row = 0; row < rows; ++row) take_row(x + static_cast<size_t>(row) * columns, row);
    }

    void take_row(const float* x, int row) {
        constexpr int NO_NUMBERS = 0x99;  // infinities and NaN
        __m512 most = _mm512_setzero_ps();
        __mmask16 bad = 0;
        for (int i = 0; i < width; i += LANES) {
            const __m512 part = _mm512_loadu_ps(x + i);
            bad |= _mm512_fpclass_ps_mask(part, NO_NUMBERS);
            most = _mm512_max_ps(most, _mm512_abs_ps(part));
        }
        const float greatest = _mm512_reduce_max_ps(most);
        const __m512 factor = _mm512_set1_ps(greatest > 0 ? 127.0f / greatest : 0.0f);
        __m512i sum = _mm512_setzero_si512();
        int8_t* made = numbers.data() + static_cast<size_t>(row) * width;
        for (int i = 0; i < width; i += LANES) {
            const __m512i number = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(x + i), factor));
            sum = _mm512_add_epi32(sum, number);
            _mm_storeu_si128(reinterpret_cast<__m128i*>(made + i), _mm512_cvtepi32_epi8(number));
        }
        // what is no number may not become one by being rounded
        steps[row] = bad ? std::numeric_limits<float>::quiet_NaN() : greatest / 127.0f;
        sums[row] = _mm512_reduce_add_epi32(sum);
    }
};

enum class After { nothing, rectified, added };  // added: to what stands there, the residual

// The products of ROWS rows with one panel of weights; sums of unsigned weights, so 128 times the row's sum too high.
template <int ROWS>
inline void multiply(const int8_t* x, int inputs, const uint8_t* weights, __m512i (&sums)[ROWS][4]) {
    for (auto& row : sums)
        for (auto& sum : row) sum = _mm512_setzero_si512();
    for (int k = 0; k < inputs; k += FOUR, weights += PANEL * FOUR) {
        __m512i four[4];
        for (int part = 0; part < 4; ++part) four[part] = _mm512_loadu_si512(weights + part * PANEL);
        for (int row = 0; row < ROWS; ++row) {
            int32_t bytes;
            std::memcpy(&bytes, x + static_cast<size_t>(row) * inputs + k, FOUR);
            const __m512i same = _mm512_set1_epi32(bytes);
            for (int part = 0; part < 4; ++part) sums[row][part] = _mm512_dpbusd_epi32(sums[row][part], four[part], same);
        }
    }
}

template <int ROWS>
void rows_of_panel(const Product& product, int panel, const Integers& x, int first, float* y, After after) {
    __m512i sums[ROWS][4];
    const int8_t* numbers = x.numbers.data() + static_cast<size_t>(first) * product.inputs;
    multiply<ROWS>(numbers, product.inputs, product.weights + static_cast<size_t>(panel) * product.inputs, sums);
    for (int part = 0; part < 4; ++part) {
        const int begin = panel + part * LANES, left = product.outputs - begin;
        if (left <= 0) return;
        const __mmask16 mask = first_lanes(left);
        const __m512 scales = _mm512_maskz_loadu_ps(mask, product.scales + begin);
        const __m512 bias = product.bias ? _mm512_maskz_loadu_ps(mask, product.bias + begin) : _mm512_setzero_ps();
        for (int row = 0; row < ROWS; ++row) {
            float* place = y + static_cast<size_t>(first + row) * product.outputs + begin;
            const __m512i sum = _mm512_sub_epi32(sums[row][part], _mm512_set1_epi32(128 * x.sums[first + row]));
            const __m512 scale = _mm512_mul_ps(scales, _mm512_set1_ps(x.steps[first + row]));
            __m512 made = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum), scale, bias);
            if (after == After::rectified) made = _mm512_max_ps(_mm512_setzero_ps(), made);  // of NaN: NaN
            if (after == After::added) made = _mm512_add_ps(made, _mm512_maskz_loadu_ps(mask, place));
            _mm512_mask_storeu_ps(place, mask, made);
        }
    }
}

void some_rows(const Product& product, const Integers& x, int first, int end, float* y, After after) {
    for (int panel = 0; panel < product.outputs; panel += PANEL) {
        int row = first;
        for (; row + TALL <= end; row += TALL) rows_of_panel<TALL>(product, panel, x, row, y, after);
        switch (end - row) {
            case 5: rows_of_panel<5>(product, panel, x, row, y, after); break;
            case 4: rows_of_panel<4>(product, panel, x, row, y, after); break;
            case 3: rows_of_panel<3>(product, panel, x, row, y, after); break;
            case 2: rows_of_panel<2>(product, panel, x, row, y, after); break;
            case 1: rows_of_panel<1>(product, panel, x, row, y, after); break;
            default: break;
        }
    }
}

// Some rows at a time, so that what is written of a large vocabulary stays near.
void apply(const Product& product, const Integers& x, int rows, float* y, After after = After::nothing) {
    for (int first = 0; first < rows; first += TOGETHER)
        some_rows(product, x, first, std::min(rows, first + TOGETHER), y, after);
}

// (x - mean) / sqrt(variance + epsilon) * gain + shift, of one row.
void normalise(const Norm& norm, const float* x, int width, float* y) {
    __m512 sum = _mm512_setzero_ps();
    for (int i = 0; i < width; i += LANES) sum = _mm512_add_ps(sum, _mm512_loadu_ps(x + i));
    const __m512 mean = _mm512_set1_ps(_mm512_reduce_add_ps(sum) / static_cast<float>(width));
    __m512 squares = _mm512_setzero_ps();
    for (int i = 0; i < width; i += LANES) {
        const __m512 off = _mm512_sub_ps(_mm512_loadu_ps(x + i), mean);
        squares = _mm512_fmadd_ps(off, off, squares);
    }
    const float variance = _mm512_reduce_add_ps(squares) / static_cast<float>(width);
    const __m512 factor = _mm512_set1_ps(1.0f / std::sqrt(variance + norm.epsilon));
    for (int i = 0; i < width; i += LANES) {
        const __m512 off = _mm512_mul_ps(_mm512_sub_ps(_mm512_loadu_ps(x + i), mean), factor);
        const __m512 shift = norm.shift ? _mm512_loadu_ps(norm.shift + i) : _mm512_setzero_ps();
        _mm512_storeu_ps(y + i, _mm512_fmadd_ps(off, _mm512_loadu_ps(norm.gain + i), shift));
    }
}

void normalise_rows(const Norm& norm, const float* x, int rows, int width, float* y) {
    for (int row = 0; row < rows; ++row)
        normalise(norm, x + static_cast<size_t>(row) * width, width, y + static_cast<size_t>(row) * width);
}

// Numbers that become their softmax, in place; there is room for a whole register after them.
void softmax(float* scores, int count) {
    float most = scores[0];
    for (int i = 1; i < count; ++i) most = std::max(most, scores[i]);
    __m512 sum = _mm512_setzero_ps();
    for (int i = 0; i < count; i += LANES) {
        const int left = count - i;
        const __mmask16 mask = first_lanes(left);
        const __m512 made = _mm512_maskz_mov_ps(
            mask, exponential(_mm512_sub_ps(_mm512_loadu_ps(scores + i), _mm512_set1_ps(most))));
        _mm512_storeu_ps(scores + i, made);
        sum = _mm512_add_ps(sum, made);
    }
    const float factor = 1.0f / _mm512_reduce_add_ps(sum);
    for (int i = 0; i < count; ++i) scores[i] *= factor;
}

// Keys or values that one head sees: of place p the vector that begins at number index[p] * unit.
struct Seen {
    const float* vectors;
    const int64_t* index;
    ptrdiff_t unit;
    int width;

    const float* at(int place) const { return vectors + index[place] * unit; }
};

// softmax(q K^T) V of one query (equation 1; 1 / sqrt(d_k) stands in the weights of the queries).
void attend(const float* query, const Seen& keys, const Seen& values, int count, float* scores, float* found) {
    for (int place = 0; place < count; ++place) {
        const float* key = keys.at(place);
        __m512 sum = _mm512_setzero_ps();
        for (int i = 0; i < keys.width; i += LANES)
            sum = _mm512_fmadd_ps(_mm512_loadu_ps(query + i), _mm512_loadu_ps(key + i), sum);
        scores[place] = _mm512_reduce_add_ps(sum);
    }
    softmax(scores, count);
    for (int i = 0; i < values.width; i += LANES) {
        __m512 sum = _mm512_setzero_ps();
        for (int place = 0; place < count; ++place) {
            const __m512 value = _mm512_loadu_ps(values.at(place) + i);
            sum = _mm512_fmadd_ps(_mm512_set1_ps(scores[place]), value, sum);
        }
        _mm512_storeu_ps(found + i, sum);
    }
}

// What a step needs for a moment; each thread keeps its own from one step to the next.
struct Room {
    Integers integers;
    std::vector<float> stream, inside, made, found, scores;
    std::vector<int64_t> index;     // (rows, position + 1): where each row's past stands
    std::vector<int64_t> in_order;  // 0, 1, 2, ...
};

// A decoder at work on a step.
struct Work {
    const Decoder& decoder;
    const Step& step;
    Room& room;
    const int rows, width;

    size_t sentence(int row) const { return step.sentence ? step.sentence[row] : row; }

    // What the sub-layer sees, as integers: the stream, or its norm.
    void enter(const Norm& norm) {
        if (!decoder.norm_first) return room.integers.take(room.stream.data(), rows, width);
        normalise_rows(norm, room.stream.data(), rows, width, room.inside.data());
        room.integers.take(room.inside.data(), rows, width);
    }

    // The sub-layer's last product, added to the stream.
    void leave(const Product& product, const float* x, const Norm& norm) {
        room.integers.take(x, rows, product.inputs);
        apply(product, room.integers, rows, room.stream.data(), After::added);
        if (!decoder.norm_first) normalise_rows(norm, room.stream.data(), rows, width, room.stream.data());
    }

    void attend_to_past(const Layer& layer, int number) {
        const int d_k = decoder.key_width, d_v = decoder.value_width;
        const size_t keys = static_cast<size_t>(decoder.heads) * d_k, values = static_cast<size_t>(decoder.heads) * d_v;
        enter(layer.self_norm);
        apply(layer.project, room.integers, rows, room.made.data());
        for (int row = 0; row < rows; ++row) {
            const float* made = room.made.data() + row * (2 * keys + values);
            float *past_keys = step.past_keys[number], *past_values = step.past_values[number];
            const int64_t* index = room.index.data() + static_cast<size_t>(row) * (step.position + 1);
            std::copy_n(made + keys, keys, past_keys + index[step.position] * keys);
            std::copy_n(made + 2 * keys, values, past_values + index[step.position] * values);
            for (int head = 0; head < decoder.heads; ++head) {
                const Seen key{past_keys + head * d_k, index, static_cast<ptrdiff_t>(keys), d_k};
                const Seen value{past_values + head * d_v, index, static_cast<ptrdiff_t>(values), d_v};
                attend(made + head * d_k, key, value, step.position + 1, room.scores.data(),
                       room.found.data() + row * values + head * d_v);
            }
        }
        leave(layer.self_output, room.found.data(), layer.self_norm);
    }

    void attend_to_memory(const Layer& layer, int number) {
        const int d_k = decoder.key_width, d_v = decoder.value_width, heads = decoder.heads;
        enter(layer.cross_norm);
        apply(layer.query, room.integers, rows, room.made.data());
        const bool is_last = number == decoder.layers - 1;
        for (int row = 0; row < rows; ++row) {
            const size_t owner = sentence(row);
            const int length = static_cast<int>(step.lengths[owner]);
            for (int head = 0; head < heads; ++head) {
                const size_t place = (owner * heads + head) * step.source;
                float* found = room.found.data() + (static_cast<size_t>(row) * heads + head) * d_v;
                const float* query = room.made.data() + (static_cast<size_t>(row) * heads + head) * d_k;
                if (length == 0) std::fill_n(found, d_v, 0.0f);
                else
                    attend(query, {step.memory_keys[number] + place * d_k, room.in_order.data(), d_k, d_k},
                           {step.memory_values[number] + place * d_v, room.in_order.data(), d_v, d_v}, length,
                           room.scores.data(), found);
                if (step.attended && is_last) {
                    float* attended = step.attended + (static_cast<size_t>(row) * heads + head) * step.source;
                    std::copy_n(room.scores.data(), length, attended);
                    std::fill_n(attended + length, step.source - length, 0.0f);
                }
            }
        }
        leave(layer.cross_output, room.found.data(), layer.cross_norm);
    }

    void feed_forward(const Layer& layer) {  // equation 2
        enter(layer.feedforward_norm);
        apply(layer.expand, room.integers, rows, room.made.data(), After::rectified);
        leave(layer.contract, room.made.data(), layer.feedforward_norm);
    }
};

// Where the keys and values of each row's positions stand, this one's with them, counted in rows of the buffers.
void index_past(const Step& step, std::vector<int64_t>& index) {
    const size_t rows = step.rows, positions = step.position;
    index.resize(rows * (positions + 1));
    for (size_t row = 0; row < rows; ++row)
        for (size_t place = 0; place <= positions; ++place) {
            const bool moved = step.past_row && place < positions;
            index[row * (positions + 1) + place] = place * step.past_rows + (moved ? step.past_row[place * rows + row] : row);
        }
}

size_t widest(const Decoder& decoder) {
    size_t most = decoder.width;
    for (int number = 0; number < decoder.layers; ++number) {
        const Layer& layer = decoder.layer[number];
        for (const Product* product : {&layer.project, &layer.query, &layer.expand})
            most = std::max<size_t>(most, product->outputs);
    }
    return most;
}

}  // namespace

extern "C" void openwork_step(const Decoder* decoder, const Step* step) {
    static thread_local Room room;
    const size_t rows = step->rows, width = decoder->width;
    room.stream.assign(step->x, step->x + rows * width);
    room.inside.resize(rows * width);
    room.made.resize(rows * widest(*decoder));
    room.found.resize(rows * decoder->heads * decoder->value_width);
    room.scores.resize(std::max(step->position + 1, step->source) + LANES);
    index_past(*step, room.index);
    room.in_order.resize(step->source);
    std::iota(room.in_order.begin(), room.in_order.end(), 0);
    Work work{*decoder, *step, room, step->rows, decoder->width};
    for (int number = 0; number < decoder->layers; ++number) {
        const Layer& layer = decoder->layer[number];
        work.attend_to_past(layer, number);
        work.attend_to_memory(layer, number);
        work.feed_forward(layer);
    }
    if (decoder->final_norm.gain) normalise_rows(decoder->final_norm, room.stream.data(), step->rows, decoder->width, room.stream.data());
    room.integers.take(room.stream.data(), step->rows, decoder->width);
    apply(decoder->output, room.integers, step->rows, step->logits);
}
