// Pairs of neighbouring bfloat16 numbers, of which AVX-512 has an instruction for a sum of products.

#pragma once

#include <type_traits>

#include "vectors.h"

namespace {

struct Pair {
    BFloat16 one, other;
};

#if OPENWORK_LANES == 16 && defined(__AVX512BF16__)
#define OPENWORK_PAIRS 1

template <class Number>
constexpr bool IN_PAIRS = std::is_same_v<Number, BFloat16>;

struct Pairs {
    Vector bits;
};

inline Pairs load(const Pair* from) { return {load(reinterpret_cast<const float*>(from))}; }
inline void store(Pair* to, Pairs pairs) { store(reinterpret_cast<float*>(to), pairs.bits); }
inline Pairs all(Pair pair) {
    int32_t bits;
    std::memcpy(&bits, &pair, sizeof bits);
    return {(Vector)_mm512_set1_epi32(bits)};
}
inline Vector fused(Pairs one, Pairs other, Vector sum) {
    return (Vector)_mm512_dpbf16_ps((__m512)sum, (__m512bh)one.bits, (__m512bh)other.bits);
}
#else
#define OPENWORK_PAIRS 0

template <class Number>
constexpr bool IN_PAIRS = false;
#endif

// Rows and columns exchanged.
template <int DISTANCE = 1>
inline void transpose(Vector (&rows)[LANES]) {
    if constexpr (DISTANCE < LANES) {
        for (int row = 0; row < LANES; ++row)
            if (!(row & DISTANCE)) exchange<DISTANCE>(rows[row], rows[row + DISTANCE]);
        transpose<2 * DISTANCE>(rows);
    }
}

}  // namespace
