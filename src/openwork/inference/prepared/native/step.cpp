// One step of a Transformer's decoder for many rows, in float32 or in integers of eight bits.
//
// It is prepared/layers.py in one call: there a step is some hundred and fifty calls of the framework, each of
// which costs microseconds and reads its input from memory again. Here a row stays in the cache between them.
// tests/models/test_native.py holds the two equal.
//
// In eight bits the inputs of all products are multiples of FOUR; native/transformer.py sees to that.

#include "layers.h"
#include "room.h"

namespace {

// What a step needs for a moment.
template <class Rows>
struct Room {
    Stream<Rows> stream;
    std::vector<float> made, found, scores;
    std::vector<int64_t> index;     // (rows, places): where each row's past stands
    size_t places = 0;              // the last row's position + 1
    std::vector<int64_t> in_order;  // 0, 1, 2, ...
};

// Prefetches the keys or values of the row that is computed next.
template <class Cached>
void prefetch(const Cached* vectors, size_t width, const int64_t* index, int places) {
    constexpr size_t LINE = 64 / sizeof(Cached);
    for (int place = 0; place < places; ++place)
        for (size_t i = 0; i < width; i += LINE) __builtin_prefetch(vectors + index[place] * width + i);
}

// A decoder at work on a step, with products of one kind.
template <class Rows>
struct Work {
    using Cached = typename Rows::Cached;
    const Decoder& decoder;
    const Step& step;
    Room<Rows>& room;
    const int rows;

    int position(int row) const { return step.position + (step.is_one_row ? row : 0); }

    size_t sentence(int row) const { return step.sentence ? step.sentence[row] : row; }

    void attend_to_past(const Layer& layer, int number) {
        const int d_k = decoder.key_width, d_v = decoder.value_width;
        const size_t keys = static_cast<size_t>(decoder.heads) * d_k, values = static_cast<size_t>(decoder.heads) * d_v;
        room.stream.enter(layer.self_norm);
        room.stream.multiply(layer.project, room.made.data());
        Cached* past_keys = static_cast<Cached*>(step.past_keys[number]);
        Cached* past_values = static_cast<Cached*>(step.past_values[number]);
        for (int row = 0; row < rows; ++row) {
            const float* made = room.made.data() + row * (2 * keys + values);
            const int64_t own = room.index[static_cast<size_t>(row) * room.places + position(row)];
            copy_to_cache(made + keys, static_cast<int>(keys), past_keys + own * keys);
            copy_to_cache(made + 2 * keys, static_cast<int>(values), past_values + own * values);
        }
        for (int row = 0; row < rows; ++row) {
            const float* made = room.made.data() + row * (2 * keys + values);
            const int64_t* index = room.index.data() + static_cast<size_t>(row) * room.places;
            if (row + 1 < rows) {  // keys and values of many rows fill more than the second cache
                prefetch(past_keys, keys, index + room.places, position(row) + 1);
                prefetch(past_values, values, index + room.places, position(row) + 1);
            }
            for (int head = 0; head < decoder.heads; ++head) {
                const Seen<Cached> key{past_keys + head * d_k, index, static_cast<ptrdiff_t>(keys), d_k};
                const Seen<Cached> value{past_values + head * d_v, index, static_cast<ptrdiff_t>(values), d_v};
                attend(made + head * d_k, key, value, position(row) + 1, room.scores.data(),
                       room.found.data() + row * values + head * d_v);
            }
        }
        room.stream.leave(layer.self_output, room.found.data(), layer.self_norm);
    }

    void attend_to_memory(const Layer& layer, int number) {
        const int d_k = decoder.key_width, d_v = decoder.value_width, heads = decoder.heads;
        room.stream.enter(layer.cross_norm);
        room.stream.multiply(layer.query, room.made.data());
        const Cached* memory_keys = static_cast<const Cached*>(step.memory_keys[number]);
        const Cached* memory_values = static_cast<const Cached*>(step.memory_values[number]);
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
                    attend<Cached>(query, {memory_keys + place * d_k, room.in_order.data(), d_k, d_k},
                                 {memory_values + place * d_v, room.in_order.data(), d_v, d_v}, length,
                                 room.scores.data(), found);
                if (step.attended && is_last) {
                    float* attended = step.attended + (static_cast<size_t>(row) * heads + head) * step.source;
                    std::copy_n(room.scores.data(), length, attended);
                    std::fill_n(attended + length, step.source - length, 0.0f);
                }
            }
        }
        room.stream.leave(layer.cross_output, room.found.data(), layer.cross_norm);
    }
};

// Where the keys and values of each row's positions stand, this one's with them, counted in rows of the buffers.
void index_past(const Step& step, size_t places, std::vector<int64_t>& index) {
    const size_t rows = step.rows, positions = step.position;
    index.resize(rows * places);
    for (size_t row = 0; row < rows; ++row)
        for (size_t place = 0; place < places; ++place) {
            const size_t own = step.is_one_row ? 0 : step.own ? step.own[row] : row;
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
    auto& room = own_room<Room<Rows>>();
    const size_t rows = step.rows, width = decoder.width;
    room.stream.begin(step.rows, decoder.width, decoder.norm_first);
    std::copy_n(step.x, rows * width, room.stream.x.data());
    room.made.resize(rows * widest(decoder));
    room.found.resize(rows * decoder.heads * decoder.value_width);
    room.places = step.position + (step.is_one_row ? rows : 1);
    room.scores.resize(std::max<size_t>(room.places, step.source) + LANES);
    index_past(step, room.places, room.index);
    room.in_order.resize(step.source);
    std::iota(room.in_order.begin(), room.in_order.end(), 0);
    Work<Rows> work{decoder, step, room, step.rows};
    for (int number = 0; number < decoder.layers; ++number) {
        const Layer& layer = decoder.layer[number];
        work.attend_to_past(layer, number);
        work.attend_to_memory(layer, number);
        room.stream.feed_forward(layer.expand, layer.contract, layer.feedforward_norm, room.made.data());
    }
    room.stream.end(decoder.final_norm);
    room.stream.multiply(decoder.output, step.logits);
}

}  // namespace

// How native/structures.py lays out weights: outputs of a panel; of integers, what is added to each weight and to each
// number of a row, and the most that two weights of one sign may be together (0: any).
extern "C" int32_t openwork_float_panel() { return floats::PANEL; }
extern "C" int32_t openwork_integer_panel() { return integers::PANEL; }
extern "C" int32_t openwork_integer_added_to_weights() { return integers::ADDED_TO_WEIGHTS; }
extern "C" int32_t openwork_integer_added_to_rows() { return integers::ADDED_TO_ROWS; }
extern "C" int32_t openwork_integer_most_of_two() { return integers::MOST_OF_TWO; }

extern "C" void openwork_step_float32(const Decoder* decoder, const Step* step) { decode<floats::Rows>(*decoder, *step); }

extern "C" void openwork_step_int8(const Decoder* decoder, const Step* step) { decode<integers::Rows>(*decoder, *step); }
