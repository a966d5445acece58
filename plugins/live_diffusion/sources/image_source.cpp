#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include <fmt/format.h>

#include "core/artifact/image_ops.h"
#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "plugins/live_diffusion/sources/source.h"

namespace vergence::live {

namespace {

namespace fs = std::filesystem;

bool isDigit(char c)
{
    return c >= '0' && c <= '9';
}

char lower(char c)
{
    return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

bool hasPictureName(const fs::path& path)
{
    static constexpr std::array kEndings = {".png", ".jpg", ".jpeg"};
    std::string ending = path.extension().string();
    std::ranges::transform(ending, ending.begin(), lower);
    return std::ranges::find(kEndings, ending) != kEndings.end();
}

/// Digits from `at` on without leading zeros; `at` moves behind them.
std::string_view numberAt(std::string_view text, std::size_t& at)
{
    std::size_t end = at;
    while (end < text.size() && isDigit(text[end]))
        ++end;
    while (at + 1 < end && text[at] == '0')
        ++at;
    const auto digits = text.substr(at, end - at);
    at = end;
    return digits;
}

class ImageSource final : public Source {
public:
    ImageSource(const fs::path& folder, double fps) : m_folder(folder), m_fps(fps)
    {
        std::error_code code;
        if (!fs::exists(folder, code))
            throw InputError(fmt::format("There is no folder {}.", folder.string()));
        if (!fs::is_directory(folder, code))
            throw InputError(fmt::format(
                "{} is a file, not a folder of pictures; for a video set source to video.",
                folder.string()));
        const fs::directory_iterator entries(folder, code);
        if (code)
            throw InputError(
                fmt::format("The folder {} cannot be read ({}).", folder.string(), code.message()));
        for (const auto& entry : entries) {
            if (entry.is_regular_file(code) && hasPictureName(entry.path()))
                m_files.push_back(entry.path());
        }
        std::ranges::sort(m_files, [](const fs::path& a, const fs::path& b) {
            return naturallyBefore(a.filename().string(), b.filename().string());
        });
        if (!findReadable())
            throw InputError(fmt::format("No picture in {} can be read; PNG and JPEG files are.",
                                         folder.string()));
        m_size = {m_ahead->width, m_ahead->height};
    }

    SourceInfo info() const override
    {
        SourceInfo info;
        info.name = m_folder.filename().string();
        info.width = m_size.first;
        info.height = m_size.second;
        info.fps = m_fps;
        info.frames = static_cast<std::int64_t>(m_files.size());
        info.seconds = static_cast<double>(m_files.size()) / m_fps;
        return info;
    }

    std::optional<SourceFrame> next(const std::stop_token& stop) override
    {
        if (stop.stop_requested() || (!m_ahead && !findReadable()))
            return std::nullopt;
        SourceFrame frame;
        frame.rgb = std::move(*m_ahead);
        m_ahead.reset();
        frame.number = static_cast<std::int64_t>(m_next++);
        frame.seconds = static_cast<double>(frame.number) / m_fps;
        frame.lasts = 1 / m_fps;
        frame.captured = steadySeconds();
        return frame;
    }

    void seek(double seconds) override
    {
        m_ahead.reset();
        const double wanted = std::floor(std::max(0.0, seconds) * m_fps + 1e-6);
        const double last = std::max(1.0, static_cast<double>(m_files.size())) - 1;
        m_next = static_cast<std::size_t>(std::min(wanted, last));
    }

private:
    /// Reads the picture at m_next, dropping files that cannot be read; false at the end.
    bool findReadable()
    {
        while (m_next < m_files.size()) {
            try {
                m_ahead = toRgb(readImage(m_files[m_next]));
                return true;
            } catch (const InputError& error) {
                log("live_diffusion").warn("{} It is left out.", error.what());
                m_files.erase(m_files.begin() + static_cast<std::ptrdiff_t>(m_next));
            }
        }
        return false;
    }

    fs::path m_folder;
    double m_fps;
    std::vector<fs::path> m_files;
    std::pair<int, int> m_size;
    std::size_t m_next = 0;
    std::optional<Image> m_ahead; ///< the picture at m_next
};

} // namespace

bool naturallyBefore(std::string_view a, std::string_view b)
{
    std::size_t i = 0, j = 0;
    while (i < a.size() && j < b.size()) {
        if (isDigit(a[i]) && isDigit(b[j])) {
            const auto first = numberAt(a, i), second = numberAt(b, j);
            if (first.size() != second.size())
                return first.size() < second.size();
            if (first != second)
                return first < second;
            continue;
        }
        const char first = lower(a[i++]), second = lower(b[j++]);
        if (first != second)
            return first < second;
    }
    const std::size_t left = a.size() - i, right = b.size() - j;
    return left != right ? left < right : a < b;
}

std::unique_ptr<Source> imageSource(const fs::path& folder, double fps)
{
    expects(fps > 0 && fps <= 1000, "image source: up to 1000 frames a second");
    return std::make_unique<ImageSource>(folder, fps);
}

} // namespace vergence::live
