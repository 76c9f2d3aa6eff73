// What the compiled functions share: registers of float32 numbers, whatever their width.
//
// The operators + - * / and comparisons of compilers' vector types become the processor's own instructions. What they
// have no operator for stands here once for each kind of processor.

#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <utility>

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__)
#include <immintrin.h>
#define OPENWORK_LANES 16
#elif defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
#define OPENWORK_LANES 8
#elif defined(__aarch64__)
#include <arm_neon.h>
#define OPENWORK_LANES 4
#else
#error "these files need AVX2 with FMA, AVX-512 or NEON"
#endif

namespace {

constexpr int LANES = OPENWORK_LANES;  // float32 numbers in a register

typedef float Vector __attribute__((vector_size(OPENWORK_LANES * 4)));
typedef int32_t Whole __attribute__((vector_size(OPENWORK_LANES * 4)));

inline Vector load(const float* from) {
    Vector made;
    std::memcpy(&made, from, sizeof made);
    return made;
}

inline void store(float* to, Vector numbers) { std::memcpy(to, &numbers, sizeof numbers); }

// A float32 number without the lower half of its bits: how keys and values are kept beside integers of eight bits.
struct BFloat16 {
    uint16_t bits;
};

typedef uint16_t Halves __attribute__((vector_size(OPENWORK_LANES * 2)));
typedef uint32_t Bits __attribute__((vector_size(OPENWORK_LANES * 4)));

#if OPENWORK_LANES == 16
inline Bits widened(Halves x) { return (Bits)_mm512_cvtepu16_epi32((__m256i)x); }
inline Halves narrowed(Bits x) { return (Halves)_mm512_cvtepi32_epi16((__m512i)x); }
#elif OPENWORK_LANES == 8
inline Bits widened(Halves x) { return (Bits)_mm256_cvtepu16_epi32((__m128i)x); }
inline Halves narrowed(Bits x) {
    return (Halves)_mm_packus_epi32(_mm256_castsi256_si128((__m256i)x), _mm256_extracti128_si256((__m256i)x, 1));
}
#else
inline Bits widened(Halves x) { return (Bits)vmovl_u16((uint16x4_t)x); }
inline Halves narrowed(Bits x) { return (Halves)vmovn_u32((uint32x4_t)x); }
#endif

inline Vector load(const BFloat16* from) {
    Halves halves;
    std::memcpy(&halves, from, sizeof halves);
    return (Vector)(widened(halves) << 16);
}

// To the nearest, between two the even one; what is no number stays none.
#if OPENWORK_LANES == 16 && defined(__AVX512BF16__)
inline void store(BFloat16* to, Vector numbers) {  // by one instruction, which makes numbers below 2^-126 zeros
    const auto halves = _mm512_cvtneps_pbh((__m512)numbers);
    std::memcpy(to, &halves, sizeof halves);
}
#else
inline void store(BFloat16* to, Vector numbers) {
    const Bits bits = (Bits)numbers;
    const Bits nearest = bits + 0x7FFF + ((bits >> 16) & 1);
    const Bits kept = (numbers == numbers ? nearest : bits | 0x400000) >> 16;
    const Halves halves = narrowed(kept);
    std::memcpy(to, &halves, sizeof halves);
}
#endif

// Copies numbers into a cache of keys or values, rounded where it is bfloat16; `count` need not fill registers.
template <class Cached>
void copy_to_cache(const float* from, int count, Cached* to) {
    const int whole = count / LANES * LANES;
    for (int i = 0; i < whole; i += LANES) store(to + i, load(from + i));
    if (whole == count) return;
    float some[LANES] = {};
    Cached made[LANES];
    std::memcpy(some, from + whole, (count - whole) * sizeof *from);
    store(made, load(some));
    std::memcpy(to + whole, made, (count - whole) * sizeof *to);
}

inline float number(float kept) { return kept; }
inline float number(BFloat16 kept) {
    const uint32_t bits = static_cast<uint32_t>(kept.bits) << 16;
    float made;
    std::memcpy(&made, &bits, sizeof made);
    return made;
}

// Zero is subtracted, which compilers leave out; an added zero they keep, since it makes -0 to 0.
inline Vector all(float number) { return number - Vector{}; }

// one * other + sum, rounded once. The instruction is named, since for some processors GCC takes two in some loops.
#if OPENWORK_LANES == 16
inline Vector fused(Vector one, Vector other, Vector sum) {
    return (Vector)_mm512_fmadd_ps((__m512)one, (__m512)other, (__m512)sum);
}
#elif OPENWORK_LANES == 8
inline Vector fused(Vector one, Vector other, Vector sum) {
    return (Vector)_mm256_fmadd_ps((__m256)one, (__m256)other, (__m256)sum);
}
#else
inline Vector fused(Vector one, Vector other, Vector sum) {
    return (Vector)vfmaq_f32((float32x4_t)sum, (float32x4_t)one, (float32x4_t)other);
}
#endif

// Of each lane the greater; where one is not a number, the second.
inline Vector greater(Vector one, Vector other) { return one > other ? one : other; }

inline Whole greater(Whole one, Whole other) { return one > other ? one : other; }

// Of each lane the lowest byte, of numbers from -128 to 255; others become some byte.
#if OPENWORK_LANES == 16
inline void store(uint8_t* to, Whole x) { _mm_storeu_si128((__m128i*)to, _mm512_cvtepi32_epi8((__m512i)x)); }
#elif OPENWORK_LANES == 8
inline void store(uint8_t* to, Whole x) {
    const __m256i low = _mm256_and_si256((__m256i)x, _mm256_set1_epi32(0xFF));
    const __m128i halves = _mm_packus_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));
    _mm_storel_epi64((__m128i*)to, _mm_packus_epi16(halves, halves));
}
#else
inline void store(uint8_t* to, Whole x) {
    const uint16x4_t halves = vmovn_u32((uint32x4_t)x);
    const uint8x8_t bytes = vmovn_u16(vcombine_u16(halves, halves));
    std::memcpy(to, &bytes, LANES);
}
#endif

