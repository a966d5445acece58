#include "core/run/line_tail.h"

#include <algorithm>
#include <fstream>

namespace vergence {

LineTail::LineTail(std::filesystem::path path, std::int64_t headerLines)
    : m_path(std::move(path)),
      m_headerLines(headerLines),
      m_nextLine(-headerLines)
{
}

void LineTail::restart()
{
    m_nextLine = -m_headerLines;
    m_offset = 0;
}

LineTail::Slice LineTail::read(std::size_t bytes)
{
    Slice slice;
    slice.first = std::max<std::int64_t>(m_nextLine, 0);
    std::ifstream file(m_path, std::ios::binary);
    if (!file || !file.seekg(static_cast<std::streamoff>(m_offset)))
        return slice;
    std::string text;
    do { // a line may be longer than a slice
        const std::size_t known = text.size();
        text.resize(known + bytes);
        file.read(text.data() + known, static_cast<std::streamsize>(bytes));
        text.resize(known + static_cast<std::size_t>(file.gcount()));
    } while (file && text.find('\n') == std::string::npos);
    slice.hasMore = static_cast<bool>(file);
    text.resize(text.rfind('\n') + 1); // to nothing where no line has ended
    m_offset += text.size();
    std::size_t begin = 0;
    while (m_nextLine < 0 && begin < text.size()) {
        begin = text.find('\n', begin) + 1;
        ++m_nextLine;
    }
    slice.text = text.substr(begin);
    slice.count = std::count(slice.text.begin(), slice.text.end(), '\n');
    m_nextLine += slice.count;
    return slice;
}

} // namespace vergence
