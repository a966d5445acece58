#include "plugins/foveated_vlm/shards/captions.h"

#include <fmt/format.h>

#include "core/artifact/json_text.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "plugins/foveated_vlm/shards/shard_clips.h"

namespace vergence::fvlm {

namespace fs = std::filesystem;

namespace {

std::string trimmed(const std::string& text)
{
    constexpr const char* kBlank = " \t\r\n";
    const auto first = text.find_first_not_of(kBlank);
    return first == std::string::npos
               ? std::string()
               : text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

bool isEmpty(const ClipText& text)
{
    return text.prompt.empty() && text.answer.empty() && text.chosen.empty() &&
           text.rejected.empty();
}

} // namespace

Captions Captions::fromJsonLines(const fs::path& path)
{
    Captions captions;
    const std::string bytes = readFile(path);
    int number = 0;
    for (std::size_t begin = 0; begin < bytes.size();) {
        const std::size_t end = std::min(bytes.find('\n', begin), bytes.size());
        const std::string line = trimmed(bytes.substr(begin, end - begin));
        begin = end + 1;
        ++number;
        if (line.empty())
            continue;
        const std::string place = fmt::format("{}, line {}", path.string(), number);
        const ClipText text = clipTextFromJson(line, place);
        const nlohmann::json json = parseJson(line, place);
        const auto file = json.find("file");
        if (file == json.end() || !file->is_string() || file->get<std::string>().empty())
            throw InputError(fmt::format("{}: `file` names no file.", place));
        const std::string name =
            fs::path(file->get<std::string>()).lexically_normal().generic_string();
        if (!captions.m_texts.emplace(name, text).second)
            throw InputError(fmt::format("{}: {} is named for the second time.", place, name));
    }
    return captions;
}

std::optional<ClipText> Captions::find(const fs::path& folder, const fs::path& file) const
{
    auto found = m_texts.find(file.lexically_relative(folder).generic_string());
    if (found == m_texts.end())
        found = m_texts.find(file.filename().string());
    if (found != m_texts.end())
        return isEmpty(found->second) ? std::nullopt : std::optional(found->second);
    fs::path beside = file;
    beside.replace_extension(".txt");
    std::error_code code;
    if (!fs::is_regular_file(beside, code))
        return std::nullopt;
    ClipText text;
    text.answer = trimmed(readFile(beside));
    const nlohmann::json asJson = text.answer;
    try {
        (void)asJson.dump(); // refuses what is no UTF-8
    } catch (const nlohmann::json::exception&) {
        throw InputError(fmt::format("The caption {} is no UTF-8 text.", beside.string()));
    }
    return isEmpty(text) ? std::nullopt : std::optional(text);
}

} // namespace vergence::fvlm
