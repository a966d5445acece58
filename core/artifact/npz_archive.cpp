#include "core/artifact/npz_archive.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <regex>
#include <string_view>

#include <zip.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/artifact/npy.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/compute/half.h"

namespace vergence {

namespace {

constexpr char32_t kReplacement = 0xFFFD;

struct DiscardArchive {
    void operator()(zip_t* archive) const { zip_discard(archive); }
};
struct CloseEntry {
    void operator()(zip_file_t* file) const { zip_fclose(file); }
};
using OpenZip = std::unique_ptr<zip_t, DiscardArchive>;

/// Code points of UTF-8; what is malformed becomes U+FFFD, because paths may hold any bytes.
std::u32string codePoints(std::string_view text)
{
    std::u32string points;
    for (std::size_t i = 0; i < text.size();) {
        const auto lead = static_cast<unsigned char>(text[i++]);
        const int more = lead < 0x80 ? 0 : lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
        char32_t point = more == 0 ? lead : lead & (0x3Fu >> more);
        bool isGood = lead < 0x80 || (lead >= 0xC2 && lead <= 0xF4);
        for (int k = 0; k < more && isGood; ++k) {
            isGood = i < text.size() && (static_cast<unsigned char>(text[i]) & 0xC0) == 0x80;
            if (isGood)
                point = point << 6 | (static_cast<unsigned char>(text[i++]) & 0x3Fu);
        }
        points += isGood ? point : kReplacement;
    }
    return points;
}

void appendUtf8(std::string& text, char32_t point)
{
    if (point > 0x10FFFF || (point >= 0xD800 && point < 0xE000))
        point = kReplacement;
    const auto tail = [&](int shift) { text += static_cast<char>(0x80 | (point >> shift & 0x3F)); };
    if (point < 0x80) {
        text += static_cast<char>(point);
    } else if (point < 0x800) {
        text += static_cast<char>(0xC0 | point >> 6);
        tail(0);
    } else if (point < 0x10000) {
        text += static_cast<char>(0xE0 | point >> 12);
        tail(6), tail(0);
    } else {
        text += static_cast<char>(0xF0 | point >> 18);
        tail(12), tail(6), tail(0);
    }
}

/// Product of extents, nothing where one is negative or the product leaves 64 bits.
std::optional<std::uint64_t> countOf(const std::vector<std::int64_t>& shape)
{
    std::uint64_t count = 1;
    for (const std::int64_t extent : shape)
        if (extent < 0 || __builtin_mul_overflow(count, static_cast<std::uint64_t>(extent), &count))
            return std::nullopt;
    return count;
}

/// One array of an archive: what its header says, and its data.
struct Entry {
    std::string descr;     ///< "<f8", "<U12"
    std::size_t width = 0; ///< bytes of one item
    std::vector<std::int64_t> shape;
    std::string data;
};

/// Bytes of an item of `descr`; 0 where the type is not one we read.
std::size_t itemWidth(const std::string& descr)
{
    static const std::map<std::string, std::size_t> kNumbers{
        {"<f8", 8}, {"<f4", 4}, {"<f2", 2}, {"<i8", 8}, {"<i4", 4}, {"|u1", 1}, {"|b1", 1}};
    if (const auto found = kNumbers.find(descr); found != kNumbers.end())
        return found->second;
    static const std::regex text("<U([0-9]{1,7})");
    std::smatch length;
    return std::regex_match(descr, length, text) ? 4 * std::stoul(length[1]) : 0;
}

/// Source: numpy.lib.format, versions 1.0 to 3.0.
Entry parseEntry(std::string bytes, const std::string& source)
{
    const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(bytes[at]); };
    if (bytes.size() < 12 || std::memcmp(bytes.data(), "\x93NUMPY", 6) != 0 || byte(6) < 1 ||
        byte(6) > 3)
        throw InputError(source + " is not an NPY array of version 1 to 3.");
    const std::size_t prefix = byte(6) == 1 ? 10 : 12;
    std::size_t length = byte(8) + 256u * byte(9);
    if (byte(6) > 1)
        length += 65536u * byte(10) + 16777216u * byte(11);
    if (bytes.size() - prefix < length)
        throw InputError(source + " ends inside its header.");
    const std::string header = bytes.substr(prefix, length);
    static const std::regex descr("'descr': '([^']*)'"), shape("'shape': \\(([0-9, ]*)\\)"),
        number("[0-9]{1,18}");
    std::smatch found;
    Entry entry;
    if (std::regex_search(header, found, descr))
        entry.descr = found[1];
    entry.width = itemWidth(entry.descr);
    if (entry.width == 0)
        throw InputError(fmt::format("{} holds values of type `{}`; readable are <f8, <f4, <f2, "
                                     "<i8, <i4, |u1, |b1 and <U. Convert it with numpy.",
                                     source, entry.descr));
    if (header.find("'fortran_order': False") == std::string::npos)
        throw InputError(source + " is in Fortran order. Save it with numpy.ascontiguousarray.");
    if (!std::regex_search(header, found, shape))
        throw InputError(source + " has no readable shape.");
    const std::string list = found[1];
    for (std::sregex_iterator it(list.begin(), list.end(), number), end; it != end; ++it)
        entry.shape.push_back(std::stoll(it->str()));
    const auto count = countOf(entry.shape);
    std::uint64_t expected = 0;
    const std::size_t held = bytes.size() - prefix - length;
    if (!count || __builtin_mul_overflow(*count, entry.width, &expected) || held != expected)
        throw InputError(fmt::format("{} holds {} bytes of data, which its shape ({}) of {} does "
                                     "not need. The file is damaged.",
                                     source, held, fmt::join(entry.shape, ", "), entry.descr));
    bytes.erase(0, prefix + length);
    entry.data = std::move(bytes);
    return entry;
}

template <class Value>
std::vector<double> asDoubles(const std::string& data)
{
    std::vector<double> numbers(data.size() / sizeof(Value));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        Value value;
        std::memcpy(&value, data.data() + i * sizeof(Value), sizeof(Value));
        numbers[i] = static_cast<double>(value);
    }
    return numbers;
}

} // namespace

