// A step of the search of one sentence: embeddings, the decoder's step, and the best tokens after each hypothesis.
//
// It is what decoding/lone.py asks of a model, in one call.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "room.h"
#include "search.h"

namespace {

// What a step needs for a moment.
struct SearchRoom {
    std::vector<float> x, logits;
    std::vector<int64_t> first, before;
};

// Where each hypothesis' earlier positions stand, from the places of the hypotheses that they continue.
void follow_parents(const Continuing& one, std::vector<int64_t>& before) {
    if (one.position == 0) return;
    const size_t earlier = static_cast<size_t>(one.position - 1) * one.rows_before;
    before.assign(one.past_row, one.past_row + earlier);
    for (int place = 0; place < one.position; ++place)
        for (int row = 0; row < one.rows; ++row) {
            const int64_t parent = one.parents[row];
            const bool is_last = place == one.position - 1;
            one.past_row[static_cast<size_t>(place) * one.rows + row] =
                is_last ? parent : before[static_cast<size_t>(place) * one.rows_before + parent];
        }
}

void continue_with(TakeStep take_step, const Decoder& decoder, const Continuing& one) {
    auto& [x, logits, first, before] = own_room<SearchRoom>();
    const size_t rows = one.rows, outputs = decoder.output.outputs;
    x.resize(rows * decoder.width);
    logits.resize(rows * outputs);
    first.assign(rows, 0);  // there is one sentence
    follow_parents(one, before);
    for (size_t row = 0; row < rows; ++row)
        embed(one, one.tokens[row], one.position, decoder.width, x.data() + row * decoder.width);
    const Step step{one.rows, one.position, one.past_rows, one.source, 0, x.data(), one.past_row, nullptr,
                    first.data(), one.lengths, one.past_keys, one.past_values, one.memory_keys, one.memory_values, logits.data(),
                    nullptr};
    take_step(&decoder, &step);
    const Choice choice{one.rows, decoder.output.outputs, one.count, logits.data(), one.added, one.sums, one.ids,
                        one.normaliser};
    openwork_best(&choice);
    for (size_t row = 0; row < rows; ++row)
        for (int i = 0; i < one.count; ++i) {
            float& sum = one.sums[row * one.count + i];
            sum = sum - one.normaliser[row] + one.values[row];
        }
}

}  // namespace

extern "C" void openwork_continue_float32(const Decoder* decoder, const Continuing* one) {
    continue_with(openwork_step_float32, *decoder, *one);
}

extern "C" void openwork_continue_int8(const Decoder* decoder, const Continuing* one) {
    continue_with(openwork_step_int8, *decoder, *one);
}
