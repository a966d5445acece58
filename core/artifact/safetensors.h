#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/compute/dtype.h"
#include "core/compute/view.h"

namespace vergence {

/// A tensor in host memory with its name.
struct HostTensor {
    std::string name;
    DType dtype = DType::F32;
    std::vector<Index> shape;
    std::vector<std::byte> bytes;

    template <class T>
    static HostTensor from(std::string name, std::vector<Index> shape, std::span<const T> values)
    {
        const auto raw = std::as_bytes(values);
        return {std::move(name), DTypeOf<T>::value, std::move(shape), {raw.begin(), raw.end()}};
    }
    /// Throws InputError where the element type differs.
    template <class T>
    std::span<const T> as() const
    {
        requireType(DTypeOf<T>::value);
        return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
    }

private:
    void requireType(DType wanted) const;
};

struct SafetensorsFile {
    std::vector<HostTensor> tensors;
    std::map<std::string, std::string> metadata;
    const HostTensor* find(const std::string& name) const;
};

/// Format: 8-byte little-endian header length, JSON header, raw little-endian data. Every length,
/// offset, type and shape is checked; each kind of damage has its own message. Throws InputError.
SafetensorsFile readSafetensors(const std::filesystem::path& path);
SafetensorsFile parseSafetensors(std::span<const std::byte> bytes, const std::string& source);
void writeSafetensors(const std::filesystem::path& path, const std::vector<HostTensor>& tensors,
                      const std::map<std::string, std::string>& metadata = {});

} // namespace vergence
