#pragma once

#include <span>
#include <string>

#include "core/view/diagram.h"
#include "plugins/live_diffusion/bench/ab_row.h"
#include "plugins/live_diffusion/bench/claims.h"

namespace vergence::live {

/// From the baseline through the cumulative rows: what each takes off or adds, ms per frame.
Diagram abWaterfall(std::span<const AbRow> rows, double width = 760, double height = 400);

/// All rows by parts with all columns; as wide as its texts need.
Diagram abTable(std::span<const AbRow> rows, const std::string& title = "A/B run");

Diagram claimsTable(std::span<const ClaimCheck> claims);

} // namespace vergence::live
