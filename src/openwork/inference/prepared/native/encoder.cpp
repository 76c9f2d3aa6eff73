// A Transformer's encoder for many sentences, and the keys and values that the decoder's layers see of its output.
//
// Sentences are read without padding: what becomes of one does not depend on the others.
// tests/models/test_native.py holds it equal to the model.

#include "layers.h"
#include "room.h"

namespace {

constexpr int READ_TOGETHER = 432;  // source positions whose vectors stay in the cache from one layer to the next
constexpr int QUERIES = 4;          // that attend together, so that no instruction waits for the one before it

// The queries, keys and values of one head of a sentence, each a vector of a longer row.
struct Head {
    const float *queries, *keys, *values;
    size_t stride;  // from one position to the next
    int positions, key_width, value_width;
};

// softmax(Q K^T) V (equation 1; 1 / sqrt(d_k) stands in the weights of the queries). `found` has rows of found_stride.
struct Attention {
    std::vector<float> turned, scores;  // the keys (key_width, room); scores (QUERIES, room)

    void attend(const Head& head, float* found, size_t found_stride) {
        const int room = (head.positions + LANES - 1) / LANES * LANES;
        turned.assign(static_cast<size_t>(head.key_width) * room, 0.0f);
        scores.resize(static_cast<size_t>(QUERIES) * room);
        for (int place = 0; place < head.positions; ++place)
            for (int i = 0; i < head.key_width; ++i)
                turned[static_cast<size_t>(i) * room + place] = head.keys[place * head.stride + i];
        for (int first = 0; first < head.positions; first += QUERIES) some(head, first, room, found, found_stride);
    }

    // Of QUERIES queries; beyond the end of the sentence its last one again.
    void some(const Head& head, int first, int room, float* found, size_t found_stride) {
        const float* query[QUERIES];
        float* to[QUERIES];
        for (int q = 0; q < QUERIES; ++q) {
            const size_t place = std::min(first + q, head.positions - 1);
            query[q] = head.queries + place * head.stride;
            to[q] = found + place * found_stride;
        }
        for (int place = 0; place < room; place += LANES) {
            Vector sums[QUERIES] = {};
            for (int i = 0; i < head.key_width; ++i) {
                const Vector key = load(turned.data() + static_cast<size_t>(i) * room + place);
                for (int q = 0; q < QUERIES; ++q) sums[q] = fused(key, all(query[q][i]), sums[q]);
            }
            for (int q = 0; q < QUERIES; ++q) store(scores.data() + static_cast<size_t>(q) * room + place, sums[q]);
        }
        for (int q = 0; q < QUERIES; ++q) softmax(scores.data() + static_cast<size_t>(q) * room, head.positions);
        const int filled = head.value_width / LANES * LANES;
        for (int i = 0; i < filled; i += LANES) {
            Vector sums[QUERIES] = {};
            for (int place = 0; place < head.positions; ++place) {
                const Vector value = load(head.values + place * head.stride + i);
                for (int q = 0; q < QUERIES; ++q)
                    sums[q] = fused(value, all(scores[static_cast<size_t>(q) * room + place]), sums[q]);
            }
            for (int q = 0; q < QUERIES; ++q) store(to[q] + i, sums[q]);
        }
        for (int q = 0; q < QUERIES; ++q)
            for (int i = filled; i < head.value_width; ++i) {
                float sum = 0;
                for (int place = 0; place < head.positions; ++place)
                    sum += head.values[place * head.stride + i] * scores[static_cast<size_t>(q) * room + place];
                to[q][i] = sum;
            }
    }
};

// What the reading needs for a moment.
template <class Rows>
struct ReadingRoom {
    Stream<Rows> stream;
    Attention attention;
    std::vector<float> made, found;
};

template <class Rows>
struct Reader {
    const Encoder& encoder;
    const Reading& reading;
    ReadingRoom<Rows>& room;
    int first, end;  // sentences

    size_t length(int sentence) const { return reading.lengths[sentence]; }

