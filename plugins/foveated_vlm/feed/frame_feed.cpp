#include "plugins/foveated_vlm/feed/frame_feed.h"

#include <mutex>

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/compute/backend.h"
#include "core/compute/kernel.h"
#include "plugins/foveated_vlm/feed/feed_way.h"

namespace vergence::fvlm {

namespace {

/// The CUDA bodies of this folder lie in a module of their own.
void loadBodies()
{
    static std::once_flag once;
    std::call_once(once, [] {
        for (const auto& folder : moduleFolders()) {
            const auto file = folder / "libvergence-kernels-foveated_vlm_feed.so";
            std::error_code code;
            if (std::filesystem::exists(file, code)) {
                loadKernelModule(file); // without it the launch says what is missing
                return;
            }
        }
    });
}

std::string megabytes(double bytes)
{
    return fmt::format("{:.1f} MB", bytes / 1e6);
}

/// Sets `reason`.
FeedMode chosen(const FeedFacts& facts, std::string& reason)
{
    if (facts.settings.mode != FeedMode::Auto) {
        reason = fmt::format("Frames are {}, as asked for.",
                             facts.settings.mode == FeedMode::Resident ? "resident" : "streamed");
        return facts.settings.mode;
    }
    const bool usesMap =
        facts.device->isCpu() && !facts.clips.mapped().empty() && facts.given == facts.stored;
    const double latents =
        static_cast<double>(facts.latentBytes(static_cast<Index>(facts.frameTotal)));
    const double bytes =
        latents + (usesMap ? 0 : static_cast<double>(facts.frameTotal * facts.frameBytes));
    const double room =
        facts.settings.residentShare * static_cast<double>(facts.device->memory().free);
    if (bytes > room) {
        reason = fmt::format("Frames are streamed: {} are more than {:.0f} % of the free memory.",
                             megabytes(bytes), facts.settings.residentShare * 100);
        return FeedMode::Stream;
    }
    if (facts.device->isCpu() && !usesMap) {
        reason = "Frames are streamed: they are made while they are needed.";
        return FeedMode::Stream;
    }
    reason = usesMap ? "Frames are used where their file is mapped."
                     : fmt::format("Frames are resident: {}.", megabytes(bytes));
    return FeedMode::Resident;
}

} // namespace

FeedMode feedModeFromName(std::string_view name)
{
    for (const FeedMode mode : {FeedMode::Auto, FeedMode::Resident, FeedMode::Stream}) {
        if (name == nameOf(mode))
            return mode;
    }
    throw ContractError(fmt::format("There is no way `{}` to feed frames.", name));
}

const char* nameOf(FeedMode mode)
{
    switch (mode) {
    case FeedMode::Resident:
        return "resident";
    case FeedMode::Stream:
        return "stream";
    case FeedMode::Auto:
        break;
    }
    return "auto";
}

FrameFeed::FrameFeed(std::shared_ptr<Device> device, const ClipSource& clips,
                     const LatentSource* latents, const FeedSettings& settings)
    : m_facts(std::make_unique<FeedFacts>(std::move(device), clips, latents, settings))
{
    if (!m_facts->device->isCpu())
        loadBodies();
    m_mode = chosen(*m_facts, m_reason);
    m_way = m_mode == FeedMode::Resident ? makeResidentWay(*m_facts) : makeStreamWay(*m_facts);
}

FrameFeed::~FrameFeed() = default;

Index FrameFeed::patchRows() const
{
    return m_facts->clips.height() / m_facts->settings.patch;
}

Index FrameFeed::patchColumns() const
{
    return m_facts->clips.width() / m_facts->settings.patch;
}

Index FrameFeed::frames(Index clip) const
{
    return m_facts->framesOf({&clip, 1});
}

Index FrameFeed::frames(std::span<const Index> clips) const
{
    return m_facts->framesOf(clips);
}

void FrameFeed::ahead(std::span<const Index> clips)
{
    m_way->ahead(clips);
}

void FrameFeed::forget()
{
    m_way->forget();
}

void FrameFeed::fill(Stream& stream, std::span<const Index> clips, const Tensor& patches,
                     const Tensor* latents)
{
    m_way->fill(stream, clips, patches, latents);
}

const FeedCounts& FrameFeed::counts() const
{
    return m_way->counts();
}

} // namespace vergence::fvlm
