#include "plugins/sugar/io/mesh_obj.h"

#include <cmath>

#include <fmt/format.h>
#include <tiny_obj_loader.h>

#include "core/artifact/output_file.h"
#include "core/base/error.h"
#include "plugins/sugar/mesh/mesh_parts.h"

namespace vergence::sugar {

namespace {

/// Text that goes to a file in pieces.
class ObjText {
public:
    explicit ObjText(const std::filesystem::path& path) : m_file(path) {}

    template <class... Values>
    void add(fmt::format_string<Values...> format, Values&&... values)
    {
        constexpr std::size_t kPiece = 1 << 20;
        fmt::format_to(std::back_inserter(m_text), format, std::forward<Values>(values)...);
        if (m_text.size() > kPiece)
            flush();
    }
    void commit()
    {
        flush();
        m_file.commit();
    }

private:
    void flush()
    {
        m_file.write({m_text.data(), m_text.size()});
        m_text.clear();
    }

    OutputFile m_file;
    fmt::memory_buffer m_text;
};

/// `path` with another ending, its name without blanks: they would end it inside the files.
std::filesystem::path companion(const std::filesystem::path& path, const std::string& ending)
{
    std::string name = path.stem().string();
    for (char& letter : name) {
        if (letter == ' ' || letter == '\t')
            letter = '_';
    }
    return path.parent_path() / (name + ending);
}

/// "" of the first page, "-2" of the second.
std::string pageSuffix(std::size_t page)
{
    return page == 0 ? std::string() : fmt::format("-{}", page + 1);
}

/// Pictures and the materials that name them. False where it was stopped.
bool writeMaterials(const std::filesystem::path& path, const TexturedMesh& textured,
                    const std::function<bool()>& isStopped)
{
    ObjText text(companion(path, ".mtl"));
    for (std::size_t page = 0; page < textured.pages.size(); ++page) {
        if (isStopped && isStopped())
            return false;
        const std::filesystem::path picture = companion(path, pageSuffix(page) + ".png");
        writePng(picture, textured.pages[page]);
        text.add("newmtl surface{}\nKa 0 0 0\nKd 1 1 1\nKs 0 0 0\nillum 1\nmap_Kd {}\n",
                 pageSuffix(page), picture.filename().string());
    }
    text.commit();
    return true;
}

void writeFaces(ObjText& text, const TexturedMesh& textured, std::size_t page)
{
    const TriangleMesh& mesh = textured.mesh;
    const bool hasNormals = !mesh.normal.empty();
    text.add("usemtl surface{}\n", pageSuffix(page));
    for (std::size_t corner = 0; corner < mesh.triangle.size(); ++corner) {
        if (textured.pageOf(corner / 3) != page)
            continue;
        const std::uint32_t v = mesh.triangle[corner] + 1;
        text.add("{}{}/{}", corner % 3 == 0 ? "f " : " ", v, corner + 1);
        if (hasNormals)
            text.add("/{}", v);
        if (corner % 3 == 2)
            text.add("\n");
    }
}

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& fault)
{
    throw InputError(fmt::format("{}: {}. Export the file again.", path.string(), fault));
}

/// Without the line end that the reader's messages have.
std::string sentence(std::string message)
{
    while (!message.empty() && (message.back() == '\n' || message.back() == '.'))
        message.pop_back();
    return message;
}

void takeCorner(const tinyobj::attrib_t& attributes, const tinyobj::index_t& index,
                const std::filesystem::path& path, TexturedMesh& textured)
{
    TriangleMesh& mesh = textured.mesh;
    if (index.vertex_index < 0 || index.vertex_index >= mesh.vertices())
        fail(path, fmt::format("a face names vertex {}, but there are {}", index.vertex_index + 1,
                               mesh.vertices()));
    mesh.triangle.push_back(static_cast<std::uint32_t>(index.vertex_index));
    const auto at = static_cast<std::size_t>(index.texcoord_index);
    const bool hasPlace = index.texcoord_index >= 0 && 2 * at + 1 < attributes.texcoords.size();
    for (std::size_t k = 0; k < 2; ++k)
        textured.uv.push_back(hasPlace ? attributes.texcoords[2 * at + k] : 0.0F);
}

} // namespace

void writeObj(const std::filesystem::path& path, const TexturedMesh& textured,
              const std::optional<MeshAxes>& axes, const std::function<bool()>& isStopped)
{
    const TriangleMesh& mesh = textured.mesh;
    expectSound(mesh);
    expects(textured.uv.size() == 2 * mesh.triangle.size(),
            "writeObj: every corner needs a place in the picture");
    expectPages(textured);
    if (!writeMaterials(path, textured, isStopped))
        return;
    ObjText text(path);
    if (axes)
        text.add("{}", axesComment(*axes, "#"));
    text.add("mtllib {}\n", companion(path, ".mtl").filename().string());
    for (std::size_t v = 0; v < mesh.position.size(); v += 3)
        text.add("v {:.9g} {:.9g} {:.9g}\n", mesh.position[v], mesh.position[v + 1],
                 mesh.position[v + 2]);
    for (std::size_t corner = 0; corner < textured.uv.size(); corner += 2)
        text.add("vt {:.9g} {:.9g}\n", textured.uv[corner], textured.uv[corner + 1]);
    for (std::size_t v = 0; v < mesh.normal.size(); v += 3)
        text.add("vn {:.6g} {:.6g} {:.6g}\n", mesh.normal[v], mesh.normal[v + 1],
                 mesh.normal[v + 2]);
    for (std::size_t page = 0; page < textured.pages.size(); ++page)
        writeFaces(text, textured, page);
    text.commit();
}

TexturedMesh readObj(const std::filesystem::path& path)
{
    if (!std::filesystem::is_regular_file(path))
        fail(path, "there is no such file");
    tinyobj::ObjReaderConfig config;
    config.vertex_color = false;
    tinyobj::ObjReader reader;
    if (!reader.ParseFromFile(path.string(), config))
        fail(path, reader.Error().empty() ? "it cannot be read" : sentence(reader.Error()));
    const tinyobj::attrib_t& attributes = reader.GetAttrib();
    TexturedMesh textured;
    textured.mesh.position = attributes.vertices;
    for (const float value : attributes.vertices) {
        if (!std::isfinite(value))
            fail(path, "a vertex lies nowhere: a coordinate is not finite");
    }
    std::vector<std::uint8_t> pageOfMaterial(1, 0); // the first is for faces without a material
    for (const tinyobj::material_t& material : reader.GetMaterials()) {
        if (material.diffuse_texname.empty()) {
            pageOfMaterial.push_back(0);
            continue;
        }
        pageOfMaterial.push_back(static_cast<std::uint8_t>(textured.pages.size()));
        textured.pages.push_back(readImage(path.parent_path() / material.diffuse_texname));
    }
    for (const tinyobj::shape_t& shape : reader.GetShapes()) {
        for (const tinyobj::index_t& index : shape.mesh.indices)
            takeCorner(attributes, index, path, textured);
        for (const int material : shape.mesh.material_ids)
            textured.page.push_back(pageOfMaterial.at(static_cast<std::size_t>(material + 1)));
    }
    if (textured.mesh.triangle.empty())
        fail(path, "there are no faces in it");
    if (textured.pages.size() < 2)
        textured.page.clear();
    if (attributes.texcoords.empty())
        textured.uv.clear();
    return textured;
}

} // namespace vergence::sugar
