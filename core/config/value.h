#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace vergence {

enum class FieldType {
    Bool,
    Int,
    Float,
    Enum,
    String,
    Path,
    Seed,
    Device,
    IntList,
    FloatList,
    StringList
};

/// Value of one parameter. Enum, String, Path and Device are strings; Int and Seed are 64-bit
/// integers.
using ConfigValue = std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>,
                                 std::vector<double>, std::vector<std::string>>;

std::string nameOf(FieldType type);                                  ///< "int", "float_list", …
std::optional<FieldType> fieldTypeFromName(const std::string& name); ///< the other way round

/// As TOML spells it; floats by their shortest form that reads back exactly ("1.6e-05", "1.0").
std::string toToml(const ConfigValue& value);

/// Numbers that are not finite, which JSON lacks, become the texts "nan", "inf" and "-inf".
nlohmann::json toJson(const ConfigValue& value);
/// Value of `type` from JSON; throws ContractError where it does not fit.
ConfigValue valueFromJson(const nlohmann::json& json, FieldType type);

} // namespace vergence
