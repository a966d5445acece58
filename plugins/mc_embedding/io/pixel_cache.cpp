#include "plugins/mc_embedding/io/pixel_cache.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <map>
#include <optional>
#include <thread>

#include <sys/stat.h>

#include <fmt/format.h>

#include "core/artifact/artifact_store.h"
#include "core/artifact/digest.h"
#include "core/base/crc32c.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "plugins/mc_embedding/io/cache_file.h"
#include "plugins/mc_embedding/io/decode_pool.h"
#include "plugins/mc_embedding/io/writer_lock.h"

namespace vergence::mc_embedding {

namespace fs = std::filesystem;

PixelCache::~PixelCache() = default;

namespace {

using Sha256 = std::array<std::uint8_t, 32>;

Sha256 bytesOfHex(const std::string& hex)
{
    Sha256 bytes{};
    for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<std::uint8_t>(std::stoul(hex.substr(i * 2, 2), nullptr, 16));
    return bytes;
}

/// How pixels are made, beyond the preprocessing.
struct Making {
    Preprocess how;
    std::string degradation;
    std::uint64_t seed = 0;
    bool idsFromIndex = false;
};

CacheLayout layoutFor(const ImageSet& set, const Making& making)
{
    Digest digest;
    digest.add(fs::weakly_canonical(set.folder).generic_string());
    for (const StudyImage& image : set.images)
        digest.add(fmt::format("\n{}\t{}", image.path, image.label));
    CacheLayout layout;
    layout.set = digest.hex();
    layout.count = set.images.size();
    layout.side = making.how.size;
    layout.type = making.how.stored;
    std::string text = making.how.fingerprint() + "\n" + making.degradation;
    if (making.degradation.starts_with("occlude")) { // the only one that draws, by mask id
        text += fmt::format("\nseed {}", making.seed);
        if (making.idsFromIndex)
            text += "\n" + layout.set;
    }
    layout.fingerprint = sha256Hex(text);
    return layout;
}

/// Records of other sets with the same fingerprint, by source.
class OtherCaches {
public:
    OtherCaches(const fs::path& folder, const CacheLayout& own)
    {
        std::error_code code;
        for (const auto& entry : fs::directory_iterator(folder, code)) {
            const std::string name = entry.path().filename().string();
            if (!name.ends_with(".mcpx") || name == own.fileName())
                continue;
            const CacheLayout layout = CacheFile::layoutOf(entry.path());
            if (layout.count > 0 && layout.fingerprint == own.fingerprint)
                m_files.emplace_back(entry.path(), layout);
        }
        for (const CacheFile& file : m_files) {
            for (std::size_t i = 0; i < file.layout().count; ++i) {
                const CacheEntry entry = file.entry(i);
                if (entry.status == RecordStatus::Pixels)
                    m_places.emplace(entry.sha256, std::pair(&file, i));
            }
        }
    }

    /// The entry and pixels of a source, where another file has them whole.
    std::optional<DecodedImage> find(const Sha256& sha256) const
    {
        const auto found = m_places.find(sha256);
        if (found == m_places.end())
            return std::nullopt;
        const auto [file, index] = found->second;
        DecodedImage image;
        image.entry = file->entry(index);
        const auto bytes = file->record(index);
        image.bytes.assign(bytes.begin(), bytes.end());
        // The copy is checked, because the other file may be written at this moment.
        if (image.entry.sha256 != sha256 || image.entry.status != RecordStatus::Pixels ||
            image.entry.recordCrc != crc32c(std::as_bytes(std::span(image.bytes))))
            return std::nullopt;
        return image;
    }

private:
    std::deque<CacheFile> m_files; // addresses stay
    std::map<Sha256, std::pair<const CacheFile*, std::size_t>> m_places;
};

class FilePixelCache final : public PixelCache {
public:
    FilePixelCache(const fs::path& folder, const ImageSet& set, const Making& making)
        : m_making(making),
          m_layout(layoutFor(set, making)),
          m_folder(folder),
          m_path(folder / m_layout.fileName()),
          m_ready(m_layout.count)
    {
        if (!isWhole())
            becomeWriter();
        m_file.emplace(m_path, m_layout);
    }

    void fill(ImageSet& set, std::stop_token stop,
              const std::function<void(std::size_t, std::size_t)>& progress) override;

