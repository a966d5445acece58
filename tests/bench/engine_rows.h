#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/compute/tensor.h"

namespace vergence::bench {

// What the benchmarks of the tensor engine share. Rows have the names of torch_engine.py.

/// What they run on, and in which order.
const std::shared_ptr<Device>& device();
Stream& stream();

/// Numbers in [−2, 2).
Tensor filled(const Shape& shape, DType type = DType::F32);
/// I32 in [0, below).
Tensor integers(const Shape& shape, int below);

/// What a call does at least. Its time is to be compared with the bound: operations at the rate of
/// multiply-adds in registers (of a large product on a GPU), bytes, read or written, at that of a
/// sum y = x + y which moves as many.
struct Work {
    double flops = 0;
    double bytes = 0;
    DType type = DType::F32; ///< of operands; no bound is known for products of others
};

using Call = std::function<void()>;

/// `prepare` makes the operands and what is measured. Counters: best_us, the fastest call (on a GPU
/// a twentieth of twenty in a row), graph_us, the same where a GPU replays it as one launch graph,
/// bound_us, and GFLOP/s or GB/s.
void addRow(const std::string& name, const Work& work, std::function<Call()> prepare);

/// Runs what `addRows` adds. --threads=N caps the CPU's threads, --device=cuda takes a GPU; other
/// arguments are Google Benchmark's. Returns the exit code.
int runRows(int argc, char** argv, const std::function<void()>& addRows);

} // namespace vergence::bench