struct NpzWriter::Impl {
    std::filesystem::path path;
    std::vector<std::pair<std::string, std::string>> entries; ///< name, bytes of the NPY
    bool isCommitted = false;

    template <class Value>
    void add(const std::string& name, const std::string& descr, std::span<const Value> values,
             const Extents& shape)
    {
        expects(countOf(shape) == values.size(),
                "NpzWriter: value count of `" + name + "` differs from its shape");
        std::string bytes = npyHeader(shape, descr);
        bytes.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
        addBytes(name, std::move(bytes));
    }
    void addBytes(const std::string& name, std::string bytes)
    {
        expects(!name.empty() && !isCommitted, "NpzWriter: arrays have names and precede commit()");
        for (const auto& [other, held] : entries)
            expects(other != name, "NpzWriter: `" + name + "` is there twice");
        entries.emplace_back(name, std::move(bytes));
    }
};

NpzWriter::NpzWriter(std::filesystem::path path) : m_impl(std::make_unique<Impl>())
{
    m_impl->path = std::move(path);
}
NpzWriter::~NpzWriter() = default;

void NpzWriter::add(const std::string& name, std::span<const double> values, const Extents& shape)
{
    m_impl->add(name, "<f8", values, shape);
}

void NpzWriter::add(const std::string& name, std::span<const float> values, const Extents& shape)
{
    m_impl->add(name, "<f4", values, shape);
}

void NpzWriter::add(const std::string& name, std::span<const std::int64_t> values,
                    const Extents& shape)
{
    m_impl->add(name, "<i8", values, shape);
}

void NpzWriter::add(const std::string& name, const std::vector<std::string>& values)
{
    std::vector<std::u32string> texts;
    std::size_t longest = 1; // numpy reads no strings of length 0 from files
    for (const std::string& value : values) {
        texts.push_back(codePoints(value));
        longest = std::max(longest, texts.back().size());
    }
    std::u32string block;
    for (std::u32string& text : texts)
        block += text.append(longest - text.size(), U'\0');
    std::string bytes =
        npyHeader({static_cast<std::int64_t>(values.size())}, fmt::format("<U{}", longest));
    bytes.append(reinterpret_cast<const char*>(block.data()), block.size() * sizeof(char32_t));
    m_impl->addBytes(name, std::move(bytes));
}

void NpzWriter::commit()
{
    expects(!m_impl->isCommitted && !m_impl->entries.empty(), "NpzWriter: nothing to commit");
    const std::string target = m_impl->path.string();
    AtomicFile file(m_impl->path);
    int code = 0;
    OpenZip zip(zip_open(file.temporaryPath().c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code));
    if (!zip)
        throw OutputError("Cannot create " + target + ". Check the folder and its rights.");
    const auto require = [&](bool isDone) {
        if (!isDone)
            throw OutputError(fmt::format("Cannot write {}: {}.", target, zip_strerror(zip.get())));
    };
    constexpr zip_uint16_t kMidnight = 0, kFirstDay = 1 << 5 | 1; // 1980-01-01: equal bytes
    for (const auto& [name, bytes] : m_impl->entries) {
        zip_source_t* source = zip_source_buffer(zip.get(), bytes.data(), bytes.size(), 0);
        require(source != nullptr);
        const zip_int64_t index =
            zip_file_add(zip.get(), (name + ".npy").c_str(), source, ZIP_FL_ENC_UTF_8);
        require(index >= 0);
        const auto at = static_cast<zip_uint64_t>(index);
        require(zip_set_file_compression(zip.get(), at, ZIP_CM_DEFLATE, 1) == 0);
        require(zip_file_set_dostime(zip.get(), at, kMidnight, kFirstDay, 0) == 0);
    }
    require(zip_close(zip.get()) == 0);
    zip.release();
    file.commit();
    m_impl->isCommitted = true;
}

