#include "core/run/messages.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/base/error.h"

namespace vergence {

namespace {

using nlohmann::json;

constexpr std::array kControlKinds{"slider", "pad", "toggles", "choice", "text"};

json valueToJson(double value)
{
    if (std::isfinite(value))
        return value;
    if (std::isnan(value))
        return "nan";
    return value > 0 ? "inf" : "-inf";
}

double valueFromPoint(const json& value)
{
    if (value.is_number())
        return value.get<double>();
    if (value == "inf")
        return std::numeric_limits<double>::infinity();
    if (value == "-inf")
        return -std::numeric_limits<double>::infinity();
    return std::numeric_limits<double>::quiet_NaN();
}

std::string textOf(const json& object, const char* key)
{
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::vector<double> numbersOf(const json& object, const char* key)
{
    std::vector<double> numbers;
    const auto found = object.find(key);
    if (found == object.end() || !found->is_array())
        return numbers;
    for (const json& entry : *found) {
        if (entry.is_number())
            numbers.push_back(entry.get<double>());
    }
    return numbers;
}

ViewControl controlFromJson(const json& entry)
{
    ViewControl control;
    control.id = textOf(entry, "id");
    control.title = textOf(entry, "title");
    control.unit = textOf(entry, "unit");
    control.help = textOf(entry, "help");
    const std::string kind = textOf(entry, "kind");
    for (std::size_t i = 0; i < kControlKinds.size(); ++i) {
        if (kind == kControlKinds[i])
            control.kind = static_cast<ViewControl::Kind>(i);
    }
    control.minimum = numbersOf(entry, "minimum");
    control.maximum = numbersOf(entry, "maximum");
    control.value = numbersOf(entry, "value");
    control.text = textOf(entry, "text");
    if (const auto labels = entry.find("labels"); labels != entry.end() && labels->is_array()) {
        for (const json& label : *labels)
            control.labels.push_back(label.is_string() ? label.get<std::string>() : std::string());
    }
    if (const auto marks = entry.find("marks"); marks != entry.end() && marks->is_array()) {
        for (const json& mark : *marks) {
            if (mark.is_object())
                control.marks.push_back({numbersOf(mark, "at"), textOf(mark, "label")});
        }
    }
    return control;
}

} // namespace

json pointsToJson(const MetricPoint* points, std::size_t count)
{
    json list = json::array();
    for (std::size_t i = 0; i < count; ++i) {
        const MetricPoint& point = points[i];
        list.push_back(
            json::array({point.step, point.wallSeconds, point.name, valueToJson(point.value)}));
    }
    return list;
}

std::vector<MetricPoint> pointsFromJson(const json& points)
{
    std::vector<MetricPoint> list;
    list.reserve(points.size());
    for (const json& point : points)
        list.push_back({point[0].get<std::int64_t>(), point[1].get<double>(),
                        point[2].get<std::string>(), valueFromPoint(point[3])});
    return list;
}

json controlsToJson(const std::vector<ViewControl>& controls)
{
    json list = json::array();
    for (const ViewControl& control : controls) {
        json marks = json::array();
        for (const ViewControl::Mark& mark : control.marks)
            marks.push_back({{"at", mark.at}, {"label", mark.label}});
        list.push_back({{"id", control.id},
                        {"title", control.title},
                        {"unit", control.unit},
                        {"help", control.help},
                        {"kind", kControlKinds[static_cast<std::size_t>(control.kind)]},
                        {"minimum", control.minimum},
                        {"maximum", control.maximum},
                        {"value", control.value},
                        {"labels", control.labels},
                        {"text", control.text},
                        {"marks", std::move(marks)}});
    }
    return list;
}

std::vector<ViewControl> controlsFromJson(const json& controls)
{
    std::vector<ViewControl> list;
    for (const json& entry : controls) {
        if (entry.is_object() && !textOf(entry, "id").empty())
            list.push_back(controlFromJson(entry));
    }
    return list;
}

json choicesToJson(const std::vector<ClosedChoice>& choices)
{
    json list = json::array();
    for (const ClosedChoice& choice : choices)
        list.push_back({{"key", choice.key}, {"value", choice.value}, {"reason", choice.reason}});
    return list;
}

std::vector<ClosedChoice> choicesFromJson(const json& choices)
{
    std::vector<ClosedChoice> list;
    for (const json& entry : choices) {
        if (entry.is_object() && !textOf(entry, "key").empty())
            list.push_back({textOf(entry, "key"), textOf(entry, "value"), textOf(entry, "reason")});
    }
    return list;
}

json streamsToJson(const std::vector<StreamDecl>& streams)
{
    json list = json::array();
    for (const StreamDecl& stream : streams)
        list.push_back({{"id", stream.id},
                        {"title", stream.title},
                        {"kind", nameOf(stream.kind)},
                        {"help", stream.help},
                        {"compare_group", stream.compareGroup}});
    return list;
}

std::vector<StreamDecl> streamsFromJson(const json& streams)
{
    std::vector<StreamDecl> list;
    for (const json& entry : streams) {
        if (!entry.is_object() || textOf(entry, "id").empty())
            continue;
        try {
            list.push_back({textOf(entry, "id"), textOf(entry, "title"),
                            streamKindFromName(textOf(entry, "kind")), textOf(entry, "help"),
                            textOf(entry, "compare_group")});
        } catch (const ContractError&) {
            continue; // a kind of a newer worker, which this program cannot draw
        }
    }
    return list;
}

json viewToJson(const ViewInput& input)
{
    return {{"sequence", input.sequence}, {"values", input.values}, {"texts", input.texts}};
}

ViewInput viewFromJson(const json& message)
{
    ViewInput input;
    input.sequence = message.at("sequence").get<std::uint64_t>();
    if (message.at("values").is_object()) {
        for (const auto& [key, numbers] : message.at("values").items())
            input.values[key] = numbers.get<std::vector<double>>();
    }
    for (const auto& [key, text] : message.at("texts").items())
        input.texts[key] = text.get<std::string>();
    return input;
}

json watchToJson(const WatchRequest& request)
{
    json message{{"watched", request.isWatching}};
    if (!request.sharedDevice.empty())
        message["shared_device"] = request.sharedDevice;
    return message;
}

WatchRequest watchFromJson(const json& message)
{
    return {message.at("watched").get<bool>(), textOf(message, "shared_device")};
}

json artifactToJson(const Artifact& artifact)
{
    return {{"path", artifact.path},
            {"role", artifact.role},
            {"title", artifact.title},
            {"bytes", artifact.bytes}};
}

void upsert(std::vector<nlohmann::json>& list, const nlohmann::json& entry, const char* key)
{
    static const nlohmann::json kNone;
    const auto name = [key](const nlohmann::json& object) -> const nlohmann::json& {
        const auto found = object.find(key);
        return found == object.end() ? kNone : *found;
    };
    const auto found = std::ranges::find_if(
        list, [&](const nlohmann::json& known) { return name(known) == name(entry); });
    if (found != list.end())
        *found = entry;
    else
        list.push_back(entry);
}

} // namespace vergence
