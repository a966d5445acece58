#pragma once

#include <algorithm>
#include <string>

#include "core/view/diagram.h"

namespace vergence::test {

/// Whether `part` stands in one of the diagram's texts.
inline bool hasText(const Diagram& diagram, const std::string& part)
{
    return std::ranges::any_of(diagram.texts, [&](const Diagram::Text& each) {
        return each.text.find(part) != std::string::npos;
    });
}

} // namespace vergence::test
