#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include <QFile>
#include <QMatrix4x4>
#include <QQuaternion>

#include <tiny_gltf.h>

#include "app/viewport/mesh/mesh_readers.h"
#include "core/base/error.h"

// glTF 2.0 specification (Khronos Group, 2021).

namespace vergence {
namespace {

constexpr int kDeepest = 64; ///< nodes above one another; more is a circle

float srgb(double linear)
{
    const double x = std::clamp(linear, 0.0, 1.0);
    return static_cast<float>(x <= 0.0031308 ? 12.92 * x : 1.055 * std::pow(x, 1 / 2.4) - 0.055);
}

QRgb srgbColour(double r, double g, double b)
{
    return QColor::fromRgbF(srgb(r), srgb(g), srgb(b)).rgb();
}

/// Only encoded pictures are kept: decoding them is the business of Qt. Those that lie in the
/// buffers are read from there, where their bounds can be checked.
bool keepPicture(tinygltf::Image* image, int index, std::string*, std::string*, int, int,
                 const unsigned char* bytes, int size, void* pictures)
{
    if (image->bufferView < 0)
        (*static_cast<std::map<int, QByteArray>*>(pictures))[index] =
            QByteArray(reinterpret_cast<const char*>(bytes), size);
    return true;
}

/// One file while it is read.
class GlbReader {
public:
    explicit GlbReader(const std::filesystem::path& path) : m_path(path) {}

    ViewMesh read();

private:
    /// `count` items of `components` numbers each, as doubles.
    struct Numbers {
        std::size_t components = 0;
        std::vector<double> values;
        std::size_t count() const { return components == 0 ? 0 : values.size() / components; }
    };

    [[noreturn]] void refuse(const std::string& fault) const { refuseMesh(m_path, fault); }
    void load();
    void checkExtensions() const;
    std::pair<const unsigned char*, std::size_t> bytesOf(int view) const;
    Numbers numbers(int accessor) const;
    void addNode(int node, const QMatrix4x4& parent, int depth);
    void addPrimitive(const tinygltf::Primitive& primitive, const std::string& name,
                      const QMatrix4x4& matrix);
    std::vector<std::uint32_t> trianglesOf(const tinygltf::Primitive& primitive,
                                           std::size_t vertices) const;
    void addMaterial(const tinygltf::Primitive& primitive, MeshPart& part, int& uvSet);
    int textureOf(int texture);
    int attribute(const tinygltf::Primitive& primitive, const std::string& name) const;
    void padCorners();

