// What a function needs for a moment, kept from one call to the next.

#pragma once

#include <memory>

namespace {

// Each thread's own. Behind a pointer: compilers look up a thread's variable at each use of its name, also in loops.
template <class Room>
Room& own_room() {
    static thread_local const auto room = std::make_unique<Room>();
    return *room;
}

}  // namespace
