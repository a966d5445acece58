#include "core/artifact/safetensors_header.h"

#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/error.h"

namespace vergence {

void failSafetensors(const std::string& source, const std::string& reason)
{
    throw InputError(fmt::format("Cannot read the safetensors file {}: {}.", source, reason));
}

namespace {

using nlohmann::json;

std::optional<DType> dtypeFromName(const std::string& name)
{
    for (const DType type : {DType::F32, DType::F64, DType::F16, DType::BF16, DType::I32,
                             DType::I64, DType::U8, DType::U16}) {
        if (name == nameOf(type))
            return type;
    }
    return std::nullopt;
}

/// JSON permits a key twice and the parser would keep the last one silently; here that is damage.
class KeyWatch {
public:
    bool operator()(int depth, json::parse_event_t event, json& value)
    {
        if (event == json::parse_event_t::object_start)
            m_keys.emplace_back();
        else if (event == json::parse_event_t::object_end)
            m_keys.pop_back();
        else if (event == json::parse_event_t::key &&
                 !m_keys.back().insert(value.get<std::string>()).second && m_duplicate.empty())
            m_duplicate = value.get<std::string>();
        m_tooDeep = m_tooDeep || depth > 4;
        return true;
    }
    const std::string& duplicate() const { return m_duplicate; }
    bool isTooDeep() const { return m_tooDeep; }

private:
    std::vector<std::set<std::string>> m_keys;
    std::string m_duplicate;
    bool m_tooDeep = false;
};

json parseStrictly(std::string_view text, const std::string& source)
{
    if (text.empty() || text.front() != '{')
        failSafetensors(source, "its header does not start with `{`");
    KeyWatch watch;
    json header;
    try {
        header = json::parse(text, [&](int depth, json::parse_event_t event, json& value) {
            return watch(depth, event, value);
        });
    } catch (const json::parse_error& error) {
        const bool encoding =
            std::string_view(error.what()).find("UTF-8") != std::string_view::npos;
        failSafetensors(source, fmt::format("its header is not valid {} at byte {}",
                                            encoding ? "UTF-8" : "JSON", error.byte));
    } catch (const json::exception&) {
        failSafetensors(source, "its header holds a number out of range");
    }
    if (!watch.duplicate().empty())
        failSafetensors(source,
                        fmt::format("its header has the key `{}` twice", watch.duplicate()));
    if (watch.isTooDeep())
        failSafetensors(source, "its header is nested too deeply");
    return header;
}

/// Reads one entry of the header.
class EntryReader {
public:
    EntryReader(const std::string& name, const json& value, const std::string& source)
        : m_value(value),
          m_source(source)
    {
        m_entry.name = name;
        if (!value.is_object())
            complain("is not described by an object");
    }

    SafetensorsEntry read(std::uint64_t dataBytes)
    {
        readType();
        const std::uint64_t bytes = readShape();
        readOffsets(dataBytes);
        if (m_entry.end - m_entry.begin != bytes)
            complain(fmt::format("has {} bytes where its shape and type need {}",
                                 m_entry.end - m_entry.begin, bytes));
        return std::move(m_entry);
    }

private:
    [[noreturn]] void complain(const std::string& reason) const
    {
        failSafetensors(m_source, fmt::format("tensor `{}` {}", m_entry.name, reason));
    }

    const json& member(const char* key) const
    {
        const auto found = m_value.find(key);
        if (found == m_value.end())
            complain(fmt::format("has no `{}`", key));
        return *found;
    }

    void readType()
    {
        const json& type = member("dtype");
        const auto known = type.is_string() ? dtypeFromName(type.get<std::string>()) : std::nullopt;
        if (!known)
            complain(fmt::format("has the unknown type {}",
                                 type.dump(-1, ' ', true, json::error_handler_t::replace)));
        m_entry.dtype = *known;
    }

    /// Bytes that shape and type need.
    std::uint64_t readShape()
    {
        const json& shape = member("shape");
        if (!shape.is_array())
            complain("has a shape that is not an array");
        std::uint64_t bytes = sizeOf(m_entry.dtype);
        for (const json& extent : shape) {
            if (extent.is_number_integer() && !extent.is_number_unsigned())
                complain("has a negative extent");
            if (!extent.is_number_unsigned())
                complain("has an extent that is not a whole number");
            const auto value = extent.get<std::uint64_t>();
            if (value > (std::uint64_t{1} << 62) || __builtin_mul_overflow(bytes, value, &bytes))
                complain("has a shape that overflows");
            m_entry.shape.push_back(static_cast<Index>(value));
        }
        return bytes;
    }

    void readOffsets(std::uint64_t dataBytes)
    {
        const json& offsets = member("data_offsets");
        if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
            !offsets[1].is_number_unsigned())
            complain("has `data_offsets` that are not two whole numbers");
        m_entry.begin = offsets[0].get<std::uint64_t>();
        m_entry.end = offsets[1].get<std::uint64_t>();
        if (m_entry.begin > m_entry.end)
            complain("ends before it begins");
        if (m_entry.end > dataBytes)
            complain(fmt::format("reaches to byte {} of {} bytes of data", m_entry.end, dataBytes));
    }

    const json& m_value;
    const std::string& m_source;
    SafetensorsEntry m_entry;
};

std::map<std::string, std::string> readMetadata(const json& value, const std::string& source)
{
    std::map<std::string, std::string> metadata;
    if (!value.is_object())
        failSafetensors(source, "`__metadata__` is not an object");
    for (const auto& [key, text] : value.items()) {
        if (!text.is_string())
            failSafetensors(source,
                            fmt::format("`__metadata__` holds `{}`, which is not a text", key));
        metadata[key] = text.get<std::string>();
    }
    return metadata;
}

void expectGapless(const std::vector<SafetensorsEntry>& entries, std::uint64_t dataBytes,
                   const std::string& source)
{
    std::uint64_t at = 0;
    for (const SafetensorsEntry& entry : entries) {
        if (entry.begin < at)
            failSafetensors(source,
                            fmt::format("tensor `{}` overlaps the one before it", entry.name));
        if (entry.begin > at)
            failSafetensors(source, fmt::format("there is a hole of {} bytes before tensor `{}`",
                                                entry.begin - at, entry.name));
        at = entry.end;
    }
    if (at != dataBytes)
        failSafetensors(
            source, fmt::format("{} bytes after the last tensor belong to none", dataBytes - at));
}

} // namespace

SafetensorsHeader parseSafetensorsHeader(std::string_view text, std::uint64_t dataBytes,
                                         const std::string& source)
{
    const json parsed = parseStrictly(text, source);
    SafetensorsHeader header;
    for (const auto& [name, value] : parsed.items()) {
        if (name == "__metadata__")
            header.metadata = readMetadata(value, source);
        else
            header.entries.push_back(EntryReader(name, value, source).read(dataBytes));
    }
    std::sort(header.entries.begin(), header.entries.end(),
              [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
                  return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
              });
    expectGapless(header.entries, dataBytes, source);
    return header;
}

} // namespace vergence
