#include "plugins/sugar/io/mesh_glb.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <unordered_map>

#include <Eigen/Geometry>
#include <nlohmann/json.hpp>

#include "core/artifact/output_file.h"
#include "core/base/error.h"
#include "plugins/sugar/mesh/mesh_parts.h"

namespace vergence::sugar {

namespace {

using Json = nlohmann::json;

constexpr int kFloat = 5126, kUnsignedInt = 5125;          ///< component types
constexpr int kArrayBuffer = 34962, kElementArray = 34963; ///< targets of buffer views
constexpr int kLinear = 9729, kLinearMipmapLinear = 9987, kClampToEdge = 33071;

/// The binary chunk and what the JSON chunk says about it.
class GlbBuffer {
public:
    /// Index of the new view of `count` values.
    template <class T>
    int addView(const T* values, std::size_t count, int target)
    {
        const std::size_t offset = m_bytes.size();
        m_bytes.append(reinterpret_cast<const char*>(values), count * sizeof(T));
        Json view{{"buffer", 0}, {"byteOffset", offset}, {"byteLength", count * sizeof(T)}};
        if (target != 0)
            view["target"] = target;
        m_views.push_back(std::move(view));
        m_bytes.resize((m_bytes.size() + 3) / 4 * 4, '\0');
        return static_cast<int>(m_views.size()) - 1;
    }

    int addVectors(const std::vector<float>& values, int width, bool hasLimits)
    {
        const std::size_t count = values.size() / static_cast<std::size_t>(width);
        Json accessor{{"bufferView", addView(values.data(), values.size(), kArrayBuffer)},
                      {"componentType", kFloat},
                      {"count", count},
                      {"type", width == 2 ? "VEC2" : "VEC3"}};
        if (hasLimits) {
            std::array<float, 3> low{}, high{};
            low.fill(std::numeric_limits<float>::max());
            high.fill(std::numeric_limits<float>::lowest());
            for (std::size_t i = 0; i < values.size(); ++i) {
                low[i % 3] = std::min(low[i % 3], values[i]);
                high[i % 3] = std::max(high[i % 3], values[i]);
            }
            accessor["min"] = low;
            accessor["max"] = high;
        }
        m_accessors.push_back(std::move(accessor));
        return static_cast<int>(m_accessors.size()) - 1;
    }

    int addIndices(const std::vector<std::uint32_t>& values)
    {
        m_accessors.push_back({{"bufferView", addView(values.data(), values.size(), kElementArray)},
                               {"componentType", kUnsignedInt},
                               {"count", values.size()},
                               {"type", "SCALAR"}});
        return static_cast<int>(m_accessors.size()) - 1;
    }