    void attend(const EncoderLayer& layer) {
        const int d_k = encoder.key_width, d_v = encoder.value_width;
        const size_t keys = static_cast<size_t>(encoder.heads) * d_k, values = static_cast<size_t>(encoder.heads) * d_v;
        const size_t stride = 2 * keys + values;
        room.stream.enter(layer.attention_norm);
        room.stream.multiply(layer.project, room.made.data());
        size_t row = 0;
        for (int sentence = first; sentence < end; row += length(sentence), ++sentence)
            for (int head = 0; head < encoder.heads && length(sentence); ++head) {
                const float* made = room.made.data() + row * stride;
                const Head one{made + head * d_k, made + keys + head * d_k, made + 2 * keys + head * d_v, stride,
                               static_cast<int>(length(sentence)), d_k, d_v};
                room.attention.attend(one, room.found.data() + row * values + head * d_v, values);
            }
        room.stream.leave(layer.output, room.found.data(), layer.attention_norm);
    }

    // The keys and values of all layers of the decoder, head by head.
    void give_memory() {
        room.stream.multiply(encoder.memory, room.made.data());
        const int d_k = encoder.memory_key_width, d_v = encoder.memory_value_width, heads = encoder.heads;
        size_t row = 0;
        for (int sentence = first; sentence < end; row += length(sentence), ++sentence)
            for (size_t place = 0; place < length(sentence); ++place) {
                const float* made = room.made.data() + (row + place) * encoder.memory.outputs;
                for (int layer = 0; layer < encoder.memory_layers; ++layer)
                    for (auto [to, width] : {std::pair{reading.memory_keys[layer], d_k},
                                             std::pair{reading.memory_values[layer], d_v}})
                        for (int head = 0; head < heads; ++head, made += width) {
                            const size_t at = (static_cast<size_t>(sentence) * heads + head) * reading.longest + place;
                            copy_to_cache(made, width, static_cast<typename Rows::Cached*>(to) + at * width);
                        }
            }
    }

    void read() {
        int rows = 0;
        for (int sentence = first; sentence < end; ++sentence) rows += static_cast<int>(length(sentence));
        if (rows == 0) return;
        room.stream.begin(rows, encoder.width, encoder.norm_first);
        size_t row = 0;
        for (int sentence = first; sentence < end; row += length(sentence), ++sentence)
            std::copy_n(reading.x + static_cast<size_t>(sentence) * reading.longest * encoder.width,
                        length(sentence) * encoder.width, room.stream.x.data() + row * encoder.width);
        int widest = encoder.memory.outputs;
        for (int number = 0; number < encoder.layers; ++number)
            widest = std::max({widest, encoder.layer[number].project.outputs, encoder.layer[number].expand.outputs});
        room.made.resize(static_cast<size_t>(rows) * widest);
        room.found.resize(static_cast<size_t>(rows) * encoder.heads * encoder.value_width);
        for (int number = 0; number < encoder.layers; ++number) {
            const EncoderLayer& layer = encoder.layer[number];
            attend(layer);
            room.stream.feed_forward(layer.expand, layer.contract, layer.feedforward_norm, room.made.data());
        }
        room.stream.end(encoder.final_norm);
        give_memory();
    }
};

template <class Rows>
void read(const Encoder& encoder, const Reading& reading) {
    auto& room = own_room<ReadingRoom<Rows>>();
    for (int first = 0, end; first < reading.sentences; first = end) {
        int64_t positions = reading.lengths[first];
        for (end = first + 1; end < reading.sentences; ++end)
            if ((positions += reading.lengths[end]) > READ_TOGETHER) break;
        Reader<Rows>{encoder, reading, room, first, end}.read();
    }
}

}  // namespace

extern "C" void openwork_read_float32(const Encoder* encoder, const Reading* reading) {
    read<floats::Rows>(*encoder, *reading);
}

extern "C" void openwork_read_int8(const Encoder* encoder, const Reading* reading) {
    read<integers::Rows>(*encoder, *reading);
}
