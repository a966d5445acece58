#include "core/artifact/export_names.h"

#include <fmt/format.h>

namespace vergence {

namespace fs = std::filesystem;

fs::path freePath(const fs::path& path)
{
    fs::path free = path;
    for (int number = 2; fs::exists(fs::symlink_status(free)); ++number)
        free.replace_filename(
            fmt::format("{}-{}{}", path.stem().string(), number, path.extension().string()));
    return free;
}

std::string animationWord(const std::string& pattern)
{
    constexpr const char* kSeparators = "-_. ";
    std::string word;
    const fs::path whole = fs::path(pattern).replace_extension();
    for (const fs::path& part : whole) {
        if (word.empty() && part == "artifacts")
            continue;
        std::string text = part.string();
        std::erase_if(text, [](char c) { return c == '*' || c == '#'; });
        const auto first = text.find_first_not_of(kSeparators);
        if (first == std::string::npos)
            continue;
        text = text.substr(first, text.find_last_not_of(kSeparators) - first + 1);
        word += (word.empty() ? "" : "-") + text;
    }
    return word.empty() ? "animation" : word;
}

} // namespace vergence
