#include "plugins/sugar/spatial/neighbour_cache.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "core/artifact/digest.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "plugins/sugar/spatial/neighbour_search.h"

namespace vergence::sugar {

namespace {

namespace fs = std::filesystem;

/// Goes up with every change of what the search finds or of how files look.
constexpr int kVersion = 1;
constexpr const char* kPrefix = "neighbours-";
constexpr std::size_t kChecksumBytes = 64; ///< hexadecimal digits

template <class T>
std::string_view bytesOf(std::span<T> values)
{
    return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

std::string checksumOf(std::string_view bytes)
{
    Digest digest;
    digest.add(bytes);
    return digest.hex();
}

std::span<std::uint32_t> rowsOf(NeighbourTable& table, Index first, Index last)
{
    const auto width = static_cast<std::size_t>(table.k);
    return std::span(table.index)
        .subspan(static_cast<std::size_t>(first) * width,
                 static_cast<std::size_t>(last - first) * width);
}

/// False where the file is missing or not what was written.
bool readBatch(const fs::path& file, std::span<std::uint32_t> rows)
{
    std::error_code code;
    if (fs::file_size(file, code) != kChecksumBytes + rows.size_bytes() || code)
        return false;
    const std::string content = readFile(file);
    const auto values = std::string_view(content).substr(kChecksumBytes);
    if (values.size() != rows.size_bytes() ||
        content.compare(0, kChecksumBytes, checksumOf(values)) != 0)
        return false;
    std::memcpy(rows.data(), values.data(), values.size());
    return true;
}

void writeBatch(const fs::path& file, std::span<const std::uint32_t> rows)
{
    const std::string_view values = bytesOf(rows);
    std::string content = checksumOf(values);
    content.append(values);
    writeFileAtomic(file, content);
}

void makeFolder(const fs::path& folder)
{
    std::error_code code;
    fs::create_directories(folder, code);
    if (code)
        throw OutputError(fmt::format("Cannot create {}: {}.", folder.string(), code.message()));
}

/// Marks the table as the one used last and deletes the oldest of too many.
void keepNewest(const fs::path& folder, const fs::path& used)
{
    std::error_code code; // another run may tidy up at the same time
    fs::last_write_time(used, fs::file_time_type::clock::now(), code);
    std::vector<std::pair<fs::file_time_type, fs::path>> tables;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, code)) {
        if (entry.path().filename().string().starts_with(kPrefix))
            tables.emplace_back(entry.last_write_time(code), entry.path());
    }
    std::sort(tables.rbegin(), tables.rend());
    for (std::size_t i = kKeptTables; i < tables.size(); ++i)
        fs::remove_all(tables[i].second, code);
}

} // namespace

fs::path neighbourFolder(const fs::path& folder, std::span<const float> position, int k)
{
    Digest digest;
    digest.add(bytesOf(position));
    digest.add(fmt::format(" {} {}", k, kVersion));
    return folder / (kPrefix + digest.hex().substr(0, 32));
}

NeighbourTable cachedNeighbours(const fs::path& folder, std::span<const float> position, int k,
                                const std::function<bool()>& stop)
{
    expects(k >= 1, "cachedNeighbours: at least one neighbour, the point itself, must be wanted");
    const fs::path own = neighbourFolder(folder, position, k);
    makeFolder(own);
    NeighbourTable table = emptyTable(static_cast<Index>(position.size() / 3), k);
    std::optional<PointTree<float>> tree; // for the first batch that is missing
    for (Index first = 0; first < table.count; first += kTableBatch) {
        const Index last = std::min(table.count, first + kTableBatch);
        const fs::path file = own / fmt::format("{:05}", first / kTableBatch);
        const std::span<std::uint32_t> rows = rowsOf(table, first, last);
        if (readBatch(file, rows))
            continue;
        if (!tree)
            tree.emplace(position);
        if (!searchRows(*tree, position, first, last, stop, table))
            return {};
        writeBatch(file, rows);
    }
    keepNewest(folder, own);
    return table;
}

} // namespace vergence::sugar
