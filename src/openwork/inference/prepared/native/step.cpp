// One step of a Transformer's decoder for many rows, in float32 or in integers of eight bits.
//
// It is prepared/layers.py in one call: there a step is some hundred and fifty calls of the framework, each of
// which costs microseconds and reads its input from memory again. Here a row stays in the cache between them.
// tests/models/test_native.py holds the two equal.
//
// In eight bits the inputs of all products are multiples of FOUR; native/transformer.py sees to that.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "floats.h"
#include "structures.h"
#include "vectors.h"
#ifdef __AVX512VNNI__
#include "integers.h"
#endif

namespace {

// (x - mean) / sqrt(variance + epsilon) * gain + shift, of one row.
void normalise(const Norm& norm, const float* x, int width, float* y) {
    const int whole = width / LANES * LANES;  // the rest fills no register
    Vector parts{};
    for (int i = 0; i < whole; i += LANES) parts += load(x + i);
    const float mean = std::accumulate(x + whole, x + width, sum_of(parts)) / static_cast<float>(width);
    Vector squares{};
    for (int i = 0; i < whole; i += LANES) squares += (load(x + i) - mean) * (load(x + i) - mean);
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
    float most = scores[0];
    for (int i = 1; i < count; ++i) most = std::max(most, scores[i]);
    for (int i = 0; i < count; i += LANES) store(scores + i, exponential(load(scores + i) - most));
    float sum = 0;
    for (int i = 0; i < count; ++i) sum += scores[i];
    const float factor = 1.0f / sum;
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
    const int whole = keys.width / LANES * LANES, filled = values.width / LANES * LANES;
    for (int place = 0; place < count; ++place) {
        const float* key = keys.at(place);
        Vector parts{};
        for (int i = 0; i < whole; i += LANES) parts += load(query + i) * load(key + i);
        scores[place] = std::inner_product(query + whole, query + keys.width, key + whole, sum_of(parts));
    }
    softmax(scores, count);
    for (int i = 0; i < filled; i += LANES) {
        Vector sum{};
        for (int place = 0; place < count; ++place) sum += load(values.at(place) + i) * scores[place];
        store(found + i, sum);
    }
    for (int i = filled; i < values.width; ++i) {
        found[i] = 0;
        for (int place = 0; place < count; ++place) found[i] += values.at(place)[i] * scores[place];
    }
}

// What a step needs for a moment; each thread keeps its own from one step to the next.
template <class Rows>
struct Room {
    Rows rows;  // what a product takes
    std::vector<float> stream, inside, made, found, scores;
    std::vector<int64_t> index;     // (rows, places): where each row's past stands
    size_t places = 0;              // the last row's position + 1
    std::vector<int64_t> in_order;  // 0, 1, 2, ...
};

// A decoder at work on a step, with products of one kind.
template <class Rows>
struct Work {
    const Decoder& decoder;
    const Step& step;
    Room<Rows>& room;
    const int rows, width;

    int position(int row) const { return step.position + (step.is_one_row ? row : 0); }

    size_t sentence(int row) const { return step.sentence ? step.sentence[row] : row; }

    // What the sub-layer sees: the stream, or its norm.
    void enter(const Norm& norm) {
        if (!decoder.norm_first) return room.rows.take(room.stream.data(), rows, width);
        normalise_rows(norm, room.stream.data(), rows, width, room.inside.data());
        room.rows.take(room.inside.data(), rows, width);
    }

    // The sub-layer's last product, added to the stream.
    void leave(const Product& product, const float* x, const Norm& norm) {
        room.rows.take(x, rows, product.inputs);
        apply(product, room.rows, rows, room.stream.data(), After::added);
        if (!decoder.norm_first) normalise_rows(norm, room.stream.data(), rows, width, room.stream.data());
    }

