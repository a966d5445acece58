#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "plugins/sugar/compute/gaussians.h"
#include "plugins/sugar/mesh/triangle_mesh.h"

namespace vergence::sugar {

struct Binding;
struct BoundArrays;

/// How Gaussians hang on the triangles of a mesh, as a file holds it: enough to let a deformed copy
/// of the mesh carry them along.
struct BindingRecord {
    std::vector<std::int32_t> triangle; ///< [N]
    std::vector<float> barycentric;     ///< [N, 3]
    std::vector<float> scale;           ///< [N, 2] standard deviations in the plane, world units
    std::vector<float>
        angle;           ///< [N] radians, from the edge of corners 2 to 1 towards n × that edge
    float thickness = 0; ///< standard deviation along the normal, world units
    Index triangles = 0, vertices = 0; ///< of the mesh

    Index count() const { return static_cast<Index>(triangle.size()); }
};

/// Waits for the stream.
BindingRecord bindingRecord(Stream& stream, const Binding& binding, const BoundArrays& parameters);

/// One safetensors file: triangle, barycentric, scale, angle; thickness and counts as metadata.
void writeBinding(const std::filesystem::path& path, const BindingRecord& record);
/// Throws InputError: tensors missing or of another shape, triangles that are not there.
BindingRecord readBinding(const std::filesystem::path& path);

/// The cloud on a deformed mesh: every Gaussian goes through the linear map that its triangle went
/// through, exactly within the plane; the thickness stays. `rest` is the mesh of the record, and
/// `deformed` one with the same triangles (InputError otherwise). Opacity is kept; harmonics above
/// degree 0 turn with the world, not with the triangle.
GaussianCloud redriven(const GaussianCloud& cloud, const BindingRecord& record,
                       const TriangleMesh& rest, const TriangleMesh& deformed);

} // namespace vergence::sugar
