// Work in parts: some of it for each thread, and rows in whole registers.

#pragma once

#include <algorithm>
#include <cstdint>
#include <thread>
#include <vector>

#include "vectors.h"

namespace {

// As many numbers as fill registers.
inline int64_t filled(int64_t count) { return (count + LANES - 1) / LANES * LANES; }

// Calls task(first, last, thread) for each thread's part of `count`; the first part is this thread's own.
template <class Task>
void divided(int64_t count, int64_t threads, Task task) {
    const int64_t each = (count + threads - 1) / threads;
    auto part = [&](int64_t thread) { task(std::min(thread * each, count), std::min((thread + 1) * each, count), thread); };
    std::vector<std::thread> others;
    for (int64_t thread = 1; thread < threads; ++thread) others.emplace_back(part, thread);
    part(0);
    for (std::thread& other : others) other.join();
}

}  // namespace
