#include "core/artifact/safetensors.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/artifact/output_file.h"
#include "core/artifact/safetensors_header.h"
#include "core/base/error.h"

namespace vergence {

namespace {

constexpr std::uint64_t kLengthBytes = 8,
                        kLongestHeader = 100'000'000; // the limit of the reference implementation

std::uint64_t headerLength(const std::byte* front, std::uint64_t fileBytes,
                           const std::string& source)
{
    std::uint64_t length = 0;
    for (int i = 7; i >= 0; --i)
        length = length << 8 | std::to_integer<std::uint64_t>(front[i]);
    if (length > fileBytes - kLengthBytes)
        failSafetensors(source,
                        fmt::format("its header is said to have {} bytes but the file has {}",
                                    length, fileBytes));
    if (length > kLongestHeader)
        failSafetensors(source, fmt::format("its header of {} bytes is longer than {}", length,
                                            kLongestHeader));
    return length;
}

void expectLongEnough(std::uint64_t fileBytes, const std::string& source)
{
    if (fileBytes < kLengthBytes)
        failSafetensors(source, fmt::format("{} bytes are too short for one", fileBytes));
}

/// `read(target, offset, count)` brings bytes of the data section.
template <class Read>
SafetensorsFile load(SafetensorsHeader header, const Read& read)
{
    SafetensorsFile file;
    file.metadata = std::move(header.metadata);
    for (SafetensorsEntry& entry : header.entries) {
        HostTensor tensor;
        tensor.name = std::move(entry.name);
        tensor.dtype = entry.dtype;
        tensor.shape = std::move(entry.shape);
        tensor.bytes.resize(entry.end - entry.begin);
        read(tensor.bytes.data(), entry.begin, tensor.bytes.size());
        file.tensors.push_back(std::move(tensor));
    }
    return file;
}

/// Larger elements first: every tensor then starts on a multiple of its element size without holes
/// between them.
std::vector<const HostTensor*> inFileOrder(const std::vector<HostTensor>& tensors)
{
    std::vector<const HostTensor*> order;
    std::set<std::string> names;
    for (const HostTensor& tensor : tensors) {
        expects(!tensor.name.empty() && tensor.name != "__metadata__",
                "writeSafetensors: a tensor has no usable name");
        expects(names.insert(tensor.name).second,
                "writeSafetensors: two tensors are called " + tensor.name);
        std::uint64_t bytes = sizeOf(tensor.dtype);
        for (const Index extent : tensor.shape) {
            expects(extent >= 0 &&
                        !__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes),
                    "writeSafetensors: shape of " + tensor.name);
        }
        expects(bytes == tensor.bytes.size(),
                "writeSafetensors: byte count of " + tensor.name + " differs from its shape");
        order.push_back(&tensor);
    }
    std::sort(order.begin(), order.end(), [](const HostTensor* a, const HostTensor* b) {
        const std::size_t sizeA = sizeOf(a->dtype), sizeB = sizeOf(b->dtype);
        return sizeA != sizeB ? sizeA > sizeB : a->name < b->name;
    });
    return order;
}

std::string headerText(const std::vector<const HostTensor*>& order,
                       const std::map<std::string, std::string>& metadata)
{
    nlohmann::json header = nlohmann::json::object();
    if (!metadata.empty())
        header["__metadata__"] = metadata;
    std::uint64_t at = 0;
    for (const HostTensor* tensor : order) {
        header[tensor->name] = {{"dtype", nameOf(tensor->dtype)},
                                {"shape", tensor->shape},
                                {"data_offsets", {at, at + tensor->bytes.size()}}};
        at += tensor->bytes.size();
    }
    std::string text = header.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    text.append((8 - text.size() % 8) % 8, ' ');
    return text;
}

} // namespace

void HostTensor::requireType(DType wanted) const
{
    if (dtype != wanted) {
        throw InputError(fmt::format("Tensor `{}` holds {} where {} is needed.", name,
                                     vergence::nameOf(dtype), vergence::nameOf(wanted)));
    }
}

const HostTensor* SafetensorsFile::find(const std::string& name) const
{
    const auto found = std::find_if(tensors.begin(), tensors.end(),
                                    [&](const HostTensor& t) { return t.name == name; });
    return found == tensors.end() ? nullptr : &*found;
}

SafetensorsLayout layOutSafetensors(std::span<const std::byte> file, const std::string& source)
{
    expectLongEnough(file.size(), source);
    const std::uint64_t length = headerLength(file.data(), file.size(), source);
    const std::string_view text(reinterpret_cast<const char*>(file.data()) + kLengthBytes, length);
    const auto data = file.subspan(kLengthBytes + length);
    return {parseSafetensorsHeader(text, data.size(), source), data};
}

SafetensorsFile parseSafetensors(std::span<const std::byte> bytes, const std::string& source)
{
    SafetensorsLayout layout = layOutSafetensors(bytes, source);
    return load(std::move(layout.header),
                [&](std::byte* target, std::uint64_t offset, std::size_t count) {
                    if (count > 0)
                        std::memcpy(target, layout.data.data() + offset, count);
                });
}

SafetensorsFile readSafetensors(const std::filesystem::path& path)
{
    const std::string source = path.string();
    std::error_code code;
    const std::uint64_t fileBytes = std::filesystem::file_size(path, code);
    std::ifstream stream(path, std::ios::binary);
    if (code || !stream)
        failSafetensors(source, code ? code.message() : std::strerror(errno));
    const auto read = [&](std::byte* target, std::uint64_t offset, std::size_t count) {
        stream.seekg(static_cast<std::streamoff>(offset));
        stream.read(reinterpret_cast<char*>(target), static_cast<std::streamsize>(count));
        if (!stream)
            failSafetensors(source, "it cannot be read to its end");
    };
    expectLongEnough(fileBytes, source);
    std::byte front[kLengthBytes];
    read(front, 0, kLengthBytes);
    std::string text(headerLength(front, fileBytes, source), '\0');
    read(reinterpret_cast<std::byte*>(text.data()), kLengthBytes, text.size());
    const std::uint64_t dataStart = kLengthBytes + text.size();
    return load(parseSafetensorsHeader(text, fileBytes - dataStart, source),
                [&](std::byte* target, std::uint64_t offset, std::size_t count) {
                    read(target, dataStart + offset, count);
                });
}

void writeSafetensors(const std::filesystem::path& path, const std::vector<HostTensor>& tensors,
                      const std::map<std::string, std::string>& metadata)
{
    const auto order = inFileOrder(tensors);
    const std::string header = headerText(order, metadata);
    std::string length(kLengthBytes, '\0');
    for (std::size_t i = 0; i < kLengthBytes; ++i)
        length[i] = static_cast<char>(header.size() >> (8 * i) & 255);
    OutputFile file(path);
    file.write(length);
    file.write(header);
    for (const HostTensor* tensor : order)
        file.write({reinterpret_cast<const char*>(tensor->bytes.data()), tensor->bytes.size()});
    file.commit();
}

} // namespace vergence
