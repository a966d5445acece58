#include "core/run/protocol.h"

#include <algorithm>
#include <exception>

#include <fmt/format.h>

namespace vergence {

namespace {

using nlohmann::json;

enum class MemberType {
    String,
    Boolean,
    Integer,
    Count,
    Number,
    Object,
    Objects,
    Points,
    Values,
    Texts
};

struct Member {
    const char* name;
    MemberType type;
    bool isRequired = true;
};

struct MessageType {
    const char* name;
    Direction direction;
    std::vector<Member> members;
};

using M = MemberType;
constexpr bool kOptional = false;
constexpr int kDeepestNesting = 64;

/// Every message and its members; both sides validate with it. Further members are allowed, so that
/// versions can differ.
const std::vector<MessageType>& messageTypes()
{
    static const std::vector<MessageType> types{
        {"hello",
         Direction::FromWorker,
         {{"protocol", M::Count},
          {"run", M::String},
          {"plugin", M::String},
          {"pid", M::Count},
          {"state", M::String},
          {"step", M::Integer},
          {"total", M::Integer},
          {"metric_lines", M::Count},
          {"log_lines", M::Count}}},
        {"state",
         Direction::FromWorker,
         {{"state", M::String},
          {"step", M::Integer},
          {"total", M::Integer},
          {"exit_code", M::Integer, kOptional},
          {"problem", M::String, kOptional},
          {"problem_id", M::String, kOptional}}},
        {"phase",
         Direction::FromWorker,
         {{"number", M::Integer}, {"count", M::Integer}, {"name", M::String}}},
        {"progress",
         Direction::FromWorker,
         {{"step", M::Integer}, {"total", M::Integer}, {"wall_s", M::Number}}},
        {"metrics", Direction::FromWorker, {{"first", M::Count}, {"points", M::Points}}},
        {"table", Direction::FromWorker, {{"table", M::Object}}},
        {"histogram",
         Direction::FromWorker,
         {{"name", M::String}, {"step", M::Integer}, {"edges", M::Values}, {"counts", M::Values}}},
        {"artifact",
         Direction::FromWorker,
         {{"path", M::String}, {"role", M::String}, {"title", M::String}, {"bytes", M::Count}}},
        {"checkpoint", Direction::FromWorker, {{"step", M::Integer}, {"path", M::String}}},
        {"frame",
         Direction::FromWorker,
         {{"stream", M::String}, {"ring", M::String}, {"sequence", M::Count}}},
        {"controls", Direction::FromWorker, {{"controls", M::Objects}}},
        {"closed", Direction::FromWorker, {{"choices", M::Objects}}},
        {"live", Direction::FromWorker, {{"values", M::Texts}}},
        {"streams", Direction::FromWorker, {{"streams", M::Objects}}},
        {"log",
         Direction::FromWorker,
         {{"time", M::String},
          {"level", M::String},
          {"area", M::String},
          {"text", M::String},
          {"index", M::Count}}},
        {"problem", Direction::FromWorker, {{"id", M::String}, {"sentence", M::String}}},
        {"heartbeat", Direction::FromWorker, {{"step", M::Integer}, {"time", M::Number}}},
        {"done", Direction::FromWorker, {{"state", M::String}, {"exit_code", M::Integer}}},
        {"ack",
         Direction::FromWorker,
         {{"id", M::Count},
          {"request", M::String},
          {"accepted", M::Boolean},
          {"reason", M::String, kOptional}}},

        {"pause", Direction::ToWorker, {{"id", M::Count}}},
        {"resume", Direction::ToWorker, {{"id", M::Count}}},
        {"stop", Direction::ToWorker, {{"id", M::Count}}},
        {"kill_after", Direction::ToWorker, {{"id", M::Count}, {"seconds", M::Number}}},
        {"checkpoint", Direction::ToWorker, {{"id", M::Count}}},
        {"set", Direction::ToWorker, {{"id", M::Count}, {"key", M::String}, {"value", M::String}}},
        {"view",
         Direction::ToWorker,
         {{"id", M::Count}, {"sequence", M::Count}, {"values", M::Values}, {"texts", M::Texts}}},
        {"watch",
         Direction::ToWorker,
         {{"id", M::Count}, {"watched", M::Boolean}, {"shared_device", M::String, kOptional}}},
        {"ping", Direction::ToWorker, {{"id", M::Count}}},
    };
    return types;
}

const char* describe(MemberType type)
{
    switch (type) {
    case M::String:
        return "a string";
    case M::Boolean:
        return "true or false";
    case M::Integer:
        return "a whole number";
    case M::Count:
        return "a whole number of at least 0";
    case M::Number:
        return "a number";
    case M::Object:
        return "an object";
    case M::Objects:
        return "an array of objects";
    case M::Points:
        return "an array of [step, wall seconds, name, value]";
    case M::Values:
        return "numbers in arrays";
    case M::Texts:
        return "an object of strings";
    }
    return "";
}

bool isCount(const json& value)
{
    return value.is_number_unsigned() ||
           (value.is_number_integer() && value.get<std::int64_t>() >= 0);
}

/// A value is a number, or "nan", "inf" or "-inf", for which JSON has no spelling.
bool isPoint(const json& point)
{
    return point.is_array() && point.size() == 4 && point[0].is_number_integer() &&
           point[1].is_number() && point[2].is_string() &&
           (point[3].is_number() || point[3].is_string());
}

bool isNumbers(const json& value)
{
    return value.is_array() &&
           std::ranges::all_of(value, [](const json& entry) { return entry.is_number(); });
}

bool fits(const json& value, MemberType type)
{
    switch (type) {
    case M::String:
        return value.is_string();
    case M::Boolean:
        return value.is_boolean();
    case M::Integer:
        return value.is_number_integer();
    case M::Count:
        return isCount(value);
    case M::Number:
        return value.is_number();
    case M::Object:
        return value.is_object();
    case M::Objects:
        return value.is_array() &&
               std::ranges::all_of(value, [](const json& entry) { return entry.is_object(); });
    case M::Points:
        return value.is_array() && std::ranges::all_of(value, isPoint);
    case M::Values:
        return isNumbers(value) || (value.is_object() && std::ranges::all_of(value, isNumbers));
    case M::Texts:
        return value.is_object() &&
               std::ranges::all_of(value, [](const json& entry) { return entry.is_string(); });
    }
    return false;
}

/// Levels of brackets outside strings. Looked at first, because a tree too deep would cost the
/// caller its stack.
bool isNestedTooDeep(std::string_view text)
{
    int depth = 0;
    bool inString = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (inString) {
            if (c == '\\')
                ++i;
            else if (c == '"')
                inString = false;
        } else if (c == '"') {
            inString = true;
        } else if (c == '{' || c == '[') {
            if (++depth > kDeepestNesting)
                return true;
        } else if (c == '}' || c == ']') {
            --depth;
        }
    }
    return false;
}

std::string refusalOf(const json& message, Direction direction)
{
    if (!message.is_object())
        return "message: must be an object";
    const auto typeMember = message.find("type");
    if (typeMember == message.end() || !typeMember->is_string())
        return "message: member `type` must be a string";
    const std::string& name = typeMember->get_ref<const std::string&>();
    const auto type = std::ranges::find_if(messageTypes(), [&](const MessageType& candidate) {
        return candidate.direction == direction && candidate.name == name;
    });
    if (type == messageTypes().end())
        return fmt::format("message: type `{}` is unknown", name.substr(0, 64));
    for (const Member& member : type->members) {
        const auto value = message.find(member.name);
        if (value == message.end()) {
            if (member.isRequired)
                return fmt::format("{}: member `{}` is missing", name, member.name);
            continue;
        }
        if (!fits(*value, member.type))
            return fmt::format("{}: member `{}` must be {}", name, member.name,
                               describe(member.type));
    }
    return {};
}

} // namespace

