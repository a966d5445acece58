#pragma once

#include <string>

namespace vergence {

/// A value of a setting that a run cannot take where it runs, and why in one sentence. `value` as
/// it stands in TOML, without quotes: "fp16", "true"; empty: none at all any more.
struct ClosedChoice {
    std::string key, value, reason;
    bool operator==(const ClosedChoice&) const = default;
};

} // namespace vergence
