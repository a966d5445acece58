#include "core/view/diagram.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/error.h"

namespace vergence {

namespace {

using nlohmann::json;

/// Reads members of one JSON object; complaints name the member by its path ("lines[2].x").
class ObjectReader {
public:
    ObjectReader(const json& object, std::string path) : m_object(object), m_path(std::move(path))
    {
        if (!object.is_object())
            fail("", "must be an object");
    }

    void read(const char* key, double& value) const
    {
        if (const json* member = find(key))
            value = number(*member, key);
    }
    void read(const char* key, bool& value) const
    {
        const json* member = find(key);
        if (member && !member->is_boolean())
            fail(key, "must be true or false");
        if (member)
            value = member->get<bool>();
    }
    void read(const char* key, std::string& value) const
    {
        const json* member = find(key);
        if (member && !member->is_string())
            fail(key, "must be a text");
        if (member)
            value = member->get<std::string>();
    }
    void readOneOf(const char* key, std::string& value,
                   std::initializer_list<const char*> allowed) const
    {
        read(key, value);
        if (std::find(allowed.begin(), allowed.end(), value) == allowed.end())
            fail(key, fmt::format("does not know `{}`", value));
    }
    /// null stands for a gap and becomes NaN, which JSON cannot spell.
    void read(const char* key, std::vector<double>& values) const
    {
        for (const json& item : array(key))
            values.push_back(item.is_null() ? std::numeric_limits<double>::quiet_NaN()
                                            : number(item, key));
    }
    template <class Body>
    void forEachObject(const char* key, const Body& body) const
    {
        std::size_t index = 0;
        for (const json& item : array(key))
            body(ObjectReader(item, fmt::format("{}{}[{}]", prefix(), key, index++)));
    }
    [[noreturn]] void fail(const std::string& key, const std::string& complaint) const
    {
        const std::string name = key.empty() ? m_path : prefix() + key;
        throw ContractError(fmt::format(
            "Diagram: {} {}.", name.empty() ? "the drawing" : "`" + name + "`", complaint));
    }

private:
    std::string prefix() const { return m_path.empty() ? "" : m_path + "."; }
    const json* find(const char* key) const
    {
        const auto found = m_object.find(key);
        return found == m_object.end() ? nullptr : &*found;
    }
    const json& array(const char* key) const
    {
        static const json kNone = json::array();
        const json* member = find(key);
        if (member && !member->is_array())
            fail(key, "must be an array");
        return member ? *member : kNone;
    }
    double number(const json& value, const char* key) const
    {
        if (!value.is_number())
            fail(key, "must hold numbers");
        return value.get<double>();
    }

