// Random numbers that follow from a key and a counter alone (Salmon et al. 2011, Philox4x32 with 7 rounds), so that a
// mask need not be kept: it is made again where it is needed again.

#pragma once

#include <cstdint>

#include "vectors.h"

namespace {

typedef uint32_t Counters __attribute__((vector_size(OPENWORK_LANES * 4)));
typedef uint64_t Wide __attribute__((vector_size(OPENWORK_LANES * 4)));

// The lower and the upper half of each product with the same factor.
inline void multiply(Counters x, uint32_t factor, Counters& lower, Counters& upper) {
    constexpr uint64_t LOW = 0xFFFFFFFF;
    const Wide even = ((Wide)x & LOW) * factor, odd = ((Wide)x >> 32) * factor;
    lower = (Counters)((even & LOW) | (odd << 32));
    upper = (Counters)((even >> 32) | (odd & ~LOW));
}

constexpr int WORDS = 4;    // of 32 bits that a counter gives
constexpr int TOGETHER = 16;  // counters of a row are a multiple of so many, whatever the registers

// For `counters` counters from `first` on, both multiples of 16: the first words of all, then the second ones, ...
inline void random_words(uint64_t key, uint64_t first, int64_t counters, uint32_t* words) {
    Counters lanes;
    for (int lane = 0; lane < LANES; ++lane) lanes[lane] = lane;
    for (int64_t begin = 0; begin < counters; begin += LANES) {
        const uint64_t start = first + begin;
        // a multiple of the lanes, so that no carry comes within them
        Counters c[WORDS] = {lanes + static_cast<uint32_t>(start), Counters{} + static_cast<uint32_t>(start >> 32)};
        uint32_t keys[2] = {static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)};
        for (int round = 0; round < 7; ++round) {
            Counters lower[2], upper[2];
            multiply(c[0], 0xD2511F53, lower[0], upper[0]);
            multiply(c[2], 0xCD9E8D57, lower[1], upper[1]);
            const Counters next[WORDS] = {upper[1] ^ c[1] ^ keys[0], lower[1], upper[0] ^ c[3] ^ keys[1], lower[0]};
            for (int word = 0; word < WORDS; ++word) c[word] = next[word];
            keys[0] += 0x9E3779B9;
            keys[1] += 0xBB67AE85;
        }
        for (int word = 0; word < WORDS; ++word) std::memcpy(words + word * counters + begin, &c[word], sizeof c[word]);
    }
}

}  // namespace
