#include "plugins/sugar/io/byte_reader.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/base/error.h"

namespace vergence::sugar {

ByteReader::ByteReader(std::span<const std::byte> bytes, std::string file, std::string remedy)
    : m_bytes(bytes),
      m_file(std::move(file)),
      m_remedy(std::move(remedy))
{
}

std::span<const std::byte> ByteReader::take(std::size_t bytes, const char* what)
{
    if (bytes > remaining())
        fail(fmt::format("the file ends within {} ({} bytes wanted, {} left)", what, bytes,
                         remaining()));
    const auto taken = m_bytes.subspan(m_offset, bytes);
    m_offset += bytes;
    return taken;
}

std::string ByteReader::zeroTerminated(const char* what)
{
    const auto rest = m_bytes.subspan(m_offset);
    const auto end = std::find(rest.begin(), rest.end(), std::byte{0});
    if (end == rest.end())
        fail(fmt::format("the file ends within {}", what));
    const auto length = static_cast<std::size_t>(end - rest.begin());
    std::string text(reinterpret_cast<const char*>(rest.data()), length);
    m_offset += length + 1;
    return text;
}

std::size_t ByteReader::count(std::size_t recordBytes, const char* what)
{
    const auto number = read<std::uint64_t>(what);
    if (number > remaining() / recordBytes) {
        m_offset -= sizeof(number);
        fail(fmt::format("{} is {}, but the {} bytes that follow hold at most {}", what, number,
                         remaining() - sizeof(number),
                         (remaining() - sizeof(number)) / recordBytes));
    }
    return static_cast<std::size_t>(number);
}

void ByteReader::expectEnd() const
{
    if (remaining() > 0)
        fail(fmt::format("{} bytes follow the last record", remaining()));
}

void ByteReader::fail(const std::string& fault) const
{
    throw InputError(fmt::format("{}, offset {}: {}. {}", m_file, m_offset, fault, m_remedy));
}

} // namespace vergence::sugar