    const json& m_object;
    std::string m_path;
};

void readCorners(const ObjectReader& reader, std::vector<double>& x, std::vector<double>& y)
{
    reader.read("x", x);
    reader.read("y", y);
    if (x.size() != y.size())
        reader.fail("y", "must have as many entries as `x`");
}

Diagram::Line readLine(const ObjectReader& reader)
{
    Diagram::Line line;
    readCorners(reader, line.x, line.y);
    reader.read("colour", line.colour);
    reader.read("width", line.width);
    reader.read("dashed", line.isDashed);
    reader.read("label", line.label);
    return line;
}

Diagram::Shape readShape(const ObjectReader& reader)
{
    Diagram::Shape shape;
    reader.readOneOf("kind", shape.kind, {"rectangle", "circle", "lens", "eye"});
    reader.read("x", shape.x);
    reader.read("y", shape.y);
    reader.read("width", shape.width);
    reader.read("height", shape.height);
    reader.read("colour", shape.colour);
    reader.read("label", shape.label);
    reader.read("filled", shape.isFilled);
    reader.read("edits", shape.editsKey);
    return shape;
}

Diagram::Text readText(const ObjectReader& reader)
{
    Diagram::Text text;
    reader.read("x", text.x);
    reader.read("y", text.y);
    reader.read("text", text.text);
    reader.read("colour", text.colour);
    reader.readOneOf("anchor", text.anchor, {"left", "centre", "right"});
    reader.read("size", text.size);
    reader.read("bold", text.isBold);
    reader.read("upright", text.isUpright);
    return text;
}

Diagram::Polygon readPolygon(const ObjectReader& reader)
{
    Diagram::Polygon polygon;
    readCorners(reader, polygon.x, polygon.y);
    reader.read("colour", polygon.colour);
    reader.read("label", polygon.label);
    reader.read("opacity", polygon.opacity);
    return polygon;
}

Diagram::Points readPoints(const ObjectReader& reader)
{
    Diagram::Points points;
    readCorners(reader, points.x, points.y);
    reader.read("colour", points.colour);
    reader.read("label", points.label);
    reader.readOneOf("mark", points.mark, {"disc", "ring", "diamond", "cross"});
    reader.read("radius", points.radius);
    reader.read("opacity", points.opacity);
    return points;
}

json toJson(const Diagram::Line& line)
{
    return {{"x", line.x},
            {"y", line.y},
            {"colour", line.colour},
            {"width", line.width},
            {"dashed", line.isDashed},
            {"label", line.label}};
}

json toJson(const Diagram::Shape& shape)
{
    return {{"kind", shape.kind},     {"x", shape.x},
            {"y", shape.y},           {"width", shape.width},
            {"height", shape.height}, {"colour", shape.colour},
            {"label", shape.label},   {"filled", shape.isFilled},
            {"edits", shape.editsKey}};
}

json toJson(const Diagram::Text& text)
{
    return {{"x", text.x},           {"y", text.y},
            {"text", text.text},     {"colour", text.colour},
            {"anchor", text.anchor}, {"size", text.size},
            {"bold", text.isBold},   {"upright", text.isUpright}};
}

json toJson(const Diagram::Polygon& polygon)
{
    return {{"x", polygon.x},
            {"y", polygon.y},
            {"colour", polygon.colour},
            {"label", polygon.label},
            {"opacity", polygon.opacity}};
}

json toJson(const Diagram::Points& points)
{
    return {{"x", points.x},
            {"y", points.y},
            {"colour", points.colour},
            {"label", points.label},
            {"mark", points.mark},
            {"radius", points.radius},
            {"opacity", points.opacity}};
}

template <class Item>
json toJsonArray(const std::vector<Item>& items)
{
    json array = json::array();
    for (const Item& item : items)
        array.push_back(toJson(item));
    return array;
}

} // namespace

std::string Diagram::toJson() const
{
    const json drawing{{"left", left},
                       {"right", right},
                       {"bottom", bottom},
                       {"top", top},
                       {"keeps_aspect", keepsAspect},
                       {"ruler", hasRuler},
                       {"x_title", xTitle},
                       {"polygons", toJsonArray(polygons)},
                       {"points", toJsonArray(points)},
                       {"lines", toJsonArray(lines)},
                       {"shapes", toJsonArray(shapes)},
                       {"texts", toJsonArray(texts)}};
    return drawing.dump(-1, ' ', false, json::error_handler_t::replace);
}

Diagram Diagram::fromJson(const std::string& text)
{
    const json parsed = json::parse(text, nullptr, false);
    if (parsed.is_discarded())
        throw ContractError("Diagram: the drawing is not valid JSON.");
    const ObjectReader reader(parsed, "");
    Diagram diagram;
    reader.read("left", diagram.left);
    reader.read("right", diagram.right);
    reader.read("bottom", diagram.bottom);
    reader.read("top", diagram.top);
    if (!(diagram.right > diagram.left))
        reader.fail("right", "must be above `left`");
    if (!(diagram.top > diagram.bottom))
        reader.fail("top", "must be above `bottom`");
    reader.read("keeps_aspect", diagram.keepsAspect);
    reader.read("ruler", diagram.hasRuler);
    reader.read("x_title", diagram.xTitle);
    reader.forEachObject("polygons", [&](const ObjectReader& item) {
        diagram.polygons.push_back(readPolygon(item));
    });
    reader.forEachObject(
        "points", [&](const ObjectReader& item) { diagram.points.push_back(readPoints(item)); });
    reader.forEachObject(
        "lines", [&](const ObjectReader& item) { diagram.lines.push_back(readLine(item)); });
    reader.forEachObject(
        "shapes", [&](const ObjectReader& item) { diagram.shapes.push_back(readShape(item)); });
    reader.forEachObject(
        "texts", [&](const ObjectReader& item) { diagram.texts.push_back(readText(item)); });
    return diagram;
}

} // namespace vergence
