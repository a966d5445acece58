#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/artifact/checkpoint.h"
#include "plugins/sugar/compute/gaussians.h"
#include "plugins/sugar/mesh/triangle_mesh.h"
#include "plugins/sugar/surface/surface_points.h"

namespace vergence::sugar {

// Results of stages as named tensors, and back. Reading throws InputError where one is missing or
// sizes do not agree.

std::vector<HostTensor> packCloud(const GaussianCloud& cloud);
GaussianCloud unpackCloud(const SafetensorsFile& file);

std::vector<HostTensor> packPoints(const SurfacePoints& points);
SurfacePoints unpackPoints(const SafetensorsFile& file);

/// Names begin with `prefix`.
std::vector<HostTensor> packMesh(const TriangleMesh& mesh, const std::string& prefix = "mesh.");
TriangleMesh unpackMesh(const SafetensorsFile& file, const std::string& prefix = "mesh.");

std::vector<HostTensor> packTextured(const TexturedMesh& textured);
TexturedMesh unpackTextured(const SafetensorsFile& file);

/// The tensors of a checkpoint as a file has them.
SafetensorsFile tensorsOf(const Checkpoint& checkpoint);
/// Reads numbers of a checkpoint by name.
std::function<std::vector<float>(const std::string&)> readerOf(const Checkpoint& checkpoint);
/// The same with their type.
std::function<HostTensor(const std::string&)> tensorReaderOf(const Checkpoint& checkpoint);

/// Adds named tensors ({name, tensor}) to a checkpoint. Waits for the stream.
template <class Named>
void packTensors(Stream& stream, const std::vector<Named>& all, Checkpoint& checkpoint)
{
    for (const Named& named : all) {
        const auto pack = [&](auto number) {
            using T = decltype(number);
            const std::vector<T> values = named.tensor.template toHost<T>(stream);
            checkpoint.tensors.push_back(
                HostTensor::from<T>(named.name, named.tensor.shape(), values));
        };
        if (named.tensor.dtype() == DType::BF16)
            pack(BFloat16());
        else if (named.tensor.dtype() == DType::U8)
            pack(std::uint8_t());
        else
            pack(float());
    }
}

} // namespace vergence::sugar
