// What the compiled functions share: registers of float32 numbers, whatever their width.
//
// The operators + - * / and comparisons of compilers' vector types become the processor's own instructions. What they
// have no operator for stands here once for each kind of processor.

#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>

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

inline Vector all(float number) { return Vector{} + number; }

// Of each lane the greater; where one is not a number, the second.
inline Vector greater(Vector one, Vector other) { return one > other ? one : other; }

// Sums and greatest of the lanes; and of each lane the nearest whole number, between two the even one.
#if OPENWORK_LANES == 16
inline float sum_of(Vector x) { return _mm512_reduce_add_ps((__m512)x); }
inline float greatest_of(Vector x) { return _mm512_reduce_max_ps((__m512)x); }
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
inline Whole rounded(Vector x) { return (Whole)_mm256_cvtps_epi32((__m256)x); }
#else
inline float sum_of(Vector x) { return vaddvq_f32((float32x4_t)x); }
inline float greatest_of(Vector x) { return vmaxvq_f32((float32x4_t)x); }
inline Whole rounded(Vector x) { return (Whole)vcvtnq_s32_f32((float32x4_t)x); }
#endif

// e^x for x <= 0: 2^n times a polynomial of the rest, to within two units of the last place. Of NaN: NaN.
inline Vector exponential(Vector x) {
    constexpr float TO_WHOLE = 12582912.0f;  // 1.5 x 2^23: a number added to it is rounded to a whole one
    constexpr int32_t WHOLE_ZERO = 0x4B400000, EXPONENT = 23, BIAS = 127;
    x = greater(all(-87.0f), x);
    const Vector shifted = x * 1.44269504f + TO_WHOLE;
    const Vector n = shifted - TO_WHOLE;
    Vector rest = x - n * 0.693359375f;
    rest = rest + n * 2.12194440e-4f;
    Vector sum = all(1.9875691500e-4f);
    for (const float factor : {1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f, 1.6666665459e-1f, 0.5f, 1.0f, 1.0f})
        sum = sum * rest + factor;
    const Whole power = ((Whole)shifted - WHOLE_ZERO + BIAS) << EXPONENT;
    return sum * (Vector)power;
}

}  // namespace
