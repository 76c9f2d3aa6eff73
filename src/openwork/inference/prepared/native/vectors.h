// What the compiled functions share: registers of sixteen numbers.

#pragma once

#include <immintrin.h>

#if !defined(__AVX512F__) || !defined(__AVX512BW__) || !defined(__AVX512DQ__) || !defined(__AVX512VNNI__)
#error "these files need AVX-512 with VNNI"
#endif

namespace {

constexpr int LANES = 16;  // float32 numbers in a register

// The lanes of a register that `left` numbers fill.
inline __mmask16 first_lanes(int left) { return left >= LANES ? 0xFFFF : static_cast<__mmask16>((1u << left) - 1); }

// e^x for x <= 0: 2^n times a polynomial of the rest, to within two units of the last place.
inline __m512 exponential(__m512 x) {
    x = _mm512_max_ps(_mm512_set1_ps(-87.0f), x);  // of NaN: NaN
    const __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(1.44269504f)), _MM_FROUND_TO_NEAREST_INT);
    __m512 rest = _mm512_fnmadd_ps(n, _mm512_set1_ps(0.693359375f), x);
    rest = _mm512_fnmadd_ps(n, _mm512_set1_ps(-2.12194440e-4f), rest);
    __m512 sum = _mm512_set1_ps(1.9875691500e-4f);
    for (const float factor : {1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f, 1.6666665459e-1f, 0.5f, 1.0f, 1.0f})
        sum = _mm512_fmadd_ps(sum, rest, _mm512_set1_ps(factor));
    return _mm512_scalef_ps(sum, n);
}

}  // namespace
