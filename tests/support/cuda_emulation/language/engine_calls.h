#pragma once

// What rewritten kernel files and the headers of this folder ask of the engine. Threads of a block
// are fibers of one thread of the host (engine/block.cpp).

#include <cstddef>
#include <cstdint>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tests/support/cuda_emulation/engine/findings.h"
#include "tests/support/cuda_emulation/language/runtime_names.h"

/// Not watched by the engine: the emulation's own work in headers.
#define VERGENCE_EMULATED_PLAIN                                                                    \
    __attribute__((no_sanitize("thread"), no_sanitize("alignment"), no_sanitize("bounds")))

namespace vergence::emulation {

struct RunningThread {
    uint3 thread, block;
    dim3 blockSize, gridSize;
};
extern RunningThread running;

// --- launches
// --------------------------------------------------------------------------------------

struct LaunchShape {
    dim3 grid, block;
    std::size_t sharedBytes = 0;
    cudaStream_t stream = nullptr;
    LaunchShape(dim3 g, dim3 b, std::size_t s = 0, cudaStream_t t = nullptr)
        : grid(g),
          block(b),
          sharedBytes(s),
          stream(t)
    {
    }
};

/// A kernel with its arguments, as bytes.
struct Launch {
    Site site;
    const char* kernel; ///< as the launch spells it
    LaunchShape shape;
    std::shared_ptr<void> package; ///< kernel and arguments
    std::size_t packageBytes;
    void (*call)(void* package); ///< one thread of it
};
/// Checks the shape and queues it; errors as cudaGetLastError's.
void queueLaunch(const Launch& launch);

template <class Body, class Arguments>
struct Package {
    Body body;
    Arguments arguments;
    VERGENCE_EMULATED_PLAIN static void call(void* package)
    {
        auto* self = static_cast<Package*>(package);
        std::apply(self->body, self->arguments);
    }
};

/// What the rewriter makes of kernel<<<shape>>>(arguments): `body` calls the kernel.
template <class Body, class... Arguments>
void launch(Site site, const char* name, const LaunchShape& shape, Body body,
            const Arguments&... arguments)
{
    using Mine = Package<Body, std::tuple<std::decay_t<Arguments>...>>;
    auto package = std::make_shared<Mine>(Mine{std::move(body), {arguments...}});
    queueLaunch({site, name, shape, package, sizeof(Mine), &Mine::call});
}

/// cudaFuncSetAttribute: the largest dynamic shared memory that a kernel may be launched with.
/// False where the device has less.
bool allowSharedBytes(const void* kernel, int bytes);

// --- shared memory
// ---------------------------------------------------------------------------------

/// One `__shared__` variable: where it lies in the block that runs.
struct SharedVariable {
    unsigned long long block = 0;
    void* at = nullptr;
};
void* sharedVariable(SharedVariable& variable, std::size_t bytes, std::size_t alignment);
void* dynamicShared();
/// The 32-bit address that instructions on shared memory take.
std::size_t sharedAddress(const void* pointer, Site site);

// --- meetings of threads
// ---------------------------------------------------------------------------

enum class Vote { None, Count, And, Or };
int barrier(Site site, Vote vote = Vote::None, int value = 0);

/// Lanes of one warp that meet: operation(arguments of all lanes, mask of those that came, site).
using WarpOperation = void (*)(void** arguments, unsigned came, Site site);
void meet(unsigned mask, Site site, WarpOperation operation, void* argument,
          bool ordersMemory = false);
void syncWarp(Site site, unsigned mask = 0xffffffffu);
int laneOfThread();
unsigned ballot(Site site, unsigned mask, bool value);

/// Tells the engine of an atomic access to come.
void touchAtomic(const void* pointer, std::size_t bytes);

} // namespace vergence::emulation