// Sums and greatest of the lanes; and of each lane the nearest whole number, between two the even one.
#if OPENWORK_LANES == 16
inline float sum_of(Vector x) { return _mm512_reduce_add_ps((__m512)x); }
inline float greatest_of(Vector x) { return _mm512_reduce_max_ps((__m512)x); }
inline int32_t greatest_of(Whole x) { return _mm512_reduce_max_epi32((__m512i)x); }
inline Whole rounded(Vector x) { return (Whole)_mm512_cvtps_epi32((__m512)x); }
#elif OPENWORK_LANES == 8
inline float sum_of(Vector x) {
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128((__m256)x), _mm256_extractf128_ps((__m256)x, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
inline float greatest_of(Vector x) {
    const __m128 four = _mm_max_ps(_mm256_castps256_ps128((__m256)x), _mm256_extractf128_ps((__m256)x, 1));
    const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}
inline int32_t greatest_of(Whole x) {
    const __m128i four = _mm_max_epi32(_mm256_castsi256_si128((__m256i)x), _mm256_extracti128_si256((__m256i)x, 1));
    const __m128i two = _mm_max_epi32(four, _mm_unpackhi_epi64(four, four));
    return std::max(_mm_cvtsi128_si32(two), _mm_extract_epi32(two, 1));
}
inline Whole rounded(Vector x) { return (Whole)_mm256_cvtps_epi32((__m256)x); }
#else
inline float sum_of(Vector x) { return vaddvq_f32((float32x4_t)x); }
inline float greatest_of(Vector x) { return vmaxvq_f32((float32x4_t)x); }
inline int32_t greatest_of(Whole x) { return vmaxvq_s32((int32x4_t)x); }
inline Whole rounded(Vector x) { return (Whole)vcvtnq_s32_f32((float32x4_t)x); }
#endif

// begin, begin + 1, ...
inline Whole places(int64_t begin) {
    Whole made;
    for (int lane = 0; lane < LANES; ++lane) made[lane] = lane;
    return made + static_cast<int32_t>(begin);
}

// Blocks of `DISTANCE` lanes exchanged: the second ones of the first register for the first ones of the second. The lanes
// are constants, so that compilers find the instruction that moves them.
template <int DISTANCE, int... LANE>
inline void exchange_lanes(Vector& first, Vector& second, std::integer_sequence<int, LANE...>) {
    const Vector one = first, other = second;
#if defined(__clang__)
    first = __builtin_shufflevector(one, other, (LANE & DISTANCE ? LANES + LANE - DISTANCE : LANE)...);
    second = __builtin_shufflevector(one, other, (LANE & DISTANCE ? LANES + LANE : LANE + DISTANCE)...);
#else
    first = __builtin_shuffle(one, other, Whole{(LANE & DISTANCE ? LANES + LANE - DISTANCE : LANE)...});
    second = __builtin_shuffle(one, other, Whole{(LANE & DISTANCE ? LANES + LANE : LANE + DISTANCE)...});
#endif
}

template <int DISTANCE>
inline void exchange(Vector& first, Vector& second) {
    exchange_lanes<DISTANCE>(first, second, std::make_integer_sequence<int, LANES>());
}

// In each lane the sum of the register of that number. The registers are used up.
template <int DISTANCE = 1>
inline Vector sum_of_each(Vector (&x)[LANES]) {
    if constexpr (DISTANCE == LANES) {
        return x[0];
    } else {
#pragma GCC unroll 8
        for (int i = 0; i < LANES; i += 2 * DISTANCE) {
            exchange<DISTANCE>(x[i], x[i + DISTANCE]);
            x[i] += x[i + DISTANCE];
        }
        return sum_of_each<2 * DISTANCE>(x);
    }
}

// Bytes as whole numbers.
#if OPENWORK_LANES == 16
inline Whole whole(const uint8_t* from) { return (Whole)_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i*)from)); }
#elif OPENWORK_LANES == 8
inline Whole whole(const uint8_t* from) { return (Whole)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i*)from)); }
#else
inline Whole whole(const uint8_t* from) { return Whole{from[0], from[1], from[2], from[3]}; }
#endif

// e^x for x <= 0: 2^n times a polynomial of the rest, to within two units of the last place. Of NaN: NaN.
// Below e^-87 it is zero, since divided by a sum it would become a subnormal number, and processors are slow with those.
inline Vector exponential(Vector x) {
    constexpr float TO_WHOLE = 12582912.0f;  // 1.5 x 2^23: a number added to it is rounded to a whole one
    constexpr int32_t WHOLE_ZERO = 0x4B400000, EXPONENT = 23, BIAS = 127;
    const Vector shifted = fused(x, all(1.44269504f), all(TO_WHOLE));
    const Vector n = shifted - TO_WHOLE;
    const Vector rest = fused(n, all(2.12194440e-4f), fused(n, all(-0.693359375f), x));
    Vector sum = all(1.9875691500e-4f);
    for (const float factor : {1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f, 1.6666665459e-1f, 0.5f, 1.0f, 1.0f})
        sum = fused(sum, rest, all(factor));
    const Whole power = ((Whole)shifted - WHOLE_ZERO + BIAS) << EXPONENT;
    return x < all(-87.0f) ? Vector{} : sum * (Vector)power;
}

}  // namespace