struct NpzArchive::Impl {
    std::filesystem::path path;
    OpenZip zip;
    std::vector<std::string> names;

    std::string read(const std::string& name) const
    {
        const std::string source = fmt::format("Array `{}` of {}", name, path.string());
        zip_stat_t stat;
        const zip_int64_t index = zip_name_locate(zip.get(), (name + ".npy").c_str(), 0);
        if (index < 0 || zip_stat_index(zip.get(), static_cast<zip_uint64_t>(index), 0, &stat) != 0)
            throw InputError(
                fmt::format("{} does not exist; there are {}.", source, fmt::join(names, ", ")));
        // Deflate never expands more than about 1,032 times; anything beyond is a lie about memory.
        if (stat.size / 1100 > stat.comp_size)
            throw InputError(source + " claims an impossible size. The file is damaged.");
        const std::unique_ptr<zip_file_t, CloseEntry> file(
            zip_fopen_index(zip.get(), static_cast<zip_uint64_t>(index), 0));
        std::string bytes(stat.size, '\0');
        char beyond = 0; // reading to the end makes libzip compare the checksum
        if (!file ||
            zip_fread(file.get(), bytes.data(), bytes.size()) !=
                static_cast<zip_int64_t>(bytes.size()) ||
            zip_fread(file.get(), &beyond, 1) != 0)
            throw InputError(source + " is damaged or packed in a way that cannot be read.");
        return bytes;
    }
    Entry entry(const std::string& name) const
    {
        return parseEntry(read(name), fmt::format("Array `{}` of {}", name, path.string()));
    }
};

NpzArchive::NpzArchive(const std::filesystem::path& path) : m_impl(std::make_unique<Impl>())
{
    m_impl->path = path;
    int code = 0;
    // Without the strict check of the bundles: numpy's local headers carry 64-bit sizes that the
    // directory does not repeat.
    m_impl->zip.reset(zip_open(path.c_str(), ZIP_RDONLY, &code));
    if (!m_impl->zip)
        throw InputError(path.string() + " is not a readable NPZ file. Check that it is complete.");
    const zip_int64_t count = zip_get_num_entries(m_impl->zip.get(), 0);
    for (zip_int64_t i = 0; i < count; ++i) {
        const char* name = zip_get_name(m_impl->zip.get(), static_cast<zip_uint64_t>(i), 0);
        const std::string_view text(name ? name : "");
        if (text.ends_with(".npy"))
            m_impl->names.emplace_back(text.substr(0, text.size() - 4));
    }
}
NpzArchive::~NpzArchive() = default;

std::vector<std::string> NpzArchive::names() const
{
    return m_impl->names;
}

bool NpzArchive::has(const std::string& name) const
{
    return std::find(m_impl->names.begin(), m_impl->names.end(), name) != m_impl->names.end();
}

std::vector<std::int64_t> NpzArchive::shape(const std::string& name) const
{
    return m_impl->entry(name).shape;
}

std::vector<double> NpzArchive::numbers(const std::string& name) const
{
    const Entry entry = m_impl->entry(name);
    if (entry.descr == "<f8")
        return asDoubles<double>(entry.data);
    if (entry.descr == "<f4")
        return asDoubles<float>(entry.data);
    if (entry.descr == "<f2")
        return asDoubles<Float16>(entry.data);
    if (entry.descr == "<i8")
        return asDoubles<std::int64_t>(entry.data);
    if (entry.descr == "<i4")
        return asDoubles<std::int32_t>(entry.data);
    if (entry.width == 1)
        return asDoubles<std::uint8_t>(entry.data);
    throw InputError(
        fmt::format("Array `{}` of {} holds texts, not numbers.", name, m_impl->path.string()));
}

std::vector<std::string> NpzArchive::texts(const std::string& name) const
{
    const Entry entry = m_impl->entry(name);
    if (!entry.descr.starts_with("<U"))
        throw InputError(fmt::format("Array `{}` of {} holds numbers ({}), not texts.", name,
                                     m_impl->path.string(), entry.descr));
    std::vector<std::string> texts(*countOf(entry.shape));
    for (std::size_t i = 0; i < texts.size(); ++i) {
        std::u32string points(entry.width / sizeof(char32_t), U'\0');
        std::memcpy(points.data(), entry.data.data() + i * entry.width, entry.width);
        points.resize(points.find_last_not_of(U'\0') + 1); // numpy pads with NUL
        for (const char32_t point : points)
            appendUtf8(texts[i], point);
    }
    return texts;
}

} // namespace vergence
