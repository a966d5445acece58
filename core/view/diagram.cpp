#include "core/view/diagram.h"

#include <algorithm>
#include <cmath>
#include <concepts>
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

    void member(const char* key, double& value) const
    {
        if (const json* found = find(key))
            value = number(*found, key);
    }
    void member(const char* key, bool& value) const
    {
        const json* found = find(key);
        if (found && !found->is_boolean())
            fail(key, "must be true or false");
        if (found)
            value = found->get<bool>();
    }
    void member(const char* key, std::string& value) const
    {
        const json* found = find(key);
        if (found && !found->is_string())
            fail(key, "must be a text");
        if (found)
            value = found->get<std::string>();
    }
    void oneOf(const char* key, std::string& value,
               std::initializer_list<const char*> allowed) const
    {
        member(key, value);
        if (std::find(allowed.begin(), allowed.end(), value) == allowed.end())
            fail(key, fmt::format("does not know `{}`", value));
    }
    void corners(std::vector<double>& x, std::vector<double>& y) const
    {
        x = numbers("x");
        y = numbers("y");
        if (x.size() != y.size())
            fail("y", "must have as many entries as `x`");
    }
    template <class Item>
    void items(const char* key, std::vector<Item>& items) const
    {
        for (const json& item : array(key)) {
            const ObjectReader reader(item, fmt::format("{}{}[{}]", prefix(), key, items.size()));
            eachMember(reader, items.emplace_back());
        }
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
        const json* found = find(key);
        if (found && !found->is_array())
            fail(key, "must be an array");
        return found ? *found : kNone;
    }
    double number(const json& value, const char* key) const
    {
        if (!value.is_number())
            fail(key, "must hold numbers");
        return value.get<double>();
    }
    /// null stands for a gap and becomes NaN, which JSON cannot spell.
    std::vector<double> numbers(const char* key) const
    {
        std::vector<double> values;
        for (const json& item : array(key))
            values.push_back(item.is_null() ? std::numeric_limits<double>::quiet_NaN()
                                            : number(item, key));
        return values;
    }

    const json& m_object;
    std::string m_path;
};

/// The other direction.
class ObjectWriter {
public:
    explicit ObjectWriter(json& object) : m_object(object) {}

    template <class Value>
    void member(const char* key, const Value& value) const
    {
        m_object[key] = value;
    }
    void oneOf(const char* key, const std::string& value, std::initializer_list<const char*>) const
    {
        m_object[key] = value;
    }
    void corners(const std::vector<double>& x, const std::vector<double>& y) const
    {
        m_object["x"] = x;
        m_object["y"] = y;
    }
    template <class Item>
    void items(const char* key, const std::vector<Item>& items) const
    {
        json& array = m_object[key] = json::array();
        for (const Item& item : items)
            eachMember(ObjectWriter(array.emplace_back(json::object())), item);
    }

private:
    json& m_object;
};

template <class T, class Of>
concept Is = std::same_as<std::remove_const_t<T>, Of>;

// What a drawing consists of, for both directions.

void eachMember(const auto& io, Is<Diagram::Line> auto& line)
{
    io.corners(line.x, line.y);
    io.member("colour", line.colour);
    io.member("width", line.width);
    io.member("dashed", line.isDashed);
    io.member("label", line.label);
}

void eachMember(const auto& io, Is<Diagram::Shape> auto& shape)
{
    io.oneOf("kind", shape.kind, {"rectangle", "circle", "lens", "eye"});
    io.member("x", shape.x);
    io.member("y", shape.y);
    io.member("width", shape.width);
    io.member("height", shape.height);
    io.member("colour", shape.colour);
    io.member("label", shape.label);
    io.member("filled", shape.isFilled);
    io.member("edits", shape.editsKey);
}

void eachMember(const auto& io, Is<Diagram::Text> auto& text)
{
    io.member("x", text.x);
    io.member("y", text.y);
    io.member("text", text.text);
    io.member("colour", text.colour);
    io.oneOf("anchor", text.anchor, {"left", "centre", "right"});
    io.member("size", text.size);
    io.member("bold", text.isBold);
    io.member("upright", text.isUpright);
}

void eachMember(const auto& io, Is<Diagram::Polygon> auto& polygon)
{
    io.corners(polygon.x, polygon.y);
    io.member("colour", polygon.colour);
    io.member("label", polygon.label);
    io.member("opacity", polygon.opacity);
}

void eachMember(const auto& io, Is<Diagram::Points> auto& points)
{
    io.corners(points.x, points.y);
    io.member("colour", points.colour);
    io.member("label", points.label);
    io.oneOf("mark", points.mark, {"disc", "ring", "diamond", "cross"});
    io.member("radius", points.radius);
    io.member("opacity", points.opacity);
}

void eachMember(const auto& io, Is<Diagram> auto& diagram)
{
    io.member("left", diagram.left);
    io.member("right", diagram.right);
    io.member("bottom", diagram.bottom);
    io.member("top", diagram.top);
    io.member("keeps_aspect", diagram.keepsAspect);
    io.member("ruler", diagram.hasRuler);
    io.member("x_title", diagram.xTitle);
    io.items("polygons", diagram.polygons);
    io.items("points", diagram.points);
    io.items("lines", diagram.lines);
    io.items("shapes", diagram.shapes);
    io.items("texts", diagram.texts);
}

} // namespace

std::string Diagram::toJson() const
{
    json drawing = json::object();
    eachMember(ObjectWriter(drawing), *this);
    return drawing.dump(-1, ' ', false, json::error_handler_t::replace);
}

Diagram Diagram::fromJson(const std::string& text)
{
    const json parsed = json::parse(text, nullptr, false);
    if (parsed.is_discarded())
        throw ContractError("Diagram: the drawing is not valid JSON.");
    const ObjectReader reader(parsed, "");
    Diagram diagram;
    eachMember(reader, diagram);
    if (!(diagram.right > diagram.left))
        reader.fail("right", "must be above `left`");
    if (!(diagram.top > diagram.bottom))
        reader.fail("top", "must be above `bottom`");
    return diagram;
}

} // namespace vergence
