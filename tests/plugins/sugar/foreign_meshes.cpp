#include "tests/plugins/sugar/foreign_meshes.h"

#include <algorithm>
#include <vector>

#include <tiny_gltf.h>
#include <tiny_obj_loader.h>
#ifdef VERGENCE_WITH_OPEN3D
#include <open3d/io/TriangleMeshIO.h>
#include <open3d/utility/Logging.h>
#endif

namespace vergence::sugar::fixtures {

namespace {

/// Takes a position into the bounds of the mesh.
void enclose(ForeignMesh& mesh, double x, double y, double z)
{
    const std::array<double, 3> place{x, y, z};
    for (std::size_t k = 0; k < 3; ++k) {
        mesh.low[k] = mesh.vertices == 0 ? place[k] : std::min(mesh.low[k], place[k]);
        mesh.high[k] = mesh.vertices == 0 ? place[k] : std::max(mesh.high[k], place[k]);
    }
    ++mesh.vertices;
}

const float* floatsOf(const tinygltf::Model& model, const tinygltf::Accessor& accessor)
{
    const auto& view = model.bufferViews.at(static_cast<std::size_t>(accessor.bufferView));
    const auto& bytes = model.buffers.at(static_cast<std::size_t>(view.buffer)).data;
    return reinterpret_cast<const float*>(bytes.data() + view.byteOffset + accessor.byteOffset);
}

bool hasPicture(const tinygltf::Model& model, const tinygltf::Primitive& primitive)
{
    const auto& material = model.materials.at(static_cast<std::size_t>(primitive.material));
    const int texture = material.pbrMetallicRoughness.baseColorTexture.index;
    if (texture < 0 || !primitive.attributes.contains("TEXCOORD_0"))
        return false;
    const int source = model.textures.at(static_cast<std::size_t>(texture)).source;
    return !model.images.at(static_cast<std::size_t>(source)).image.empty();
}

} // namespace

ForeignMesh readByTinyGltf(const std::filesystem::path& glb)
{
    ForeignMesh mesh;
    tinygltf::Model model;
    tinygltf::TinyGLTF loader;
    std::string error, warning;
    if (!loader.LoadBinaryFromFile(&model, &error, &warning, glb.string()))
        error += "not read";
    mesh.complaints = error + warning;
    if (!mesh.complaints.empty())
        return mesh;
    mesh.hasPicture = true;
    if (!model.nodes.empty() && model.nodes.front().rotation.size() == mesh.turn.size())
        std::copy_n(model.nodes.front().rotation.begin(), mesh.turn.size(), mesh.turn.begin());
    for (const tinygltf::Mesh& part : model.meshes) {
        for (const tinygltf::Primitive& primitive : part.primitives) {
            const auto at = static_cast<std::size_t>(primitive.attributes.at("POSITION"));
            const tinygltf::Accessor& positions = model.accessors.at(at);
            const float* p = floatsOf(model, positions);
            for (std::size_t i = 0; i < positions.count; ++i, p += 3)
                enclose(mesh, p[0], p[1], p[2]);
            mesh.triangles +=
                model.accessors.at(static_cast<std::size_t>(primitive.indices)).count / 3;
            mesh.hasPicture = mesh.hasPicture && hasPicture(model, primitive);
        }
    }
    return mesh;
}

ForeignMesh readByTinyObj(const std::filesystem::path& obj)
{
    ForeignMesh mesh;
    tinyobj::ObjReader reader;
    if (!reader.ParseFromFile(obj.string()))
        mesh.complaints = "not read: ";
    mesh.complaints += reader.Error() + reader.Warning();
    if (!mesh.complaints.empty())
        return mesh;
    const std::vector<float>& places = reader.GetAttrib().vertices;
    for (std::size_t i = 0; i + 2 < places.size(); i += 3)
        enclose(mesh, places[i], places[i + 1], places[i + 2]);
    const auto corners = static_cast<int>(reader.GetAttrib().texcoords.size() / 2);
    const auto& materials = reader.GetMaterials();
    mesh.hasPicture = true;
    for (const tinyobj::shape_t& shape : reader.GetShapes()) {
        mesh.triangles += shape.mesh.num_face_vertices.size();
        for (const tinyobj::index_t& corner : shape.mesh.indices)
            mesh.hasPicture =
                mesh.hasPicture && corner.texcoord_index >= 0 && corner.texcoord_index < corners;
        for (const int material : shape.mesh.material_ids) {
            const auto at = static_cast<std::size_t>(material);
            mesh.hasPicture = mesh.hasPicture && material >= 0 && at < materials.size() &&
                              !materials[at].diffuse_texname.empty();
        }
    }
    return mesh;
}

#ifdef VERGENCE_WITH_OPEN3D

std::optional<ForeignMesh> readByOpen3d(const std::filesystem::path& path)
{
    ForeignMesh mesh;
    auto& logger = open3d::utility::Logger::GetInstance();
    logger.SetVerbosityLevel(open3d::utility::VerbosityLevel::Warning);
    logger.SetPrintFunction([&](const std::string& line) { mesh.complaints += line + '\n'; });
    open3d::geometry::TriangleMesh found;
    if (!open3d::io::ReadTriangleMesh(path.string(), found))
        mesh.complaints += "not read";
    logger.ResetPrintFunction();
    for (const Eigen::Vector3d& p : found.vertices_)
        enclose(mesh, p[0], p[1], p[2]);
    mesh.triangles = found.triangles_.size();
    // One entry for each material, among them an empty one that assimp adds.
    mesh.hasPicture = found.triangle_uvs_.size() == 3 * found.triangles_.size() &&
                      std::any_of(found.textures_.begin(), found.textures_.end(),
                                  [](const auto& picture) { return !picture.IsEmpty(); });
    return mesh;
}

#else

std::optional<ForeignMesh> readByOpen3d(const std::filesystem::path&)
{
    return std::nullopt;
}

#endif

} // namespace vergence::sugar::fixtures
