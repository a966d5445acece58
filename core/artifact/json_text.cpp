#include "core/artifact/json_text.h"

#include <fmt/format.h>

#include "core/base/error.h"

namespace vergence {

nlohmann::json parseJson(std::string_view text, const std::string& source)
{
    try {
        return nlohmann::json::parse(text);
    } catch (const nlohmann::json::parse_error& error) {
        // The library's own type must not leave this folder: callers know InputError alone.
        throw InputError(
            fmt::format("Cannot read {}: not valid JSON at byte {}.", source, error.byte));
    } catch (const nlohmann::json::exception&) {
        throw InputError(fmt::format("Cannot read {}: it holds a number out of range.", source));
    }
}

std::string requiredText(const nlohmann::json& object, const char* key, const std::string& source)
{
    const auto found = object.find(key);
    if (found == object.end() || !found->is_string())
        throw InputError(fmt::format("{} is damaged: `{}` must be a text.", source, key));
    return found->get<std::string>();
}

std::string prettyJson(const nlohmann::json& json)
{
    return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

} // namespace vergence
