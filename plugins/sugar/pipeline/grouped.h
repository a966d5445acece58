#pragma once

#include <concepts>
#include <cstddef>
#include <string>

namespace vergence::sugar {

/// "11,969" for 11969; not below 0.
template <std::integral Number>
std::string grouped(Number number)
{
    std::string text = std::to_string(number);
    for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3)
        text.insert(static_cast<std::size_t>(at), 1, ',');
    return text;
}

} // namespace vergence::sugar
