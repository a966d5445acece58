#include "app/export/image_sequences.h"

#include <algorithm>
#include <cctype>
#include <map>

namespace vergence {
namespace {

namespace fs = std::filesystem;

bool isDigit(char c)
{
    return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

bool isPicture(const fs::path& path)
{
    const std::string extension = path.extension().string();
    return extension == ".png" || extension == ".jpg" || extension == ".jpeg";
}

/// The name with its last number replaced by '#'; empty where it has none.
std::string numbered(const fs::path& path)
{
    const std::string stem = path.stem().string();
    std::size_t end = stem.size();
    while (end > 0 && !isDigit(stem[end - 1]))
        --end;
    std::size_t begin = end;
    while (begin > 0 && isDigit(stem[begin - 1]))
        --begin;
    if (begin == end)
        return {};
    return stem.substr(0, begin) + "#" + stem.substr(end) + path.extension().string();
}

std::vector<fs::path> pictures(const fs::path& root)
{
    std::vector<fs::path> found;
    std::error_code code;
    for (fs::recursive_directory_iterator at(root, code), end; !code && at != end;
         at.increment(code))
        if (at->is_regular_file(code) && isPicture(at->path()))
            found.push_back(at->path());
    return found;
}

} // namespace

bool naturalLess(const std::string& a, const std::string& b)
{
    std::size_t i = 0, j = 0;
    while (i < a.size() && j < b.size()) {
        if (!isDigit(a[i]) || !isDigit(b[j])) {
            if (a[i] != b[j])
                return a[i] < b[j];
            ++i, ++j;
            continue;
        }
        while (i < a.size() && a[i] == '0')
            ++i;
        while (j < b.size() && b[j] == '0')
            ++j;
        std::size_t endA = i, endB = j;
        while (endA < a.size() && isDigit(a[endA]))
            ++endA;
        while (endB < b.size() && isDigit(b[endB]))
            ++endB;
        if (endA - i != endB - j)
            return endA - i < endB - j;
        const int order = a.compare(i, endA - i, b, j, endB - j);
        if (order != 0)
            return order < 0;
        i = endA, j = endB;
    }
    return a.size() - i < b.size() - j;
}

std::vector<ImageSequence> findImageSequences(const RunFolder& folder)
{
    std::map<std::string, std::vector<fs::path>> groups;
    for (const fs::path& root : {folder.artifacts(), folder.previews()}) {
        for (const fs::path& path : pictures(root)) {
            const fs::path relative = path.lexically_relative(folder.root);
            const fs::path parent = relative.parent_path();
            if (const std::string name = numbered(path); !name.empty())
                groups[(parent / name).generic_string()].push_back(path);
            if (path.parent_path() != root)
                groups[(parent.parent_path() / "*" / path.filename()).generic_string()].push_back(
                    path);
        }
    }
    std::vector<ImageSequence> result;
    for (auto& [pattern, frames] : groups) {
        if (frames.size() < 2)
            continue;
        std::ranges::sort(frames, [](const fs::path& a, const fs::path& b) {
            return naturalLess(a.generic_string(), b.generic_string());
        });
        result.push_back({pattern, std::move(frames)});
    }
    std::ranges::stable_sort(result, [](const ImageSequence& a, const ImageSequence& b) {
        return a.frames.size() > b.frames.size();
    });
    return result;
}

} // namespace vergence
