#include "plugins/foveated_vlm/shards/decode.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "plugins/foveated_vlm/shards/resample.h"

namespace vergence::fvlm {

namespace fs = std::filesystem;

namespace {

constexpr std::uint8_t kMidGrey = 128;

void check(const DecodeSettings& settings)
{
    expects(settings.size >= 8 && settings.size <= 4096, "decode: frames of 8 to 4096 px");
    expects(settings.frames >= 1 && settings.frames <= 1024, "decode: 1 to 1024 frames");
    expects(settings.threads >= 1, "decode: at least one thread");
}

/// Scales what is shown `wide` × `high` into a square.
std::vector<std::uint8_t> fitted(const VideoFrame& frame, const DecodeSettings& settings)
{
    const double width = frame.rgb.width, height = frame.rgb.height;
    const double wide = width * frame.aspect, high = height;
    const int size = settings.size;
    if (settings.fit == Fit::Squash)
        return resampled(frame.rgb, {0, 0, width, height}, size, size);
    if (settings.fit == Fit::Crop) {
        const double side = std::min(wide, high);
        const double across = side / frame.aspect;
        return resampled(frame.rgb, {(width - across) / 2, (height - side) / 2, across, side}, size,
                         size);
    }
    const double scale = size / std::max(wide, high);
    const int columns = std::clamp(static_cast<int>(std::lround(wide * scale)), 1, size);
    const int rows = std::clamp(static_cast<int>(std::lround(high * scale)), 1, size);
    const auto inner = resampled(frame.rgb, {0, 0, width, height}, columns, rows);
    const auto side = static_cast<std::size_t>(size), innerRow = static_cast<std::size_t>(columns);
    const int left = (size - columns) / 2, top = (size - rows) / 2;
    std::vector<std::uint8_t> result(3 * side * side, kMidGrey);
    for (std::size_t channel = 0; channel < 3; ++channel) {
        for (int y = 0; y < rows; ++y) {
            const auto from =
                (channel * static_cast<std::size_t>(rows) + static_cast<std::size_t>(y)) * innerRow;
            const auto to = (channel * side + static_cast<std::size_t>(top + y)) * side +
                            static_cast<std::size_t>(left);
            std::copy_n(inner.begin() + static_cast<std::ptrdiff_t>(from), innerRow,
                        result.begin() + static_cast<std::ptrdiff_t>(to));
        }
    }
    return result;
}

template <class T, std::size_t N>
T fromName(const std::array<T, N>& all, std::string_view name, const char* what)
{
    for (const T value : all) {
        if (name == nameOf(value))
            return value;
    }
    throw ContractError(fmt::format("There is no {} `{}`.", what, name));
}

/// Frames by number, decoded until the plan fits what was decoded.
struct Gathered {
    std::vector<std::size_t> picks;
    std::map<std::size_t, std::vector<std::uint8_t>> frames;
    VideoOutcome outcome;
};

Gathered gather(VideoReader& reader, const fs::path& path, const DecodeSettings& settings)
{
    const auto fail = [&](const char* what) {
        throw InputError(fmt::format("The video {} cannot be used: {}.", path.string(), what));
    };
    Gathered result;
    VideoTimes plan = reader.packetTimes();
    constexpr int kMostPasses = 3;
    for (int pass = 0; pass < kMostPasses; ++pass) {
        if (!plan.times.empty())
            result.picks = pickFrames(plan.times, plan.end, settings.sampling, settings.frames);
        result.outcome = reader.decode(
            [&](std::size_t i) {
                return std::ranges::find(result.picks, i) != result.picks.end() &&
                       !result.frames.contains(i);
            },
            [&](std::size_t i, VideoFrame&& frame) { result.frames[i] = fitted(frame, settings); });
        plan = result.outcome.shown;
        if (plan.times.empty())
            fail("no frame of it can be decoded");
        // What was decoded counts; where the packets promised something else, once more.
        result.picks = pickFrames(plan.times, plan.end, settings.sampling, settings.frames);
        if (std::ranges::all_of(result.picks,
                                [&](std::size_t i) { return result.frames.contains(i); }))
            return result;
    }
    fail("every time it is decoded it has other frames");
    return result;
}

} // namespace

Fit fitFromName(std::string_view name)
{
    return fromName(std::array{Fit::Crop, Fit::Squash, Fit::Letterbox}, name, "fit");
}

Sampling samplingFromName(std::string_view name)
{
    return fromName(std::array{Sampling::UniformN, Sampling::Linspace, Sampling::Fps1}, name,
                    "sampling");
}

const char* nameOf(Fit fit)
{
    return fit == Fit::Crop ? "crop" : fit == Fit::Squash ? "squash" : "letterbox";
}

const char* nameOf(Sampling sampling)
{
    return sampling == Sampling::UniformN   ? "uniform_n"
           : sampling == Sampling::Linspace ? "linspace"
                                            : "fps_1";
}

std::string DecodeSettings::json() const
{
    return nlohmann::json{
        {"sampling", nameOf(sampling)}, {"fit", nameOf(fit)}, {"size", size}, {"frames", frames}}
        .dump();
}

bool canDecodeVideo(std::string* reason)
{
    if (videoModule(reason))
        return true;
    if (reason)
        *reason += " Shards, .pt files, folders of pictures and archives need none.";
    return false;
}

std::vector<std::uint8_t> fittedFrame(const Image& rgb, const DecodeSettings& settings)
{
    check(settings);
    return fitted({rgb, 1.0}, settings);
}

DecodedClip decodeVideo(const fs::path& path, const DecodeSettings& settings)
{
    check(settings);
    std::error_code code;
    if (fs::file_size(path, code) == 0 && !code)
        throw InputError(fmt::format("The video {} cannot be used: it is empty.", path.string()));
    std::string reason;
    if (!canDecodeVideo(&reason))
        throw InputError(reason);
    const auto reader = requireVideoModule().reader(path, settings.threads);
    const Gathered found = gather(*reader, path, settings);
    const VideoTimes& shown = found.outcome.shown;
    DecodedClip clip;
    clip.count = static_cast<int>(found.picks.size());
    clip.seconds = static_cast<float>(std::max(0.0, shown.end - shown.times.front()));
    clip.fps = clip.seconds > 0 ? static_cast<float>(shown.times.size()) / clip.seconds : 0.f;
    clip.isImage = shown.times.size() == 1;
    clip.isShort = !clip.isImage && settings.sampling != Sampling::Fps1 &&
                   shown.times.size() < static_cast<std::size_t>(settings.frames);
    clip.isRepaired = found.outcome.isDamaged;
    for (const std::size_t pick : found.picks) {
        const auto& frame = found.frames.at(pick);
        clip.frames.insert(clip.frames.end(), frame.begin(), frame.end());
        clip.timestamps.push_back(static_cast<float>(shown.times[pick]));
    }
    return clip;
}

} // namespace vergence::fvlm
