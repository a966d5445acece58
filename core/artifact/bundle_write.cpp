#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <string_view>
#include <system_error>

#include <sys/stat.h>

#include <fmt/format.h>

#include "core/artifact/bundle.h"
#include "core/artifact/bundle_content.h"
#include "core/artifact/output_file.h"
#include "core/artifact/zip_archive.h"
#include "core/base/error.h"
#include "core/base/file.h"

namespace vergence {

namespace {

/// Reports progress over both halves of the work, reading and writing, as bytes of the total.
class Progress {
public:
    Progress(const BundleOptions& options, std::uint64_t total) : m_options(options), m_total(total)
    {
    }

    bool isCancelled() const { return m_options.cancelled && m_options.cancelled->load(); }
    /// A quarter of the time goes into hashing.
    bool hashed(std::uint64_t bytes) const { return report(static_cast<double>(bytes) / 4); }
    /// What will be written; libzip counts in entries, people wait for bytes.
    void plan(const std::vector<BundleEntry>& entries)
    {
        m_before = {0};
        for (const BundleEntry& entry : entries)
            m_before.push_back(m_before.back() + static_cast<double>(entry.bytes));
    }
    bool written(double fraction) const
    {
        const auto count = static_cast<double>(m_before.size() - 1);
        const double at = std::clamp(fraction, 0.0, 1.0) * count;
        const auto index = static_cast<std::size_t>(std::min(at, count - 1));
        const double bytes =
            std::lerp(m_before[index], m_before[index + 1], at - static_cast<double>(index));
        return report(static_cast<double>(m_total) *
                      (0.25 + 0.75 * bytes / std::max(1.0, m_before.back())));
    }
    void finished() const { report(static_cast<double>(m_total)); }

private:
    bool report(double bytes) const
    {
        if (m_options.progress)
            m_options.progress(std::min(static_cast<std::uint64_t>(bytes), m_total), m_total);
        return !isCancelled();
    }

    const BundleOptions& m_options;
    std::uint64_t m_total;
    std::vector<double> m_before; ///< bytes before each entry; last: all of them
};

struct DosTime {
    zip_uint16_t time = 0, date = 0;
};

/// Time as ZIP files spell it, always UTC, so that the bytes do not depend on the time zone. The
/// format starts in 1980.
DosTime dosTime(std::time_t seconds)
{
    if (const char* epoch = std::getenv("SOURCE_DATE_EPOCH"); epoch && epoch[0] != '\0')
        seconds = static_cast<std::time_t>(std::strtoll(epoch, nullptr, 10));
    constexpr std::time_t k1980 = 315532800, k2107 = 4354819198;
    seconds = std::clamp(seconds, k1980, k2107);
    std::tm t{};
    gmtime_r(&seconds, &t);
    return {static_cast<zip_uint16_t>(t.tm_hour << 11 | t.tm_min << 5 | t.tm_sec / 2),
            static_cast<zip_uint16_t>((t.tm_year - 80) << 9 | (t.tm_mon + 1) << 5 | t.tm_mday)};
}

bool isCompressed(std::string_view path)
{
    for (const std::string_view suffix : {".png", ".gif", ".jpg", ".jpeg"}) {
        if (path.ends_with(suffix))
            return true;
    }
    return false;
}

void addEntry(ZipArchive& zip, const BundleEntry& entry)
{
    zip_source_t* source =
        entry.file.empty()
            ? zip_source_buffer(zip.handle(), entry.text.data(), entry.text.size(), 0)
            : zip_source_file(zip.handle(), entry.file.c_str(), 0,
                              static_cast<zip_int64_t>(entry.bytes));
    const zip_int64_t index =
        source ? zip_file_add(zip.handle(), entry.path.c_str(), source, ZIP_FL_ENC_UTF_8) : -1;
    if (index < 0) {
        if (source)
            zip_source_free(source);
        throw OutputError(fmt::format("Cannot add {} to the ZIP: {}.", entry.path, zip.reason()));
    }
    const auto at = static_cast<zip_uint64_t>(index);
    const DosTime time = dosTime(entry.time);
    const bool good =
        zip_set_file_compression(
            zip.handle(), at, isCompressed(entry.path) ? ZIP_CM_STORE : ZIP_CM_DEFLATE, 0) == 0 &&
        zip_file_set_dostime(zip.handle(), at, time.time, time.date, 0) == 0 &&
        zip_file_set_external_attributes(zip.handle(), at, 0, ZIP_OPSYS_UNIX,
                                         (S_IFREG | 0644u) << 16) == 0;
    if (!good)
        throw OutputError(fmt::format("Cannot add {} to the ZIP: {}.", entry.path, zip.reason()));
}

/// A live run may have replaced a large file between hashing and packing; the hash would then be
/// wrong.
void expectUnchanged(const std::vector<BundleEntry>& entries)
{
    for (const BundleEntry& entry : entries) {
        struct stat facts {};
        if (!entry.file.empty() &&
            (::stat(entry.file.c_str(), &facts) != 0 || facts.st_ino != entry.inode ||
             static_cast<std::uint64_t>(facts.st_size) < entry.bytes))
            throw OutputError(
                fmt::format("The run changed {} while it was exported; export again.", entry.path));
    }
}

void onProgress(zip_t*, double fraction, void* state)
{
    static_cast<const Progress*>(state)->written(fraction);
}

int onCancelQuery(zip_t*, void* state)
{
    return static_cast<const Progress*>(state)->isCancelled() ? 1 : 0;
}

/// False when cancelled.
bool pack(const std::vector<BundleEntry>& entries, const std::filesystem::path& path,
          const std::filesystem::path& target, Progress& progress)
{
    ZipArchive zip = ZipArchive::create(path);
    for (const BundleEntry& entry : entries)
        addEntry(zip, entry);
    zip_register_progress_callback_with_state(zip.handle(), 0.002, onProgress, nullptr, &progress);
    zip_register_cancel_callback_with_state(zip.handle(), onCancelQuery, nullptr, &progress);
    if (zip.close())
        return true;
    zip_error_t* error = zip_get_error(zip.handle());
    if (zip_error_code_zip(error) == ZIP_ER_CANCELLED)
        return false;
    if (zip_error_system_type(error) == ZIP_ET_SYS && zip_error_code_system(error) != 0)
        throwCannotWrite(target, zip_error_code_system(error));
    throw OutputError(fmt::format("Cannot write the ZIP {}: {}.", target.string(), zip.reason()));
}

} // namespace

bool writeBundle(const RunFolder& folder, const std::filesystem::path& target,
                 const BundleOptions& options)
{
    Progress progress(options, bundleBytes(folder, options));
    const auto entries =
        gatherBundle(folder, options, [&](std::uint64_t bytes) { return progress.hashed(bytes); });
    if (entries.empty() || progress.isCancelled())
        return false;
    progress.plan(entries);
    AtomicFile file(target);
    if (!pack(entries, file.temporaryPath(), target, progress))
        return false;
    expectUnchanged(entries);
    if (progress.isCancelled())
        return false;
    file.commit();
    progress.finished();
    return true;
}

} // namespace vergence
