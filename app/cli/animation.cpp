#include "app/cli/animation.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>

#include <fnmatch.h>

#include <fmt/format.h>

#include "core/base/error.h"

namespace vergence::cli {

namespace {

namespace fs = std::filesystem;

/// Position of the last group of digits of a file name without its extension; {npos, 0} where there
/// is none.
std::pair<std::size_t, std::size_t> lastNumber(const std::string& stem)
{
    const auto last = stem.find_last_of("0123456789");
    if (last == std::string::npos)
        return {std::string::npos, 0};
    const auto before = stem.find_last_not_of("0123456789", last);
    const auto first = before == std::string::npos ? 0 : before + 1;
    return {first, last - first + 1};
}

/// Orders digits by value and the rest by character: "p2" before "p10".
bool naturalLess(const fs::path& left, const fs::path& right)
{
    const std::string a = left.string(), b = right.string();
    std::size_t i = 0, j = 0;
    const auto digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
    while (i < a.size() && j < b.size()) {
        if (!digit(a[i]) || !digit(b[j])) {
            if (a[i] != b[j])
                return a[i] < b[j];
            ++i, ++j;
            continue;
        }
        const auto numberAt = [&digit](const std::string& text, std::size_t& at) {
            while (at < text.size() && text[at] == '0')
                ++at;
            const auto first = at;
            while (at < text.size() && digit(text[at]))
                ++at;
            return text.substr(first, at - first);
        };
        const std::string x = numberAt(a, i), y = numberAt(b, j);
        if (x != y)
            return x.size() != y.size() ? x.size() < y.size() : x < y;
    }
    return a.size() - i < b.size() - j;
}

std::vector<fs::path> pngsBelow(const fs::path& folder)
{
    std::vector<fs::path> files;
    std::error_code code;
    for (const auto& entry : fs::recursive_directory_iterator(folder, code)) {
        if (entry.is_regular_file(code) && entry.path().extension() == ".png")
            files.push_back(entry.path());
    }
    return files;
}

} // namespace

std::vector<ImageSequence> findSequences(const RunFolder& folder)
{
    std::map<std::string, std::vector<fs::path>> groups;
    for (const fs::path& below : {folder.artifacts(), folder.previews()}) {
        for (const fs::path& file : pngsBelow(below)) {
            const std::string stem = file.stem().string();
            const auto [first, count] = lastNumber(stem);
            if (first == std::string::npos)
                continue;
            const std::string pattern =
                fmt::format("{}*{}.png", stem.substr(0, first), stem.substr(first + count));
            groups[(file.parent_path().lexically_relative(folder.root) / pattern).string()]
                .push_back(file);
        }
    }
    std::vector<ImageSequence> sequences;
    for (auto& [pattern, files] : groups) {
        if (files.size() < 2)
            continue;
        std::sort(files.begin(), files.end(), naturalLess);
        sequences.push_back({pattern, std::move(files)});
    }
    return sequences;
}

ImageSequence matchSequence(const RunFolder& folder, const std::string& pattern)
{
    ImageSequence sequence{pattern, {}};
    for (const fs::path& file : pngsBelow(folder.root)) {
        const std::string name = file.lexically_relative(folder.root).string();
        if (::fnmatch(pattern.c_str(), name.c_str(), FNM_PATHNAME) == 0)
            sequence.files.push_back(file);
    }
    std::sort(sequence.files.begin(), sequence.files.end(), naturalLess);
    return sequence;
}

} // namespace vergence::cli
