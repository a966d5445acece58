#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <type_traits>

#include "core/base/error.h"

namespace vergence {

/// A value of an enum beside its name in files, records and on the command line.
template <class E>
struct EnumName {
    E value;
    std::string_view name;
};

/// An enum that says its names, each value once and in the order in which people meet them:
///     enum class Layout { Nchw, Nhwc };
///     constexpr auto namesOf(Layout)
///     {
///         return std::array{EnumName{Layout::Nhwc, "nhwc"}, EnumName{Layout::Nchw, "nchw"}};
///     }
template <class E>
concept NamedEnum = std::is_enum_v<E> && requires(E value)
{
    namesOf(value).size();
};

/// Throws ContractError for a value that the table lacks.
template <NamedEnum E>
constexpr std::string_view nameOf(E value)
{
    for (const auto& [known, name] : namesOf(E{}))
        if (known == value)
            return name;
    throw ContractError("enum: a value without a name");
}

/// Empty for a name that the table lacks.
template <NamedEnum E>
constexpr std::optional<E> enumOf(std::string_view name)
{
    for (const auto& [value, known] : namesOf(E{}))
        if (known == name)
            return value;
    return std::nullopt;
}

} // namespace vergence
