#include "plugins/sugar/io/image_header.h"

#include <cstdint>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "core/artifact/mapped_file.h"
#include "core/base/error.h"

namespace vergence::sugar {

namespace {

/// Big-endian number; nothing beyond the end.
std::optional<std::uint32_t> numberAt(std::string_view bytes, std::size_t at, std::size_t count)
{
    if (at + count > bytes.size())
        return std::nullopt;
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < count; ++i)
        value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
    return value;
}

std::optional<ImageHeader> sizeAt(std::string_view bytes, std::size_t width, std::size_t height,
                                  std::size_t count)
{
    const auto w = numberAt(bytes, width, count), h = numberAt(bytes, height, count);
    constexpr std::uint32_t kLargest = 65'536;
    if (!w || !h || *w == 0 || *h == 0 || *w > kLargest || *h > kLargest)
        return std::nullopt;
    return ImageHeader{static_cast<int>(*w), static_cast<int>(*h)};
}

/// Source: ITU-T T.81 (1992), annex B: walks the segments up to the frame header.
std::optional<ImageHeader> sizeOfJpeg(std::string_view bytes)
{
    std::size_t at = 2;
    while (const auto marker = numberAt(bytes, at, 2)) {
        if (*marker == 0xFFFF) { // fill byte
            ++at;
            continue;
        }
        const bool isFrame = *marker >= 0xFFC0 && *marker <= 0xFFCF && *marker != 0xFFC4 &&
                             *marker != 0xFFC8 && *marker != 0xFFCC;
        if (isFrame)
            return sizeAt(bytes, at + 7, at + 5, 2);
        const auto length = numberAt(bytes, at + 2, 2);
        if (*marker < 0xFFC0 || *marker == 0xFFDA || !length || *length < 2)
            return std::nullopt;
        at += 2 + *length;
    }
    return std::nullopt;
}

} // namespace

ImageHeader parseImageHeader(std::span<const std::byte> bytes, const std::filesystem::path& name)
{
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    std::optional<ImageHeader> header;
    if (text.starts_with("\x89PNG\r\n\x1a\n"))
        header = sizeAt(text, 16, 20, 4);
    else if (text.starts_with("\xff\xd8"))
        header = sizeOfJpeg(text);
    else
        throw InputError(
            fmt::format("{} is neither PNG nor JPEG. Convert the photograph.", name.string()));
    if (!header)
        throw InputError(
            fmt::format("The header of {} is broken. Copy the photograph anew.", name.string()));
    return *header;
}

ImageHeader readImageHeader(const std::filesystem::path& path)
{
    return parseImageHeader(MappedFile(path).bytes(), path);
}

} // namespace vergence::sugar
