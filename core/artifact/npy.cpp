#include "core/artifact/npy.h"

#include <fmt/format.h>

#include "core/artifact/artifact_store.h"
#include "core/artifact/output_file.h"
#include "core/base/error.h"

namespace vergence {

std::string npyHeader(const std::vector<std::int64_t>& shape, const std::string& descr)
{
    std::string extents;
    for (const std::int64_t extent : shape)
        extents += fmt::format("{}, ", extent);
    if (shape.size() > 1)
        extents.resize(extents.size() - 2);
    else if (shape.size() == 1)
        extents.resize(extents.size() - 1); // a tuple of one keeps its comma
    std::string dictionary =
        fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, extents);
    constexpr std::size_t kFront = 10;
    dictionary.append(63 - (kFront + dictionary.size()) % 64, ' ');
    dictionary += '\n';
    std::string header("\x93NUMPY\x01\x00", 8);
    header += static_cast<char>(dictionary.size() & 255);
    header += static_cast<char>(dictionary.size() >> 8);
    return header + dictionary;
}

void ArtifactStore::writeNpy(const std::string& name, std::span<const float> values,
                             const std::vector<std::int64_t>& shape, const std::string& role,
                             const std::string& title)
{
    std::uint64_t count = 1;
    for (const std::int64_t extent : shape) {
        expects(extent >= 0, "writeNpy: extents must not be negative");
        count *= static_cast<std::uint64_t>(extent);
    }
    expects(count == values.size() && shape.size() <= 32,
            "writeNpy: value count differs from the shape");
    OutputFile file(pathFor(name));
    file.write(npyHeader(shape));
    file.write({reinterpret_cast<const char*>(values.data()), values.size_bytes()});
    file.commit();
    add(name, role, title);
}

} // namespace vergence