    bool isComplete() const override
    {
        return std::all_of(m_ready.begin(), m_ready.end(),
                           [](const auto& ready) { return ready.load(); });
    }
    const std::vector<SkippedImage>& skipped() const override { return m_skipped; }
    std::size_t count() const override { return m_layout.count; }
    int side() const override { return m_layout.side; }
    const Preprocess& preprocess() const override { return m_making.how; }
    std::span<const std::uint8_t> pixels(std::size_t index) const override
    {
        expects(index < m_layout.count, "PixelCache: a picture of the set");
        return m_file->record(index);
    }
    bool isReady(std::size_t index) const override
    {
        expects(index < m_layout.count, "PixelCache: a picture of the set");
        return m_ready[index];
    }
    std::string sourceSha256(std::size_t index) const override
    {
        expects(isReady(index), "PixelCache: a settled picture");
        return hexOf(m_file->entry(index).sha256);
    }
    std::size_t decoded() const override { return m_decoded; }
    std::size_t reused() const override { return m_reused; }
    const fs::path& file() const override { return m_path; }

private:
    bool isWhole() const;
    void becomeWriter();
    /// Settles what needs no work and tells how many were; the others in the order of the set. Ends
    /// early where stopped.
    std::vector<std::size_t> unsettled(const ImageSet& set, const std::stop_token& stop,
                                       const std::function<void(std::size_t)>& tellReady);
    bool isUpToDate(const CacheEntry& entry, const fs::path& source) const;
    DecodedImage made(std::size_t index, const ImageSet& set, const OtherCaches& others);
    void makePixels(DecodedImage& image, const std::string& bytes, const fs::path& source);
    void settle(std::vector<std::size_t> left, const ImageSet& set, const std::stop_token& stop,
                const std::function<void(std::size_t)>& tellProgress);
    void commit(std::vector<DecodedImage>& batch);
    void tellSet(ImageSet& set);

