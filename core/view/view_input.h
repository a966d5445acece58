#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace vergence {

/// What the viewer does, on its way to the run: control values, the pointer ("pointer": x, y in
/// pixels of "pointer_stream"), a click ("pick": x, y, layer and a running number, in
/// "pick_stream"; of drawings in their own units), a line that was entered (a running number, and
/// the text under the same key), the camera ("camera": 16 numbers, column-major viewToWorld). The
/// latest value of each key wins.
struct ViewInput {
    std::uint64_t sequence = 0;
    std::map<std::string, std::vector<double>> values;
    std::map<std::string, std::string> texts; ///< "pointer_stream", lines of controls, …

    void merge(const ViewInput& later);
    std::optional<double> scalar(const std::string& id) const;
};

} // namespace vergence
