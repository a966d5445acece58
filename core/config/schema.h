#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/base/enum_names.h"
#include "core/config/issue.h"
#include "core/config/value.h"

namespace vergence {

enum class PathKind { Any, File, Folder };
constexpr auto namesOf(PathKind)
{
    return std::array{EnumName{PathKind::Any, "any"}, EnumName{PathKind::File, "file"},
                      EnumName{PathKind::Folder, "folder"}};
}

/// Everything known about one parameter. The form, the validator, the TOML emitter and the manual
/// read this and nothing else.
struct Field {
    std::string key;   ///< snake_case, unique in the schema
    std::string title; ///< for people; derived from the key where not given
    std::string group; ///< TOML table and section of the form
    FieldType type = FieldType::Float;
    ConfigValue defaultValue;
    std::optional<double> minimum, maximum; ///< inclusive; for lists: of each element
    std::optional<std::size_t> minimumCount, maximumCount; ///< lists
    std::vector<std::string> choices;                      ///< Enum; lists: of each element
    std::string unit;                                      ///< "mm", "px", "D"; empty for none
    std::string help;                                      ///< one or two sentences
    bool isLive = false;                                   ///< may change while a run is going on
    bool isAdvanced = false;
    bool isLogarithmic = false; ///< steps of the editor multiply
    std::string visibleIf;      ///< "solver=adam|adamw": shown while that holds; empty for always
    PathKind pathKind = PathKind::Any; ///< what a path that is not empty must lead to
    bool isDistinct = false;           ///< lists: no element twice
    bool isDecisive = false; ///< a run that is resumed must have the value that it began with
};

/// Whether `visibleIf` of a field holds, where `textOf` gives other fields' values without quotes,
/// and nothing for keys that it does not know.
bool isVisible(const Field& field,
               const std::function<std::optional<std::string>(const std::string& key)>& textOf);

class Config;

/// Rule over several fields; `id` names it in window and command line.
struct Rule {
    std::string id;
    std::function<std::vector<ConfigIssue>(const Config&)> check;
};

/// All parameters of one lab, in the order in which people meet them. Immutable once built; copies
/// share.
class ConfigSchema {
public:
    ConfigSchema();
    /// Throws ContractError where a key is not snake_case, doubled or a header key, or a default
    /// breaks its own range.
    ConfigSchema(std::string id, int version, std::vector<Field> fields,
                 std::vector<Rule> rules = {});

    const std::string& id() const; ///< plugin id
    int version() const;
    const std::vector<Field>& fields() const;
    const std::vector<Rule>& rules() const;
    const Field* find(const std::string& key) const; ///< null where unknown
    std::string
    nearestKey(const std::string& key) const; ///< by edit distance; empty where nothing is near

    /// Without the rules, which need the plugin's code.
    nlohmann::json toJson() const;
    static ConfigSchema fromJson(const nlohmann::json& json);

private:
    struct Data;
    std::shared_ptr<const Data> m_data;
};

/// Fluent description of one field: schema.add("size", &C::size).range(8,
/// 4096).unit("px").help("Side of the plate.");
class FieldBuilder {
public:
    explicit FieldBuilder(Field& field) : m_field(field) {}
    FieldBuilder& range(double minimum, double maximum)
    {
        m_field.minimum = minimum;
        m_field.maximum = maximum;
        return *this;
    }
    FieldBuilder& count(std::size_t least, std::size_t most)
    {
        m_field.minimumCount = least;
        m_field.maximumCount = most;
        return *this;
    }
    /// Of text, or of each element of a list of texts.
    FieldBuilder& choices(std::vector<std::string> values)
    {
        if (m_field.type == FieldType::String)
            m_field.type = FieldType::Enum;
        m_field.choices = std::move(values);
        return *this;
    }
    FieldBuilder& type(FieldType type)
    {
        m_field.type = type;
        return *this;
    } ///< Path, Seed or Device instead of the deduced one
    FieldBuilder& title(std::string text)
    {
        m_field.title = std::move(text);
        return *this;
    }
    FieldBuilder& unit(std::string text)
    {
        m_field.unit = std::move(text);
        return *this;
    }
    FieldBuilder& help(std::string text)
    {
        m_field.help = std::move(text);
        return *this;
    }
    FieldBuilder& live()
    {
        m_field.isLive = true;
        return *this;
    }
    FieldBuilder& advanced()
    {
        m_field.isAdvanced = true;
        return *this;
    }
    FieldBuilder& logarithmic()
    {
        m_field.isLogarithmic = true;
        return *this;
    }
    /// A path that is not empty, and whose field is visible, must lead to a file.
    FieldBuilder& file()
    {
        m_field.pathKind = PathKind::File;
        return *this;
    }
    FieldBuilder& folder()
    {
        m_field.pathKind = PathKind::Folder;
        return *this;
    }
    FieldBuilder& distinct()
    {
        m_field.isDistinct = true;
        return *this;
    }
    FieldBuilder& decisive()
    {
        m_field.isDecisive = true;
        return *this;
    }
    FieldBuilder& visibleIf(std::string condition)
    {
        m_field.visibleIf = std::move(condition);
        return *this;
    }

private:
    Field& m_field;
};

} // namespace vergence
