#pragma once

#include <cstdlib>
#include <memory>

#include <benchmark/benchmark.h>

#include "core/compute/backend.h"
#include "tests/support/devices.h"

namespace vergence::bench {

/// What $VERGENCE_BENCH_DEVICE names (cuda, cuda:1), otherwise the CPU with at most `threads`
/// threads, 0 for all.
inline std::shared_ptr<Device> benchDevice(int threads)
{
    const char* name = std::getenv("VERGENCE_BENCH_DEVICE");
    if (!name)
        return makeCpuDevice(threads);
    auto device = openDevices(threads).select(name);
    test::loadCudaBodies();
    return device;
}

/// Measures `call` until what it has queued on `stream` is done.
template <class Call>
void turns(benchmark::State& state, Stream& stream, const Call& call)
{
    for (auto _ : state) {
        call();
        stream.synchronize();
    }
}

} // namespace vergence::bench
