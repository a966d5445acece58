#pragma once

#include <cstddef>

namespace vergence::emulation {

constexpr std::size_t kStackBytes = std::size_t{256} << 10;

/// A function's life on a stack of its own, which goes on when somebody switches to it.
struct Fiber {
    unsigned char* stack = nullptr; ///< lowest byte; null: the host thread's own
    unsigned char* top = nullptr;   ///< where `main` begins
    void* position = nullptr;       ///< where it goes on
};

/// A fiber that begins with main(), which never returns. Fibers live as long as the process.
Fiber& makeFiber(void (*main)());
/// Lets it begin anew; what was on its stack is forgotten.
void restart(Fiber& fiber, void (*main)());

/// Goes on with `to`. Returns when somebody switches to `from`.
void switchFiber(Fiber& from, Fiber& to);

} // namespace vergence::emulation
