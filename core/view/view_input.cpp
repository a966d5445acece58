#include "core/view/view_input.h"

#include <algorithm>

namespace vergence {

void ViewInput::merge(const ViewInput& later)
{
    sequence = std::max(sequence, later.sequence);
    for (const auto& [id, value] : later.values)
        values[id] = value;
    for (const auto& [id, text] : later.texts)
        texts[id] = text;
}

std::optional<double> ViewInput::scalar(const std::string& id) const
{
    const auto found = values.find(id);
    if (found == values.end() || found->second.empty())
        return std::nullopt;
    return found->second.front();
}

} // namespace vergence