    const std::string& bytes() const { return m_bytes; }
    void describe(Json& document) const
    {
        document["buffers"] = {{{"byteLength", m_bytes.size()}}};
        document["bufferViews"] = m_views;
        document["accessors"] = m_accessors;
    }

private:
    std::string m_bytes;
    Json m_views = Json::array(), m_accessors = Json::array();
};

/// Unit quaternion (x, y, z, w) of the rotation whose rows are right, up and front.
std::array<double, 4> quaternionOf(const MeshAxes& axes)
{
    const Eigen::Vector3d up(axes.up.data()), front(axes.front.data());
    Eigen::Matrix3d rows;
    rows << up.cross(front).transpose(), up.transpose(), front.transpose();
    const Eigen::Quaterniond turn = Eigen::Quaterniond(rows).normalized();
    return {turn.x(), turn.y(), turn.z(), turn.w()};
}

Json primitiveOf(const Json& attributes, int indices, std::size_t material)
{
    return {{"attributes", attributes}, {"indices", indices}, {"material", material}};
}

Json unlitMaterial(std::size_t number)
{
    return {{"name", number == 0 ? "surface" : "surface-" + std::to_string(number + 1)},
            {"doubleSided", true},
            {"pbrMetallicRoughness", {{"metallicFactor", 0.0}, {"roughnessFactor", 1.0}}},
            {"extensions", {{"KHR_materials_unlit", Json::object()}}}};
}

/// One material a primitive.
Json documentWith(const Json& primitives, const MeshAxes& axes)
{
    Json document;
    document["asset"] = {{"version", "2.0"},
                         {"generator", "Vergence Studio"},
                         {"extras",
                          {{"yUpRotation", "the node turns the scene's up to y, its front to z"},
                           {"up", axes.up},
                           {"front", axes.front}}}};
    document["extensionsUsed"] = {"KHR_materials_unlit"};
    document["scene"] = 0;
    document["scenes"] = {{{"nodes", {0}}}};
    document["nodes"] =
        Json::array({{{"mesh", 0}, {"name", "surface"}, {"rotation", quaternionOf(axes)}}});
    document["meshes"] = Json::array({{{"primitives", primitives}}});
    document["materials"] = Json::array();
    for (std::size_t i = 0; i < primitives.size(); ++i)
        document["materials"].push_back(unlitMaterial(i));
    return document;
}

void appendInteger(std::string& bytes, std::uint32_t value)
{
    bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void writeChunks(const std::filesystem::path& path, Json& document, const GlbBuffer& buffer)
{
    buffer.describe(document);
    std::string text = document.dump();
    text.resize((text.size() + 3) / 4 * 4, ' ');
    constexpr std::size_t kHeader = 12, kChunkHeader = 8;
    const std::size_t length = kHeader + 2 * kChunkHeader + text.size() + buffer.bytes().size();
    if (length > std::numeric_limits<std::uint32_t>::max())
        throw OutputError("Cannot write " + path.string() +
                          ": a GLB file holds 4 GiB at most; simplify the mesh, or write an OBJ.");
    std::string head = "glTF";
    appendInteger(head, 2);
    appendInteger(head, static_cast<std::uint32_t>(length));
    appendInteger(head, static_cast<std::uint32_t>(text.size()));
    head += "JSON" + text;
    appendInteger(head, static_cast<std::uint32_t>(buffer.bytes().size()));
    head += std::string("BIN\0", 4);
    OutputFile output(path);
    output.write(head);
    output.write(buffer.bytes());
    output.commit();
}

/// The picture as the bytes of a PNG file.
std::string pngOf(const std::filesystem::path& beside, const Image& image)
{
    const AtomicFile file(beside.string() + ".png"); // never committed, so nothing stays
    writePng(file.temporaryPath(), image);
    return readFile(file.temporaryPath());
}

/// Vertices of a page that differ in place or in picture, and the triangles between them.
struct Corners {
    std::vector<float> position, normal, uv;
    std::vector<std::uint32_t> index;

    Corners(const TexturedMesh& textured, std::size_t page)
    {
        const TriangleMesh& mesh = textured.mesh;
        std::unordered_multimap<std::uint32_t, std::uint32_t> known; // vertex to new vertices
        for (std::size_t corner = 0; corner < mesh.triangle.size(); ++corner) {
            if (textured.pageOf(corner / 3) != page)
                continue;
            const std::uint32_t v = mesh.triangle[corner];
            const float u = textured.uv[2 * corner], w = 1 - textured.uv[2 * corner + 1];
            const auto [begin, end] = known.equal_range(v);
            const auto same = std::find_if(begin, end, [&](const auto& entry) {
                return uv[2 * entry.second] == u && uv[2 * entry.second + 1] == w;
            });
            if (same != end) {
                index.push_back(same->second);
                continue;
            }
            const auto added = static_cast<std::uint32_t>(uv.size() / 2);
            known.emplace(v, added);
            index.push_back(added);
            uv.insert(uv.end(), {u, w});
            const float* p = mesh.position.data() + 3 * std::size_t{v};
            position.insert(position.end(), p, p + 3);
            if (!mesh.normal.empty()) {
                const float* n = mesh.normal.data() + 3 * std::size_t{v};
                normal.insert(normal.end(), n, n + 3);
            }
        }
    }
};

/// glTF's colours of vertices are linear.
std::vector<float> linearColours(const std::vector<std::uint8_t>& srgb)
{
    std::vector<float> linear(srgb.size());
    std::transform(srgb.begin(), srgb.end(), linear.begin(), [](std::uint8_t byte) {
        const double value = byte / 255.0;
        return static_cast<float>(value <= 0.04045 ? value / 12.92
                                                   : std::pow((value + 0.055) / 1.055, 2.4));
    });
    return linear;
}

} // namespace

void writeGlb(const std::filesystem::path& path, const TexturedMesh& textured, const MeshAxes& axes,
              const std::function<bool()>& isStopped)
{
    expectSound(textured.mesh);
    expects(textured.uv.size() == 2 * textured.mesh.triangle.size(),
            "writeGlb: every corner needs a place in the picture");
    expects(textured.mesh.faces() > 0, "writeGlb: the mesh has no triangles");
    expectPages(textured);
    GlbBuffer buffer;
    Json primitives = Json::array(), images = Json::array(), textures = Json::array();
    for (std::size_t page = 0; page < textured.pages.size(); ++page) {
        if (isStopped && isStopped())
            return;
        const Corners corners(textured, page);
        if (corners.index.empty())
            continue;
        Json attributes{{"POSITION", buffer.addVectors(corners.position, 3, true)},
                        {"TEXCOORD_0", buffer.addVectors(corners.uv, 2, false)}};
        if (!corners.normal.empty())
            attributes["NORMAL"] = buffer.addVectors(corners.normal, 3, false);
        primitives.push_back(
            primitiveOf(attributes, buffer.addIndices(corners.index), primitives.size()));
        const std::string png = pngOf(path, textured.pages[page]);
        textures.push_back({{"source", images.size()}, {"sampler", 0}});
        images.push_back(
            {{"mimeType", "image/png"}, {"bufferView", buffer.addView(png.data(), png.size(), 0)}});
    }
    Json document = documentWith(primitives, axes);
    document["images"] = images;
    document["textures"] = textures;
    document["samplers"] = {{{"magFilter", kLinear},
                             {"minFilter", kLinearMipmapLinear},
                             {"wrapS", kClampToEdge},
                             {"wrapT", kClampToEdge}}};
    for (std::size_t i = 0; i < primitives.size(); ++i)
        document["materials"][i]["pbrMetallicRoughness"]["baseColorTexture"] = {{"index", i}};
    writeChunks(path, document, buffer);
}

void writeGlb(const std::filesystem::path& path, const TriangleMesh& mesh, const MeshAxes& axes)
{
    expectSound(mesh);
    expects(mesh.faces() > 0, "writeGlb: the mesh has no triangles");
    GlbBuffer buffer;
    Json attributes{{"POSITION", buffer.addVectors(mesh.position, 3, true)}};
    if (!mesh.normal.empty())
        attributes["NORMAL"] = buffer.addVectors(mesh.normal, 3, false);
    if (!mesh.colour.empty())
        attributes["COLOR_0"] = buffer.addVectors(linearColours(mesh.colour), 3, false);
    Json document = documentWith(
        Json::array({primitiveOf(attributes, buffer.addIndices(mesh.triangle), 0)}), axes);
    writeChunks(path, document, buffer);
}

} // namespace vergence::sugar