    void attend_to_past(const Layer& layer, int number) {
        const int d_k = decoder.key_width, d_v = decoder.value_width;
        const size_t keys = static_cast<size_t>(decoder.heads) * d_k, values = static_cast<size_t>(decoder.heads) * d_v;
        enter(layer.self_norm);
        apply(layer.project, room.rows, rows, room.made.data());
        float *past_keys = step.past_keys[number], *past_values = step.past_values[number];
        for (int row = 0; row < rows; ++row) {
            const float* made = room.made.data() + row * (2 * keys + values);
            const int64_t own = room.index[static_cast<size_t>(row) * room.places + position(row)];
            std::copy_n(made + keys, keys, past_keys + own * keys);
            std::copy_n(made + 2 * keys, values, past_values + own * values);
        }
        for (int row = 0; row < rows; ++row) {
            const float* made = room.made.data() + row * (2 * keys + values);
            const int64_t* index = room.index.data() + static_cast<size_t>(row) * room.places;
            for (int head = 0; head < decoder.heads; ++head) {
                const Seen key{past_keys + head * d_k, index, static_cast<ptrdiff_t>(keys), d_k};
                const Seen value{past_values + head * d_v, index, static_cast<ptrdiff_t>(values), d_v};
                attend(made + head * d_k, key, value, position(row) + 1, room.scores.data(),
                       room.found.data() + row * values + head * d_v);
            }
        }
        leave(layer.self_output, room.found.data(), layer.self_norm);
    }

    void attend_to_memory(const Layer& layer, int number) {
        const int d_k = decoder.key_width, d_v = decoder.value_width, heads = decoder.heads;
        enter(layer.cross_norm);
        apply(layer.query, room.rows, rows, room.made.data());
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
        apply(layer.expand, room.rows, rows, room.made.data(), After::rectified);
        leave(layer.contract, room.made.data(), layer.feedforward_norm);
    }
};

// Where the keys and values of each row's positions stand, this one's with them, counted in rows of the buffers.
void index_past(const Step& step, size_t places, std::vector<int64_t>& index) {
    const size_t rows = step.rows, positions = step.position;
    index.resize(rows * places);
    for (size_t row = 0; row < rows; ++row)
        for (size_t place = 0; place < places; ++place) {
            const size_t own = step.is_one_row ? 0 : row;
            const bool moved = step.past_row && place < positions;
            index[row * places + place] = place * step.past_rows + (moved ? step.past_row[place * rows + row] : own);
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

template <class Rows>
void decode(const Decoder& decoder, const Step& step) {
    static thread_local Room<Rows> room;
    const size_t rows = step.rows, width = decoder.width;
    room.stream.assign(step.x, step.x + rows * width);
    room.inside.resize(rows * width);
    room.made.resize(rows * widest(decoder));
    room.found.resize(rows * decoder.heads * decoder.value_width);
    room.places = step.position + (step.is_one_row ? rows : 1);
    room.scores.resize(std::max<size_t>(room.places, step.source) + LANES);
    index_past(step, room.places, room.index);
    room.in_order.resize(step.source);
    std::iota(room.in_order.begin(), room.in_order.end(), 0);
    Work<Rows> work{decoder, step, room, step.rows, decoder.width};
    for (int number = 0; number < decoder.layers; ++number) {
        const Layer& layer = decoder.layer[number];
        work.attend_to_past(layer, number);
        work.attend_to_memory(layer, number);
        work.feed_forward(layer);
    }
    if (decoder.final_norm.gain)
        normalise_rows(decoder.final_norm, room.stream.data(), step.rows, decoder.width, room.stream.data());
    room.rows.take(room.stream.data(), step.rows, decoder.width);
    apply(decoder.output, room.rows, step.rows, step.logits);
}

}  // namespace

// Outputs of a panel of weights in float32: native/structures.py lays them out.
extern "C" int32_t openwork_float_panel() { return floats::PANEL; }

extern "C" void openwork_step_float32(const Decoder* decoder, const Step* step) { decode<floats::Rows>(*decoder, *step); }

// One product in float32, of the encoder.
extern "C" void openwork_product(const Product* product, const float* x, int32_t rows, float* y, int32_t rectified) {
    floats::Rows taken;
    taken.take(x, rows, product->inputs);
    floats::apply(*product, taken, rows, y, rectified ? After::rectified : After::nothing);
}

#ifdef __AVX512VNNI__
extern "C" void openwork_step_int8(const Decoder* decoder, const Step* step) { decode<integers::Rows>(*decoder, *step); }
#endif
