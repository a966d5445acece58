#include <cstring>
#include <memory>
#include <regex>

#include <zip.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/artifact/npy.h"
#include "core/base/error.h"
#include "core/base/file.h"

namespace vergence {

namespace {

constexpr char kMagic[] = "\x93NUMPY\x01"; // with the terminating 0: version 1.0

std::size_t countOf(const std::vector<std::int64_t>& shape)
{
    std::size_t count = 1;
    for (const std::int64_t extent : shape)
        count *= static_cast<std::size_t>(extent);
    return count;
}

NpyArray parseNpy(const std::string& bytes, const std::string& source)
{
    constexpr std::size_t kPrefix = 10;
    if (bytes.size() < kPrefix || std::memcmp(bytes.data(), kMagic, 8) != 0)
        throw InputError(source + " is not an NPY file of version 1.0.");
    const auto low = static_cast<unsigned char>(bytes[8]),
               high = static_cast<unsigned char>(bytes[9]);
    const std::size_t length = low + 256u * high;
    if (bytes.size() < kPrefix + length)
        throw InputError(source + " ends inside its header.");
    const std::string header = bytes.substr(kPrefix, length);
    if (header.find("'<f4'") == std::string::npos ||
        header.find("'fortran_order': False") == std::string::npos)
        throw InputError(source + " does not hold little-endian 32-bit floats in C order.");
    std::smatch extents;
    static const std::regex shapePattern("'shape': \\(([0-9, ]*)\\)");
    if (!std::regex_search(header, extents, shapePattern))
        throw InputError(source + " has no readable shape.");
    NpyArray array;
    static const std::regex number("[0-9]{1,15}");
    const std::string list = extents[1];
    for (std::sregex_iterator it(list.begin(), list.end(), number), end; it != end; ++it)
        array.shape.push_back(std::stoll(it->str()));
    const std::size_t expected = countOf(array.shape) * sizeof(float);
    if (bytes.size() - kPrefix - length != expected)
        throw InputError(fmt::format("{} holds {} bytes of data, its shape ({}) needs {}.", source,
                                     bytes.size() - kPrefix - length, fmt::join(array.shape, ", "),
                                     expected));
    array.values.resize(expected / sizeof(float));
    std::memcpy(array.values.data(), bytes.data() + kPrefix + length, expected);
    return array;
}

struct DiscardArchive {
    void operator()(zip_t* archive) const { zip_discard(archive); }
};

std::string firstEntry(const std::filesystem::path& path)
{
    int code = 0;
    const std::unique_ptr<zip_t, DiscardArchive> archive(zip_open(path.c_str(), ZIP_RDONLY, &code));
    zip_stat_t entry;
    if (!archive || zip_stat_index(archive.get(), 0, 0, &entry) != 0)
        throw InputError(path.string() + " is not a readable NPZ file.");
    std::string bytes(entry.size, '\0');
    zip_file_t* file = zip_fopen_index(archive.get(), 0, 0);
    const zip_int64_t read = file ? zip_fread(file, bytes.data(), bytes.size()) : -1;
    if (file)
        zip_fclose(file);
    if (read != static_cast<zip_int64_t>(bytes.size()))
        throw InputError(path.string() + " is damaged.");
    return bytes;
}

} // namespace

void writeNpz(const std::filesystem::path& path, const std::string& name,
              std::span<const float> values, const std::vector<std::int64_t>& shape)
{
    expects(values.size() == countOf(shape), "writeNpz: value count differs from the shape");
    std::string bytes = npyHeader(shape);
    bytes.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
    AtomicFile file(path);
    int code = 0;
    std::unique_ptr<zip_t, DiscardArchive> archive(
        zip_open(file.temporaryPath().c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code));
    if (!archive)
        throw OutputError("Cannot create " + path.string() + ".");
    zip_source_t* source = zip_source_buffer(archive.get(), bytes.data(), bytes.size(), 0);
    const zip_int64_t index =
        source ? zip_file_add(archive.get(), (name + ".npy").c_str(), source, ZIP_FL_ENC_UTF_8)
               : -1;
    if (index < 0)
        throw OutputError("Cannot write " + path.string() + ": " + zip_strerror(archive.get()) +
                          ".");
    zip_set_file_compression(archive.get(), static_cast<zip_uint64_t>(index), ZIP_CM_DEFLATE, 1);
    zip_file_set_mtime(archive.get(), static_cast<zip_uint64_t>(index), 315532800, 0);
    if (zip_close(archive.get()) != 0)
        throw OutputError("Cannot write " + path.string() + ": " + zip_strerror(archive.get()) +
                          ".");
    archive.release();
    file.commit();
}

NpyArray readNpy(const std::filesystem::path& path)
{
    const std::string bytes = path.extension() == ".npz" ? firstEntry(path) : readFile(path);
    return parseNpy(bytes, path.string());
}

} // namespace vergence
