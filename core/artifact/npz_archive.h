#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace vergence {

/// Several named arrays in one NPZ (ZIP of NPY 1.0), as numpy.savez_compressed writes them; equal
/// input gives equal bytes. Written beside and renamed by commit().
class NpzWriter {
public:
    explicit NpzWriter(std::filesystem::path path);
    ~NpzWriter();
    NpzWriter(const NpzWriter&) = delete;
    NpzWriter& operator=(const NpzWriter&) = delete;

    using Extents = std::vector<std::int64_t>;
    void add(const std::string& name, std::span<const double> values,
             const Extents& shape);                                                         ///< <f8
    void add(const std::string& name, std::span<const float> values, const Extents& shape); ///< <f4
    void add(const std::string& name, std::span<const std::int64_t> values,
             const Extents& shape);                                            ///< <i8
    void add(const std::string& name, const std::vector<std::string>& values); ///< <U, UTF-8 given
    void commit(); ///< throws OutputError

private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

/// Reads NPZ files of NumPy and ours: C order, little endian, <f8 <f4 <f2 <i8 <i4 |u1 |b1 and <U.
class NpzArchive {
public:
    explicit NpzArchive(const std::filesystem::path& path); ///< throws InputError
    ~NpzArchive();
    NpzArchive(const NpzArchive&) = delete;
    NpzArchive& operator=(const NpzArchive&) = delete;

    std::vector<std::string> names() const;
    bool has(const std::string& name) const;
    std::vector<std::int64_t> shape(const std::string& name) const;
    std::vector<double> numbers(const std::string& name) const; ///< any numeric type
    std::vector<std::string> texts(const std::string& name) const;

private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

} // namespace vergence
