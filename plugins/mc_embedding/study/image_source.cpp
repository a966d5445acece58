#include "plugins/mc_embedding/study/image_source.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <stop_token>

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "plugins/mc_embedding/io/residency.h"

namespace vergence::mc_embedding {

namespace {

constexpr std::size_t kNamed = 5; // broken pictures named in the warning

SamplingOptions samplingOf(const McEmbeddingConfig& config, int count)
{
    SamplingOptions options;
    options.sampling = config.sampling;
    options.count = static_cast<std::size_t>(count);
    options.seed = config.seed;
    options.idsFromIndex = config.maskIdentity == "index";
    return options;
}

} // namespace

ImageSource::ImageSource(const McEmbeddingConfig& config, std::filesystem::path cacheFolder,
                         std::filesystem::path painted)
    : m_config(config),
      m_cacheFolder(std::move(cacheFolder)),
      m_painted(std::move(painted))
{
}

void ImageSource::list(RunContext& context, int count)
{
    SamplingOptions options = samplingOf(m_config, count);
    options.isStopped = [&context] { return context.stopRequested(); };
    if (paintsImages(m_config)) {
        writeDemoImages(m_painted, options.count, m_config.seed, options.isStopped);
        if (context.stopRequested())
            return;
        m_drawn = sampleFolder(m_painted, options);
    } else if (!m_config.manifest.empty()) {
        m_drawn = readImageManifest(m_config.manifest, m_config.folder, options);
    } else {
        m_drawn = sampleFolder(m_config.folder, options);
    }
    if (m_drawn.images.size() < options.count && !context.stopRequested())
        context.warn("W-IMAGES", fmt::format("Only {} of the {} images asked for are there; all "
                                             "of them are taken.",
                                             m_drawn.images.size(), options.count));
}

void ImageSource::paintSynthetic(RunContext& context, std::size_t each, int side,
                                 const ImageSet& natural)
{
    writeSyntheticImages(m_painted, each, side, m_config.seed,
                         [&context] { return context.stopRequested(); });
    if (context.stopRequested())
        return;
    SamplingOptions options = samplingOf(m_config, static_cast<int>(3 * each));
    options.sampling = "stratified";
    m_drawn = sampleFolder(m_painted, options);
    for (std::size_t i = 0; i < std::min(each, natural.images.size()); ++i) {
        StudyImage image = natural.images[i];
        // Absolute, since the folder of the set is that of the painted ones.
        image.path = std::filesystem::absolute(natural.folder / image.path).generic_string();
        image.label = "natural";
        m_drawn.images.push_back(std::move(image));
    }
}

bool ImageSource::open(RunContext& context, const Preprocess& how, const std::string& degradation)
{
    const std::string key = how.fingerprint() + "/" + degradation;
    auto& cache = m_caches[key];
    if (!cache)
        cache = PixelCache::open(m_cacheFolder, m_drawn, how, degradation, m_config.seed);
    // Once per run even where the file is complete: sources that changed are read again.
    if (!m_filled.contains(key) && !fill(context, *cache, degradation))
        return false;
    m_filled.insert(key);
    settle(context, *cache);
    m_current = cache.get();
    if (degradation == "none")
        m_clean = cache.get();
    return true;
}

bool ImageSource::fill(RunContext& context, PixelCache& cache, const std::string& degradation)
{
    std::stop_source stop;
    const std::string what =
        degradation == "none" ? "decoding images" : "decoding images, " + degradation;
    std::optional<std::size_t> told;
    cache.fill(m_drawn, stop.get_token(), [&](std::size_t done, std::size_t total) {
        if (context.stopRequested())
            stop.request_stop();
        if (done == told || (done % 64 != 0 && done != total))
            return;
        context.phase(3, 3, fmt::format("{}, {} of {}", what, done, total));
        told = done;
    });
    context.phase(3, 3, "measuring");
    return cache.isComplete() && !stop.stop_requested();
}

/// Which pictures are part of the study.
void ImageSource::settle(RunContext& context, const PixelCache& cache)
{
    std::set<std::size_t> broken;
    for (const SkippedImage& skipped : cache.skipped())
        broken.insert(skipped.index);
    if (m_isSettled) {
        for (const std::size_t place : m_places) {
            if (broken.contains(place))
                throw InputError(fmt::format(
                    "{} could be read before and cannot now. Do not change the images while a run "
                    "is going on; start it again.",
                    m_drawn.images[place].path));
        }
        return;
    }
    m_skipped = cache.skipped();
    m_usable.folder = m_drawn.folder;
    for (std::size_t i = 0; i < m_drawn.images.size(); ++i) {
        if (broken.contains(i))
            continue;
        m_places.push_back(i);
        m_usable.images.push_back(m_drawn.images[i]);
    }
    if (m_usable.images.empty())
        throw InputError(fmt::format("None of the {} images below {} can be read.",
                                     m_drawn.images.size(), m_drawn.folder.string()));
    if (!m_skipped.empty()) {
        std::string names;
        for (std::size_t i = 0; i < std::min(kNamed, m_skipped.size()); ++i)
            names += fmt::format("{}{} ({})", i == 0 ? "" : ", ", m_skipped[i].path,
                                 m_skipped[i].reason);
        context.warn("W-SKIPPED", fmt::format("{} of {} images cannot be read and are left out: "
                                              "{}{}",
                                              m_skipped.size(), m_drawn.images.size(), names,
                                              m_skipped.size() > kNamed ? ", …" : ""));
    }
    m_isSettled = true;
    log("mc_embedding")
        .info("The study has {} images from {}.", m_usable.images.size(), m_usable.folder.string());
}

std::vector<std::string> ImageSource::keys() const
{
    std::vector<std::string> keys;
    for (const StudyImage& image : m_usable.images)
        keys.push_back(fmt::format("{:.16}:{:08x}", image.sha256, image.maskId));
    return keys;
}

Tensor ImageSource::pixels(Stream& stream, const std::shared_ptr<Device>& device, std::size_t first,
                           std::size_t count) const
{
    std::vector<std::uint8_t> bytes(count * pixelBytes());
    copyPixels(first, count, bytes.data());
    const auto [type, shape] = pixelLayout(count);
    const Tensor pixels = Tensor::empty(device, shape, type);
    stream.copy(pixels.data(), bytes.data(), bytes.size());
    return pixels;
}

std::size_t ImageSource::pixelBytes() const
{
    expects(m_current != nullptr, "pixelBytes: open a cache first");
    return mc_embedding::pixelBytes(1, m_current->side(), m_current->preprocess().stored);
}

void ImageSource::copyPixels(std::size_t first, std::size_t count, std::uint8_t* target) const
{
    expects(m_current != nullptr && first + count <= m_places.size(),
            "pixels: open a cache first, and ask for images of the study");
    const std::size_t each = pixelBytes();
    for (std::size_t i = 0; i < count; ++i)
        std::memcpy(target + i * each, m_current->pixels(m_places[first + i]).data(), each);
}

std::pair<DType, Shape> ImageSource::pixelLayout(std::size_t count) const
{
    const auto n = static_cast<Index>(count);
    const Index side = m_current->side();
    switch (m_current->preprocess().stored) {
    case PixelType::F16:
        return {DType::F16, {n, 3, side, side}};
    case PixelType::F32:
        return {DType::F32, {n, 3, side, side}};
    default:
        return {DType::U8, {n, side, side, 3}};
    }
}

std::vector<std::uint32_t> ImageSource::maskIds(std::size_t first, std::size_t count) const
{
    std::vector<std::uint32_t> ids;
    for (std::size_t i = first; i < first + count; ++i)
        ids.push_back(m_usable.images[i].maskId);
    return ids;
}

Image ImageSource::thumbnail(std::size_t index) const
{
    if (m_clean == nullptr || index >= m_places.size())
        return {};
    return pictureOf(m_clean->pixels(m_places[index]), m_clean->preprocess());
}

} // namespace vergence::mc_embedding
