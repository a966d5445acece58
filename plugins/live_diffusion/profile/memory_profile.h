#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "plugins/live_diffusion/engine/frame_network.h"
#include "plugins/live_diffusion/model/program.h"

namespace vergence::live {

/// What is live while one operation runs, bytes.
struct MemoryRow {
    std::string op, block;
    std::uint64_t arena = 0;  ///< activations
    std::uint64_t scores = 0; ///< of those, attention scores
};

/// A tensor and how long it lives.
struct TensorSpan {
    std::string name;
    std::uint64_t bytes = 0;
    int first = 0, last = 0; ///< operations
};

struct MemoryProfile {
    std::vector<MemoryRow> rows;     ///< by operation
    std::vector<TensorSpan> tensors; ///< the 20 largest, largest first
    std::uint64_t peak() const;      ///< largest row
    std::string peakOp() const;

    nlohmann::json toJson() const; ///< of the rows: the report's memory_timeline
    std::string markdown() const;
};

/// Bytes live per operation by the lifetimes of the description alone: nothing is run, and no
/// planner's gaps count. Values that fusion removes (activations, concatenations, upsampled
/// pictures, sums) take no memory where switches.fusion is on.
MemoryProfile memoryProfile(const Program& program, const Switches& switches, int rows = 1);

/// What another configuration would take, without running it.
struct WhatIf {
    Precision precision = Precision::Fp16;
    AttentionKind attention = AttentionKind::Flash;
    Index grid = 64;
    std::uint64_t weights = 0, arena = 0,
                  scores = 0; ///< scores: largest part of the arena they are
};
/// Precision × attention × grid for networks that `build` describes at each grid.
std::vector<WhatIf> whatIf(const std::function<Program(Index grid)>& build,
                           std::span<const Index> grids, bool fusion = true);
std::string whatIfMarkdown(std::span<const WhatIf> bars);

} // namespace vergence::live