    Making m_making;
    CacheLayout m_layout;
    fs::path m_folder, m_path;
    std::optional<WriterLock> m_lock; // before the writer, so that it outlives it
    std::optional<CacheWriter> m_writer;
    std::optional<CacheFile> m_file;
    std::vector<std::atomic<bool>> m_ready;
    std::vector<SkippedImage> m_skipped;
    std::atomic<std::size_t> m_decoded{0}, m_reused{0};
};

/// Whether every picture has an entry, so that nothing needs to be written unless sources changed.
bool FilePixelCache::isWhole() const
{
    if (!CacheFile::exists(m_path, m_layout))
        return false;
    const CacheFile file(m_path, m_layout);
    for (std::size_t i = 0; i < m_layout.count; ++i) {
        if (file.entry(i).status == RecordStatus::Empty)
            return false;
    }
    return true;
}

void FilePixelCache::becomeWriter()
{
    std::error_code code;
    fs::create_directories(m_folder, code);
    if (code)
        throw OutputError(fmt::format("Cannot make the folder {} of the pixel cache: {}.",
                                      m_folder.string(), code.message()));
    m_lock.emplace(m_path.string() + ".lock");
    if (!CacheFile::exists(m_path, m_layout))
        CacheFile::create(m_path, m_layout);
    m_writer.emplace(m_path, m_layout);
}

/// Length and time of last change as entries have them; 0 where the file cannot be reached.
std::pair<std::uint64_t, std::int64_t> stateOf(const fs::path& source)
{
    struct stat status {};
    if (::stat(source.c_str(), &status) != 0)
        return {0, 0};
    return {static_cast<std::uint64_t>(status.st_size),
            std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec};
}

bool FilePixelCache::isUpToDate(const CacheEntry& entry, const fs::path& source) const
{
    return entry.status != RecordStatus::Empty &&
           stateOf(source) == std::pair(entry.sourceBytes, entry.sourceTime);
}

std::vector<std::size_t>
FilePixelCache::unsettled(const ImageSet& set, const std::stop_token& stop,
                          const std::function<void(std::size_t)>& tellReady)
{
    std::vector<std::size_t> left;
    for (std::size_t i = 0; i < m_layout.count && !stop.stop_requested(); ++i) {
        tellReady(i - left.size());
        const CacheEntry entry = m_file->entry(i);
        const bool isGood = isUpToDate(entry, set.folder / set.images[i].path) &&
                            (m_ready[i] || m_file->isIntact(i, entry));
        m_ready[i] = isGood;
        if (!isGood)
            left.push_back(i);
    }
    return left;
}

DecodedImage FilePixelCache::made(std::size_t index, const ImageSet& set, const OtherCaches& others)
{
    const fs::path source = set.folder / set.images[index].path;
    DecodedImage image;
    image.index = index;
    const auto [size, time] = stateOf(source);
    try {
        const std::string bytes = readFile(source);
        const Sha256 sha256 = bytesOfHex(sha256Hex(bytes));
        const CacheEntry old = m_file->entry(index);
        if (old.sha256 == sha256 && m_file->isIntact(index, old)) {
            image.entry = old; // touched, not changed
        } else if (auto found = others.find(sha256)) {
            image = std::move(*found);
            image.index = index;
            ++m_reused;
        } else {
            image.entry.sha256 = sha256;
            makePixels(image, bytes, source);
        }
    } catch (const Error& error) {
        const std::string reason = error.what();
        image.bytes.assign(reason.begin(), reason.end());
        image.bytes.resize(std::min(image.bytes.size(), m_layout.recordBytes()));
        image.entry.status = RecordStatus::Skipped;
        image.entry.width = static_cast<std::uint32_t>(image.bytes.size());
        image.entry.recordCrc = crc32c(std::as_bytes(std::span(image.bytes)));
    }
    image.entry.sourceBytes = size;
    image.entry.sourceTime = time;
    return image;
}

void FilePixelCache::makePixels(DecodedImage& image, const std::string& bytes,
                                const fs::path& source)
{
    ++m_decoded;
    const Image picture = decodeRgb(bytes, source, m_making.how.rotatesByExif);
    const std::uint32_t maskId = m_making.idsFromIndex ? static_cast<std::uint32_t>(image.index)
                                                       : maskIdOf(hexOf(image.entry.sha256));
    image.bytes = storedPixels(
        preprocessed(degraded(picture, m_making.degradation, m_making.seed, maskId), m_making.how),
        m_making.how);
    image.entry.width = static_cast<std::uint32_t>(picture.width);
    image.entry.height = static_cast<std::uint32_t>(picture.height);
    image.entry.status = RecordStatus::Pixels;
    image.entry.recordCrc = crc32c(std::as_bytes(std::span(image.bytes)));
}

void FilePixelCache::commit(std::vector<DecodedImage>& batch)
{
    // Records are on the disk before an entry says that they are.
    m_writer->flush();
    for (const DecodedImage& image : batch)
        m_writer->writeEntry(image.index, image.entry);
    m_writer->flush();
    for (const DecodedImage& image : batch)
        m_ready[image.index] = true;
    batch.clear();
}

void FilePixelCache::fill(ImageSet& set, std::stop_token stop,
                          const std::function<void(std::size_t, std::size_t)>& progress)
{
    expects(set.images.size() == m_layout.count, "PixelCache: the set that it was opened for");
    const auto tellReady = [&](std::size_t ready) {
        if (progress)
            progress(ready, m_layout.count);
    };
    std::vector<std::size_t> left = unsettled(set, stop, tellReady);
    if (stop.stop_requested())
        return;
    if (!left.empty() && !m_writer) {
        becomeWriter();
        left = unsettled(set, stop, tellReady); // another writer may just have ended
    }
    std::size_t done = m_layout.count - left.size();
    const auto tellProgress = [&](std::size_t more) { tellReady(done += more); };
    tellProgress(0);
    if (!left.empty())
        settle(std::move(left), set, stop, tellProgress);
    tellSet(set);
    if (isComplete()) {
        m_writer.reset();
        m_lock.reset();
    }
}

void FilePixelCache::settle(std::vector<std::size_t> left, const ImageSet& set,
                            const std::stop_token& stop,
                            const std::function<void(std::size_t)>& tellProgress)
{
    constexpr std::size_t kBatch = 32;
    constexpr std::chrono::milliseconds kLongest{500};
    const std::vector<std::string> labels = set.labels();
    const OtherCaches others(m_folder, m_layout);
    const int workers = std::max(1, static_cast<int>(std::thread::hardware_concurrency()) - 1);
    DecodePool pool(
        std::move(left), [&](std::size_t index) { return made(index, set, others); }, workers,
        static_cast<std::size_t>(workers) * 2);
    std::vector<DecodedImage> batch;
    auto last = std::chrono::steady_clock::now();
    while (auto image = pool.next()) {
        if (stop.stop_requested())
            pool.stop();
        const auto label = std::find(labels.begin(), labels.end(), set.images[image->index].label);
        image->entry.label = static_cast<std::uint32_t>(label - labels.begin());
        if (!image->bytes.empty())
            m_writer->writeRecord(image->index, image->bytes);
        image->bytes = {};
        batch.push_back(std::move(*image));
        const auto now = std::chrono::steady_clock::now();
        if (batch.size() >= kBatch || now - last >= kLongest) {
            commit(batch);
            last = now;
        }
        tellProgress(1);
    }
    commit(batch);
}

void FilePixelCache::tellSet(ImageSet& set)
{
    m_skipped.clear();
    for (std::size_t i = 0; i < m_layout.count; ++i) {
        if (!m_ready[i])
            continue;
        const CacheEntry entry = m_file->entry(i);
        StudyImage& image = set.images[i];
        image.sha256 = hexOf(entry.sha256);
        if (!set.idsFromIndex)
            image.maskId = image.sha256.empty() ? 0 : maskIdOf(image.sha256);
        if (entry.status == RecordStatus::Skipped)
            m_skipped.push_back({i, image.path, m_file->reason(i, entry)});
    }
}

} // namespace

std::unique_ptr<PixelCache> PixelCache::open(const fs::path& folder, ImageSet& set,
                                             const Preprocess& how, const std::string& degradation,
                                             std::uint64_t seed)
{
    expects(!set.images.empty(), "PixelCache: a set with images");
    expects(how.size > 0, "PixelCache: pictures of 1 px or more");
    expects(isDegradation(degradation), "PixelCache: a known degradation");
    return std::make_unique<FilePixelCache>(folder, set,
                                            Making{how, degradation, seed, set.idsFromIndex});
}

} // namespace vergence::mc_embedding
