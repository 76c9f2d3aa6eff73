// What searches ask of a decoder.

#pragma once

#include <cstddef>
#include <cstdint>

#include "structures.h"

extern "C" void openwork_best(const Choice*);
extern "C" void openwork_step_float32(const Decoder*, const Step*);
extern "C" void openwork_step_int8(const Decoder*, const Step*);

namespace {

using TakeStep = void (*)(const Decoder*, const Step*);

// The embedding of a token at a position, as the search has them.
template <class Search>
void embed(const Search& search, int64_t token, size_t position, size_t width, float* x) {
    const float* from = search.table + static_cast<size_t>(token) * width;
    const float* place = search.places ? search.places + position * width : nullptr;
    for (size_t i = 0; i < width; ++i) x[i] = from[i] * search.scale + (place ? place[i] : 0.0f);
}

}  // namespace
