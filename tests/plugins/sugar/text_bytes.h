#pragma once

#include <span>
#include <string>

namespace vergence::sugar::fixtures {

inline std::span<const std::byte> asBytes(const std::string& text)
{
    return std::as_bytes(std::span(text));
}

} // namespace vergence::sugar::fixtures
