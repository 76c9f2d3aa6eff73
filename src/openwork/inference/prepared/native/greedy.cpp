// A step of the greedy search of many sentences: embeddings, the decoder's step, the best tokens, and who goes on.
//
// It is a step of decoding/left_to_right.py in one call: there it is some forty calls of the framework, which take a
// third of the time where the decoder is narrow. tests/models/test_native_greedy.py holds the two equal.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "room.h"
#include "search.h"

namespace {

// What a step needs for a moment.
struct GreedyRoom {
    std::vector<float> x, logits, values, normalisers;
    std::vector<int64_t> best;
};

// Writes the best token of each row, and keeps the rows that go on.
void write_tokens(Writing& all, const GreedyRoom& room) {
    int going_on = 0;
    for (int row = 0; row < all.rows; ++row) {
        const int64_t sentence = all.live[row];
        const float value = room.values[row] - room.normalisers[row];
        all.tokens[sentence * all.stride + all.position + 1] = room.best[row];
        all.totals[sentence] += value;
        const bool has_way = value > -std::numeric_limits<float>::infinity();
        if (has_way && room.best[row] != all.end && all.limits[sentence] > all.position + 1)
            all.live[going_on++] = sentence;
    }
    all.rows = going_on;
}

void write(TakeStep take_step, const Decoder& decoder, Writing& all) {
    auto& room = own_room<GreedyRoom>();
    const size_t width = decoder.width;
    room.x.resize(all.rows * width);
    room.logits.resize(static_cast<size_t>(all.rows) * decoder.output.outputs);
    room.values.resize(all.rows);
    room.normalisers.resize(all.rows);
    room.best.resize(all.rows);
    for (int row = 0; row < all.rows; ++row)
        embed(all, all.tokens[all.live[row] * all.stride + all.position], all.position, width, room.x.data() + row * width);
    const Step step{all.rows, all.position, all.sentences, all.source, 0, room.x.data(), nullptr, all.live, all.live,
                    all.lengths, all.past_keys, all.past_values, all.memory_keys, all.memory_values, room.logits.data(),
                    nullptr};
    take_step(&decoder, &step);
    const Choice choice{all.rows, decoder.output.outputs, 1, room.logits.data(), all.added, room.values.data(),
                        room.best.data(), room.normalisers.data()};
    openwork_best(&choice);
    all.normaliser = std::accumulate(room.normalisers.begin(), room.normalisers.end(), 0.0f);
    write_tokens(all, room);
    ++all.position;
}

}  // namespace

extern "C" void openwork_write_float32(const Decoder* decoder, Writing* all) {
    write(openwork_step_float32, *decoder, *all);
}

extern "C" void openwork_write_int8(const Decoder* decoder, Writing* all) { write(openwork_step_int8, *decoder, *all); }