ParsedMessage parseMessage(std::string_view line, Direction direction)
{
    if (line.size() > kLongestMessage)
        return {{}, "message: longer than 4 MiB"};
    if (isNestedTooDeep(line))
        return {{}, fmt::format("message: nested deeper than {} levels", kDeepestNesting)};
    try {
        json message = json::parse(line.begin(), line.end(), nullptr, false);
        if (message.is_discarded())
            return {{}, "message: not JSON"};
        std::string refusal = refusalOf(message, direction);
        if (!refusal.empty())
            return {{}, std::move(refusal)};
        return {std::move(message), {}};
    } catch (const std::exception&
                 error) { // memory, at worst: a message from outside must never end the process
        return {{}, fmt::format("message: {}", error.what())};
    }
}

std::string serialise(const json& message)
{
    return message.dump(-1, ' ', false, json::error_handler_t::replace) + '\n';
}

std::vector<std::string> LineSplitter::feed(std::string_view bytes)
{
    std::vector<std::string> lines;
    while (!bytes.empty()) {
        const std::size_t end = bytes.find('\n');
        const std::string_view piece = bytes.substr(0, end);
        if (!m_dropping && m_rest.size() + piece.size() > kLongestMessage) {
            m_dropping = m_overflowed = true;
            m_rest.clear();
            m_rest.shrink_to_fit();
        }
        if (!m_dropping)
            m_rest.append(piece);
        if (end == std::string_view::npos)
            break;
        if (!m_dropping && !m_rest.empty())
            lines.push_back(std::move(m_rest));
        m_rest.clear();
        m_dropping = false;
        bytes.remove_prefix(end + 1);
    }
    return lines;
}

} // namespace vergence