    const std::filesystem::path& m_path;
    tinygltf::Model m_model;
    std::map<int, QByteArray> m_pictures; ///< encoded, by image
    std::map<int, int> m_textures;        ///< image to index of ViewMesh::textures
    ViewMesh m_mesh;
};

/// The file as the library understands it. Throws InputError.
void GlbReader::load()
{
    QFile file(QString::fromStdString(m_path.string()));
    if (!file.open(QIODevice::ReadOnly))
        refuseMesh(m_path, "it cannot be opened", "Check the name and the rights of the file.");
    const QByteArray bytes = file.readAll();
    if (!bytes.startsWith("glTF"))
        refuse("it is no binary glTF file");
    if (bytes.size() > std::numeric_limits<int>::max())
        refuse("it is larger than 2 GiB");
    tinygltf::TinyGLTF loader;
    loader.SetImageLoader(keepPicture, &m_pictures);
    std::string fault, warning;
    bool isRead = false;
    try {
        isRead = loader.LoadBinaryFromMemory(
            &m_model, &fault, &warning, reinterpret_cast<const unsigned char*>(bytes.constData()),
            static_cast<unsigned>(bytes.size()), m_path.parent_path().string());
    } catch (const std::exception& error) { // of the JSON inside
        fault = error.what();
    }
    if (!isRead)
        refuse("it is damaged: " + QString::fromStdString(fault).simplified().toStdString());
}

void GlbReader::checkExtensions() const
{
    for (const std::string& name : m_model.extensionsRequired) {
        const bool isHarmless = name.rfind("KHR_materials_", 0) == 0;
        if (!isHarmless)
            refuseMesh(m_path, "it needs the extension " + name,
                       "Export it without compression and extensions.");
    }
}

std::pair<const unsigned char*, std::size_t> GlbReader::bytesOf(int view) const
{
    if (view < 0 || view >= static_cast<int>(m_model.bufferViews.size()))
        refuse("a table names data that are not there");
    const tinygltf::BufferView& found = m_model.bufferViews[view];
    if (found.buffer < 0 || found.buffer >= static_cast<int>(m_model.buffers.size()))
        refuse("a table names data that are not there");
    const auto& data = m_model.buffers[found.buffer].data;
    if (found.byteOffset > data.size() || found.byteLength > data.size() - found.byteOffset)
        refuse("its data end too early");
    return {data.data() + found.byteOffset, found.byteLength};
}

double numberAt(const unsigned char* at, int type, bool isNormalised)
{
    const auto read = [at](auto value) {
        std::memcpy(&value, at, sizeof value);
        return static_cast<double>(value);
    };
    const auto scaled = [isNormalised](double value, double most) {
        return isNormalised ? std::max(value / most, -1.0) : value;
    };
    switch (type) {
    case TINYGLTF_COMPONENT_TYPE_BYTE:
        return scaled(read(std::int8_t()), 127);
    case TINYGLTF_COMPONENT_TYPE_UNSIGNED_BYTE:
        return scaled(read(std::uint8_t()), 255);
    case TINYGLTF_COMPONENT_TYPE_SHORT:
        return scaled(read(std::int16_t()), 32767);
    case TINYGLTF_COMPONENT_TYPE_UNSIGNED_SHORT:
        return scaled(read(std::uint16_t()), 65535);
    case TINYGLTF_COMPONENT_TYPE_UNSIGNED_INT:
        return read(std::uint32_t());
    default:
        return read(float());
    }
}

GlbReader::Numbers GlbReader::numbers(int index) const
{
    if (index < 0 || index >= static_cast<int>(m_model.accessors.size()))
        refuse("a mesh names a table that is not there");
    const tinygltf::Accessor& accessor = m_model.accessors[index];
    if (accessor.sparse.isSparse)
        refuseMesh(m_path, "it has sparse tables", "Export it without sparse accessors.");
    const auto [bytes, size] = bytesOf(accessor.bufferView);
    const int components = tinygltf::GetNumComponentsInType(accessor.type);
    const int width = tinygltf::GetComponentSizeInBytes(accessor.componentType);
    const int stride = accessor.ByteStride(m_model.bufferViews[accessor.bufferView]);
    if (components < 1 || width < 1 || width > 4 || stride < components * width)
        refuse("a table has an impossible type");
    const auto item = static_cast<std::size_t>(components * width);
    const auto step = static_cast<std::size_t>(stride);
    Numbers result{static_cast<std::size_t>(components), {}};
    if (accessor.count == 0)
        return result;
    const bool fits = accessor.byteOffset <= size && item <= size - accessor.byteOffset &&
                      accessor.count - 1 <= (size - accessor.byteOffset - item) / step;
    if (!fits)
        refuse("a table is longer than its data");
    result.values.reserve(accessor.count * result.components);
    for (std::size_t i = 0; i < accessor.count; ++i)
        for (int k = 0; k < components; ++k)
            result.values.push_back(numberAt(bytes + accessor.byteOffset + i * step + k * width,
                                             accessor.componentType, accessor.normalized));
    return result;
}

int GlbReader::attribute(const tinygltf::Primitive& primitive, const std::string& name) const
{
    const auto found = primitive.attributes.find(name);
    return found == primitive.attributes.end() ? -1 : found->second;
}

std::vector<std::uint32_t> GlbReader::trianglesOf(const tinygltf::Primitive& primitive,
                                                  std::size_t vertices) const
{
    std::vector<std::uint32_t> corners;
    if (primitive.indices >= 0) {
        for (const double value : numbers(primitive.indices).values) {
            if (!(value >= 0 && value < static_cast<double>(vertices)))
                refuse("a face names a vertex that is not there");
            corners.push_back(static_cast<std::uint32_t>(value));
        }
    } else {
        for (std::size_t i = 0; i < vertices; ++i)
            corners.push_back(static_cast<std::uint32_t>(i));
    }
    if (primitive.mode == TINYGLTF_MODE_TRIANGLES) {
        corners.resize(corners.size() / 3 * 3);
        return corners;
    }
    std::vector<std::uint32_t> triangles;
    for (std::size_t i = 2; i < corners.size(); ++i) {
        const bool isFan = primitive.mode == TINYGLTF_MODE_TRIANGLE_FAN;
        const bool isOdd = !isFan && i % 2 == 1; // strips turn every other triangle
        const std::uint32_t a = isFan ? corners[0] : corners[i - 2], b = corners[i - 1];
        triangles.insert(triangles.end(), {isOdd ? b : a, isOdd ? a : b, corners[i]});
    }
    return triangles;
}

int GlbReader::textureOf(int texture)
{
    if (texture < 0 || texture >= static_cast<int>(m_model.textures.size()))
        return -1;
    const int image = m_model.textures[texture].source;
    if (const auto known = m_textures.find(image); known != m_textures.end())
        return known->second;
    QImage picture;
    if (image >= 0 && image < static_cast<int>(m_model.images.size())) {
        if (const int view = m_model.images[image].bufferView; view >= 0) {
            const auto [bytes, size] = bytesOf(view);
            picture = decodePicture(
                QByteArray(reinterpret_cast<const char*>(bytes), static_cast<qsizetype>(size)));
        } else {
            picture = decodePicture(m_pictures[image]);
        }
    }
    if (picture.isNull())
        m_mesh.problems << QStringLiteral("A picture of %1 cannot be decoded, so the mesh is shown "
                                          "without it. Export it with PNG or JPEG.")
                               .arg(QString::fromStdString(m_path.filename().string()));
    else
        m_mesh.textures.push_back(picture);
    return m_textures[image] = picture.isNull() ? -1 : static_cast<int>(m_mesh.textures.size()) - 1;
}

void GlbReader::addMaterial(const tinygltf::Primitive& primitive, MeshPart& part, int& uvSet)
{
    if (primitive.material < 0 || primitive.material >= static_cast<int>(m_model.materials.size()))
        return;
    const tinygltf::Material& material = m_model.materials[primitive.material];
    const auto& base = material.pbrMetallicRoughness;
    if (base.baseColorFactor.size() >= 3)
        part.colour =
            srgbColour(base.baseColorFactor[0], base.baseColorFactor[1], base.baseColorFactor[2]);
    part.texture = textureOf(base.baseColorTexture.index);
    uvSet = base.baseColorTexture.texCoord;
    if (part.name.isEmpty())
        part.name = QString::fromStdString(material.name);
}

/// Arrays per corner are as long as the triangles: what a primitive lacks is zero, white.
void GlbReader::padCorners()
{
    const std::size_t corners = 3 * m_mesh.triangles.size();
    if (!m_mesh.normals.empty())
        m_mesh.normals.resize(corners);
    if (!m_mesh.uv.empty())
        m_mesh.uv.resize(corners);
    if (!m_mesh.colours.empty())
        m_mesh.colours.resize(corners, qRgb(255, 255, 255));
}

void GlbReader::addPrimitive(const tinygltf::Primitive& primitive, const std::string& name,
                             const QMatrix4x4& matrix)
{
    const bool isSurface = primitive.mode == TINYGLTF_MODE_TRIANGLES ||
                           primitive.mode == TINYGLTF_MODE_TRIANGLE_STRIP ||
                           primitive.mode == TINYGLTF_MODE_TRIANGLE_FAN;
    if (!isSurface)
        return;
    const Numbers positions = numbers(attribute(primitive, "POSITION"));
    if (positions.components != 3)
        refuse("its positions are not points in space");
    MeshPart part{QString::fromStdString(name), m_mesh.triangles.size(), 0};
    int uvSet = 0;
    addMaterial(primitive, part, uvSet);
    const auto optional = [&](const std::string& attributeName, std::size_t least) {
        const int accessor = attribute(primitive, attributeName);
        Numbers found = accessor < 0 ? Numbers() : numbers(accessor);
        const bool isUsable = found.components >= least && found.count() == positions.count();
        return isUsable ? found : Numbers();
    };
    const Numbers normals = optional("NORMAL", 3), colours = optional("COLOR_0", 3),
                  uv = optional("TEXCOORD_" + std::to_string(uvSet), 2);
    const auto vector = [](const Numbers& of, std::size_t row) {
        const double* at = of.values.data() + row * of.components;
        return QVector3D(static_cast<float>(at[0]), static_cast<float>(at[1]),
                         static_cast<float>(at[2]));
    };
    const auto first = static_cast<std::uint32_t>(m_mesh.positions.size());
    for (std::size_t i = 0; i < positions.count(); ++i)
        m_mesh.positions.push_back(matrix.map(vector(positions, i)));
    const QMatrix4x4 forNormals = matrix.inverted().transposed();
    const bool isMirrored = matrix.determinant() < 0;
    padCorners();
    const std::size_t before = 3 * m_mesh.triangles.size();
    const auto begin = [before](const Numbers& of, auto& corners) {
        if (of.count() > 0 && corners.empty())
            corners.resize(before);
    };
    begin(normals, m_mesh.normals);
    begin(uv, m_mesh.uv);
    if (colours.count() > 0 && m_mesh.colours.empty())
        m_mesh.colours.resize(before, qRgb(255, 255, 255));
    const std::vector<std::uint32_t> corners = trianglesOf(primitive, positions.count());
    for (std::size_t i = 0; i + 2 < corners.size(); i += 3) {
        std::array<std::uint32_t, 3> triangle{corners[i], corners[i + 1], corners[i + 2]};
        if (isMirrored)
            std::swap(triangle[1], triangle[2]);
        for (const std::uint32_t row : triangle) {
            if (normals.count() > 0)
                m_mesh.normals.push_back(forNormals.mapVector(vector(normals, row)).normalized());
            if (uv.count() > 0)
                m_mesh.uv.emplace_back(static_cast<float>(uv.values[row * uv.components]),
                                       static_cast<float>(uv.values[row * uv.components + 1]));
            if (colours.count() > 0) {
                const double* c = colours.values.data() + row * colours.components;
                m_mesh.colours.push_back(srgbColour(c[0], c[1], c[2]));
            }
        }
        m_mesh.triangles.push_back({first + triangle[0], first + triangle[1], first + triangle[2]});
    }
    padCorners();
    part.triangleCount = m_mesh.triangles.size() - part.firstTriangle;
    if (part.triangleCount > 0)
        m_mesh.parts.push_back(part);
}

QMatrix4x4 matrixOf(const tinygltf::Node& node)
{
    QMatrix4x4 matrix;
    if (node.matrix.size() == 16) {
        for (int i = 0; i < 16; ++i)
            matrix.data()[i] = static_cast<float>(node.matrix[i]); // both column by column
        return matrix;
    }
    const auto at = [](const std::vector<double>& of, int i) { return static_cast<float>(of[i]); };
    if (const auto& t = node.translation; t.size() == 3)
        matrix.translate(at(t, 0), at(t, 1), at(t, 2));
    if (const auto& r = node.rotation; r.size() == 4)
        matrix.rotate(QQuaternion(at(r, 3), at(r, 0), at(r, 1), at(r, 2)));
    if (const auto& s = node.scale; s.size() == 3)
        matrix.scale(at(s, 0), at(s, 1), at(s, 2));
    return matrix;
}

void GlbReader::addNode(int index, const QMatrix4x4& parent, int depth)
{
    if (index < 0 || index >= static_cast<int>(m_model.nodes.size()) || depth > kDeepest)
        refuse("its nodes are no tree");
    const tinygltf::Node& node = m_model.nodes[index];
    const QMatrix4x4 matrix = parent * matrixOf(node);
    if (node.mesh >= 0) {
        if (node.mesh >= static_cast<int>(m_model.meshes.size()))
            refuse("a node names a mesh that is not there");
        const tinygltf::Mesh& mesh = m_model.meshes[node.mesh];
        for (const tinygltf::Primitive& primitive : mesh.primitives)
            addPrimitive(primitive, node.name.empty() ? mesh.name : node.name, matrix);
    }
    for (const int child : node.children)
        addNode(child, matrix, depth + 1);
}

ViewMesh GlbReader::read()
{
    load();
    checkExtensions();
    const int scene = std::max(0, m_model.defaultScene);
    if (scene < static_cast<int>(m_model.scenes.size())) {
        for (const int node : m_model.scenes[scene].nodes)
            addNode(node, {}, 0);
    } else {
        for (const tinygltf::Mesh& mesh : m_model.meshes)
            for (const tinygltf::Primitive& primitive : mesh.primitives)
                addPrimitive(primitive, mesh.name, {});
    }
    return std::move(m_mesh);
}

} // namespace

ViewMesh readGlbMesh(const std::filesystem::path& path)
{
    return GlbReader(path).read();
}

} // namespace vergence
