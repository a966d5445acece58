#include "app/cli/json_schema.h"

#include <nlohmann/json.hpp>

#include "core/config/value.h"

namespace vergence::cli {

namespace {

using nlohmann::json;

json number(const Field& field, const char* type)
{
    json described{{"type", type}};
    if (field.minimum)
        described["minimum"] = *field.minimum;
    if (field.maximum)
        described["maximum"] = *field.maximum;
    return described;
}

json list(const Field& field, json items)
{
    json described{{"type", "array"}, {"items", std::move(items)}};
    if (field.minimumCount)
        described["minItems"] = *field.minimumCount;
    if (field.maximumCount)
        described["maxItems"] = *field.maximumCount;
    return described;
}

json text(const Field& field)
{
    json described{{"type", "string"}};
    if (!field.choices.empty())
        described["enum"] = field.choices;
    return described;
}

json typeOf(const Field& field)
{
    switch (field.type) {
    case FieldType::Bool:
        return {{"type", "boolean"}};
    case FieldType::Int:
    case FieldType::Seed:
        return number(field, "integer");
    case FieldType::Float:
        return number(field, "number");
    case FieldType::Enum:
    case FieldType::String:
    case FieldType::Path:
    case FieldType::Device:
        return text(field);
    case FieldType::IntList:
        return list(field, number(field, "integer"));
    case FieldType::FloatList:
        return list(field, number(field, "number"));
    case FieldType::StringList:
        return list(field, text(field));
    }
    return json::object();
}

json describe(const Field& field)
{
    json described = typeOf(field);
    described["title"] = field.title;
    described["description"] = field.help;
    described["default"] = toJson(field.defaultValue);
    if (!field.unit.empty())
        described["x-unit"] = field.unit;
    if (field.isLive)
        described["x-live"] = true;
    return described;
}

} // namespace

json jsonSchemaOf(const ConfigSchema& schema)
{
    json properties = {{"plugin", {{"const", schema.id()}}},
                       {"preset", {{"type", "string"}}},
                       {"schema", {{"type", "string"}}},
                       {"vergence", {{"type", "string"}}}};
    for (const Field& field : schema.fields()) {
        if (field.group.empty()) {
            properties[field.key] = describe(field);
            continue;
        }
        json& group = properties[field.group];
        group["type"] = "object";
        group["additionalProperties"] = false;
        group["properties"][field.key] = describe(field);
    }
    return {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
            {"title", schema.id()},
            {"type", "object"},
            {"additionalProperties", false},
            {"properties", properties}};
}

} // namespace vergence::cli
