#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "plugins/live_diffusion/engine/frame_network.h"
#include "plugins/live_diffusion/model/program.h"

namespace vergence::live {

/// A dimension of a product that keeps it off the tensor cores, or slows it there.
struct ShapeIssue {
    std::string op;
    std::string dimension; ///< "input channels", "output channels", "head width", "layout", "plan"
    Index value = 0, padded = 0; ///< padded: the next that fits; 0 where padding is no cure
    double flopGrowth = 0;       ///< of this operation when padded: 0.03 is 3 % more
    std::string sentence;
};

/// Channels and head widths must be multiples of: 8 for fp16 and bf16 (16 bytes), 4 for tf32; 0:
/// fp32 uses no tensor cores.
int tensorCoreMultiple(Precision precision);

/// By the shapes alone: every convolution, linear layer and attention of an evaluation.
std::vector<ShapeIssue> checkShapes(const Program& program, const Switches& switches);
/// By what the plans in use say of themselves: products that run without tensor cores although
/// the precision has them. `ops`: FrameNetwork::operations().
std::vector<ShapeIssue> checkPlans(std::span<const OpRecord> ops, Precision precision);

std::string shapeIssuesMarkdown(std::span<const ShapeIssue> issues);

} // namespace vergence::live
