#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/config/schema.h"
#include "core/config/value.h"

namespace vergence::detail {

/// What is wrong with one value, without the place.
struct Complaint {
    std::string rule, sentence, nearest;
    std::optional<std::size_t> element; ///< of a list
};

/// A value as its field stores it, or the reasons against it.
struct Checked {
    std::optional<ConfigValue> value;
    std::vector<Complaint> complaints;
};

/// Converts without loss where the field allows it (1 → 1.0 for floats, 1e3 → 1000 for integers),
/// then checks finiteness, range, choices, encoding and length. Every complaint of every element is
/// returned.
Checked checkValue(const Field& field, const ConfigValue& value);

/// "iterations must be a whole number (found "many").", for the whole value or one element.
Complaint wrongType(const Field& field, const std::string& found,
                    std::optional<std::size_t> element = {});

bool isList(FieldType type);
bool isText(FieldType type); ///< held as one string
bool holdsIntegers(FieldType type);

std::optional<std::int64_t>
exactInteger(double value);           ///< empty where a fraction or the range forbids it
std::string numberText(double value); ///< for people: 4000000, 0.5, 1e-08
std::string
shortened(const std::string& text); ///< at most 60 bytes, cut between characters, with "…"
bool isUtf8(const std::string& text);

} // namespace vergence::detail
