#include "core/config/schema.h"

#include <nlohmann/json.hpp>

#include "core/base/error.h"

namespace vergence {

namespace {

template <class T>
void put(nlohmann::json& json, const char* name, const std::optional<T>& value)
{
    if (value)
        json[name] = *value;
}

template <class T>
void take(const nlohmann::json& json, const char* name, std::optional<T>& value)
{
    if (json.contains(name))
        value = json.at(name).get<T>();
}

nlohmann::json jsonOf(const Field& field)
{
    nlohmann::json json{{"key", field.key},
                        {"title", field.title},
                        {"group", field.group},
                        {"type", nameOf(field.type)},
                        {"default", vergence::toJson(field.defaultValue)},
                        {"choices", field.choices},
                        {"unit", field.unit},
                        {"help", field.help},
                        {"live", field.isLive},
                        {"advanced", field.isAdvanced},
                        {"logarithmic", field.isLogarithmic},
                        {"visible_if", field.visibleIf},
                        {"path_kind", nameOf(field.pathKind)},
                        {"distinct", field.isDistinct},
                        {"decisive", field.isDecisive}};
    put(json, "minimum", field.minimum);
    put(json, "maximum", field.maximum);
    put(json, "minimum_count", field.minimumCount);
    put(json, "maximum_count", field.maximumCount);
    return json;
}

Field fieldFrom(const nlohmann::json& json)
{
    Field field;
    field.key = json.at("key").get<std::string>();
    field.title = json.at("title").get<std::string>();
    field.group = json.at("group").get<std::string>();
    const auto type = fieldTypeFromName(json.at("type").get<std::string>());
    expects(type.has_value(), "config: unknown type of field " + field.key);
    field.type = *type;
    field.defaultValue = valueFromJson(json.at("default"), field.type);
    field.choices = json.at("choices").get<std::vector<std::string>>();
    field.unit = json.at("unit").get<std::string>();
    field.help = json.at("help").get<std::string>();
    field.isLive = json.at("live").get<bool>();
    field.isAdvanced = json.at("advanced").get<bool>();
    field.isLogarithmic = json.at("logarithmic").get<bool>();
    field.visibleIf = json.at("visible_if").get<std::string>();
    const auto kind = enumOf<PathKind>(json.value("path_kind", "any"));
    expects(kind.has_value(), "config: unknown kind of path of field " + field.key);
    field.pathKind = *kind;
    field.isDistinct = json.value("distinct", false);
    field.isDecisive = json.value("decisive", false);
    take(json, "minimum", field.minimum);
    take(json, "maximum", field.maximum);
    take(json, "minimum_count", field.minimumCount);
    take(json, "maximum_count", field.maximumCount);
    return field;
}

} // namespace

nlohmann::json ConfigSchema::toJson() const
{
    nlohmann::json fields = nlohmann::json::array();
    for (const Field& field : this->fields())
        fields.push_back(jsonOf(field));
    return {{"id", id()}, {"version", version()}, {"fields", std::move(fields)}};
}

ConfigSchema ConfigSchema::fromJson(const nlohmann::json& json)
{
    try {
        std::vector<Field> fields;
        for (const nlohmann::json& field : json.at("fields"))
            fields.push_back(fieldFrom(field));
        return ConfigSchema(json.at("id").get<std::string>(), json.at("version").get<int>(),
                            std::move(fields));
    } catch (const nlohmann::json::exception& error) {
        throw ContractError(std::string("Cannot read a parameter schema from JSON: ") +
                            error.what());
    }
}

} // namespace vergence
