// Products of bytes by the tiles of AMX, where the processor has them: sixteen rows with a panel of weights at once.
//
// The sums are those of integers.h, to the last bit.

#pragma once

#include <cstddef>
#include <cstdint>

#include "structures.h"

#if defined(__AMX_INT8__) && defined(__linux__)
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace integers {

constexpr int PANEL = 64;  // outputs that are computed together: four registers, or four tiles
constexpr int MOST = 16;   // rows of a tile
constexpr int TILE = 64;   // bytes of a row of a tile

#if defined(__AMX_INT8__) && defined(__linux__)

constexpr int FEW = 3;  // fewer rows are multiplied faster by vectors

// The system grants tiles to a process that asks.
inline bool are_granted() {
    constexpr int ASK = 0x1023, TILE_DATA = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
    static const bool granted = syscall(SYS_arch_prctl, ASK, TILE_DATA) == 0;
    return granted;
}

// The tiles of this thread, while it exists, if there are rows enough.
class Tiles {
public:
    explicit Tiles(int rows) : used(rows >= FEW && are_granted()) {
        if (!used) return;
        struct alignas(64) {
            uint8_t palette = 1, start = 0, reserved[14] = {};
            uint16_t bytes[16] = {TILE, TILE, TILE, TILE, TILE, TILE};
            uint8_t rows[16] = {MOST, MOST, MOST, MOST, MOST, MOST};
        } form;
        _tile_loadconfig(&form);
    }
    ~Tiles() {
        if (used) _tile_release();
    }
    Tiles(const Tiles&) = delete;

    // How many of the rows that are left are multiplied together; 0: none.
    int rows(int left) const { return !used || left < FEW ? 0 : left < MOST ? left : MOST; }

    // Sixteen rows of signed bytes with a panel [stride / FOUR][PANEL][FOUR] of unsigned ones.
    void multiply(const int8_t* x, int stride, const uint8_t* weights, int32_t (&sums)[MOST][PANEL]) const {
        constexpr int NEXT = PANEL * FOUR;  // bytes from one row of a tile of weights to the next
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
        for (int k = 0; k < stride; k += TILE, weights += TILE / FOUR * NEXT) {
            _tile_loadd(4, x + k, stride);
            _tile_loadd(5, weights, NEXT);
            _tile_dpbsud(0, 4, 5);
            _tile_loadd(5, weights + TILE, NEXT);
            _tile_dpbsud(1, 4, 5);
            _tile_loadd(5, weights + 2 * TILE, NEXT);
            _tile_dpbsud(2, 4, 5);
            _tile_loadd(5, weights + 3 * TILE, NEXT);
            _tile_dpbsud(3, 4, 5);
        }
        _tile_stored(0, sums[0], NEXT);
        _tile_stored(1, sums[0] + 16, NEXT);
        _tile_stored(2, sums[0] + 32, NEXT);
        _tile_stored(3, sums[0] + 48, NEXT);
    }

private:
    const bool used;
};

#else

struct Tiles {
    explicit Tiles(int) {}
    int rows(int) const { return 0; }
    void multiply(const int8_t*, int, const uint8_t*, int32_t (&)[MOST][PANEL]) const {}
};

#endif

}  // namespace integers
