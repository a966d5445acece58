#include <QTest>

#include <algorithm>
#include <cmath>
#include <fstream>

#include <tiny_gltf.h>
#include <tiny_obj_loader.h>

#include "core/base/error.h"
#include "core/base/file.h"
#include "plugins/sugar/io/mesh_glb.h"
#include "plugins/sugar/io/mesh_obj.h"
#include "plugins/sugar/io/mesh_ply.h"
#include "plugins/sugar/mesh/mesh_parts.h"
#include "tests/plugins/sugar/refine_support.h"
#include "tests/support/numbers.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::sugar;
using namespace vergence::sugar::fixtures;
using namespace vergence::test;

namespace {

TriangleMesh colouredSphere()
{
    TriangleMesh mesh = sphereMesh(6, 1.7, {1000.1, -3, 1e-3});
    computeNormals(mesh);
    for (Index v = 0; v < mesh.vertices(); ++v)
        for (const Index k : {7, 13, 29})
            mesh.colour.push_back(static_cast<std::uint8_t>(v * k % 256));
    for (Index f = 0; f < mesh.faces(); ++f)
        mesh.group.push_back(static_cast<std::uint8_t>(f % 2));
    return mesh;
}

TexturedMesh texturedSphere()
{
    TexturedMesh textured;
    textured.mesh = colouredSphere();
    textured.mesh.colour.clear();
    textured.mesh.group.clear();
    for (std::size_t corner = 0; corner < textured.mesh.triangle.size(); ++corner) {
        textured.uv.push_back(static_cast<float>(corner % 97) / 97);
        textured.uv.push_back(static_cast<float>(corner % 31) / 31);
    }
    textured.pages.push_back(makeImage(13, 7, 3));
    std::vector<std::uint8_t>& pixels = textured.pages.front().pixels;
    for (std::size_t i = 0; i < pixels.size(); ++i)
        pixels[i] = static_cast<std::uint8_t>(i * 37 % 256);
    return textured;
}

/// The same with every third triangle on a second picture.
TexturedMesh onTwoPages()
{
    TexturedMesh textured = texturedSphere();
    textured.pages.push_back(makeImage(4, 9, 3, 77));
    for (Index f = 0; f < textured.mesh.faces(); ++f)
        textured.page.push_back(f % 3 == 0);
    return textured;
}

bool areEqual(const TriangleMesh& a, const TriangleMesh& b)
{
    return a.position == b.position && a.triangle == b.triangle && a.normal == b.normal &&
           a.colour == b.colour && a.group == b.group;
}

void writeText(const std::filesystem::path& path, const std::string& text)
{
    std::ofstream(path, std::ios::binary) << text;
}

/// A GLB file as tinygltf reads it, without a warning.
struct ReadGlb {
    tinygltf::Model model;
    std::string problem;

    explicit ReadGlb(const std::filesystem::path& path)
    {
        tinygltf::TinyGLTF loader;
        std::string error, warning;
        const bool isRead = loader.LoadBinaryFromFile(&model, &error, &warning, path.string());
        problem = error + warning;
        if (!isRead && problem.empty())
            problem = "not read";
    }
    const tinygltf::Primitive& primitive() const { return model.meshes.at(0).primitives.at(0); }
    template <class T>
    std::vector<T> values(int accessor, std::size_t width) const
    {
        const auto& about = model.accessors.at(static_cast<std::size_t>(accessor));
        const auto& view = model.bufferViews.at(static_cast<std::size_t>(about.bufferView));
        const auto& bytes = model.buffers.at(static_cast<std::size_t>(view.buffer)).data;
        std::vector<T> result(about.count * width);
        std::memcpy(result.data(), bytes.data() + view.byteOffset + about.byteOffset,
                    result.size() * sizeof(T));
        return result;
    }
};

} // namespace

class TestSugarMeshFiles : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void plyGivesBackWhatWasWritten()
    {
        const Scratch folder;
        const TriangleMesh mesh = colouredSphere();
        writeMeshPly(folder / "mesh.ply", mesh);
        QVERIFY(areEqual(readMeshPly(folder / "mesh.ply"), mesh));
        TriangleMesh bare;
        bare.position = mesh.position;
        bare.triangle = mesh.triangle;
        writeMeshPly(folder / "bare.ply", bare);
        QVERIFY(areEqual(readMeshPly(folder / "bare.ply"), bare));
    }

    void plyHasTheBytesOfTheFormat()
    {
        const Scratch folder;
        TriangleMesh mesh;
        mesh.position = {0, 0, 0, 1, 0, 0, 0, 1, 0};
        mesh.triangle = {0, 1, 2};
        mesh.colour = {1, 2, 3, 4, 5, 6, 7, 8, 9};
        writeMeshPly(folder / "mesh.ply", mesh);
        const std::string bytes = readFile(folder / "mesh.ply");
        const std::string header =
            "ply\nformat binary_little_endian 1.0\nelement vertex 3\nproperty float x\nproperty "
            "float y\nproperty float z\nproperty uchar red\nproperty uchar green\nproperty uchar "
            "blue\nelement face 1\nproperty list uchar int vertex_indices\nend_header\n";
        QCOMPARE(bytes.substr(0, header.size()), header);
        QCOMPARE(bytes.size(), header.size() + 3 * 15 + 13);
        QCOMPARE(bytes.substr(bytes.size() - 13), std::string("\3\0\0\0\0\1\0\0\0\2\0\0\0", 13));
    }

    void plyOfOthersIsRead()
    {
        const Scratch folder;
        writeText(
            folder / "other.ply",
            "ply\r\nformat ascii 1.0\r\ncomment by hand\r\nelement material 1\r\nproperty list "
            "uchar int parts\r\nelement vertex 4\r\nproperty float red\r\nproperty double z"
            "\r\nproperty double x\r\nproperty double y\r\nproperty float green\r\nproperty "
            "float blue\r\nelement face 2\r\nproperty list uchar uint vertex_index\r\n"
            "property float area\r\nend_header\r\n2 7 8\r\n0.5 0 0 0 0 1\r\n0 0 1 0 0 0\r\n"
            "0 0 1 1 0 0\r\n0 0.25 0 1 0 0\r\n4 0 1 2 3 9.5\r\n3 2 1 0 0.5\r\n");
        const TriangleMesh mesh = readMeshPly(folder / "other.ply");
        QCOMPARE(mesh.position, (std::vector<float>{0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0.25F}));
        QCOMPARE(mesh.triangle, (std::vector<std::uint32_t>{0, 1, 2, 0, 2, 3, 2, 1, 0}));
        QCOMPARE(int(mesh.colour[0]), 128);
        QCOMPARE(int(mesh.colour[2]), 255);
    }

    void bigEndianPlyIsRead()
    {
        const Scratch folder;
        std::string bytes =
            "ply\nformat binary_big_endian 1.0\nelement vertex 3\nproperty short x\n"
            "property short y\nproperty short z\nelement face 1\nproperty list "
            "uchar ushort vertex_indices\nend_header\n";
        bytes += std::string("\0\0\0\0\0\0\0\1\0\0\0\0\0\0\1\0\xff\xff", 18);
        bytes += std::string("\3\0\0\0\1\0\2", 7);
        writeText(folder / "big.ply", bytes);
        const TriangleMesh mesh = readMeshPly(folder / "big.ply");
        QCOMPARE(mesh.position, (std::vector<float>{0, 0, 0, 1, 0, 0, 0, 256, -1}));
        QCOMPARE(mesh.triangle, (std::vector<std::uint32_t>{0, 1, 2}));
    }

    void damagedPlyIsRefused_data()
    {
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<QString>("sentence");
        const QByteArray start = "ply\nformat ascii 1.0\n";
        const QByteArray three = "element vertex 3\nproperty float x\nproperty float y\nproperty "
                                 "float z\n";
        const QByteArray face = "element face 1\nproperty list uchar int vertex_indices\n";
        const QByteArray places = "end_header\n0 0 0\n1 0 0\n0 1 0\n";
        const auto row = [](const char* name, const QByteArray& bytes, const char* sentence) {
            QTest::newRow(name) << bytes << QString(sentence);
        };
        row("no PLY", "solid x\n", "does not begin with \"ply\"");
        row("no end", start + three, "header has no end");
        row("format", "ply\nformat ebcdic 1.0\nend_header\n", "\"ebcdic\" is unknown");
        row("type", start + "element vertex 3\nproperty quad x\nend_header\n", "no type");
        row("no element", start + "property float x\nend_header\n", "before the first element");
        row("keyword", start + "vertices 3\nend_header\n", "unknown in a PLY header");
        row("cloud", start + three + places, "no faces");
        row("no z", start + "element vertex 1\nproperty float x\nend_header\n0\n", "x, y and z");
        row("no list", start + three + "element face 1\nproperty int a\n" + places + "1\n",
            "no list");
        row("too many",
            start + "element vertex 4000000000\nproperty float x\nproperty float y\n"
                    "property float z\nend_header\n0 0 0\n",
            "are promised");
        row("early end", start + three + face + places + "3 0 1\n", "ends in the middle");
        row("row", start + three + face + places + "3 0 1 3\n", "face 0 names vertex 3");
        row("negative row", start + three + face + places + "3 0 1 -1\n", "names vertex -1");
        row("polygon", start + three + face + places + "200000 0 1 2\n", "are promised");
        row("word", start + three + face + "end_header\n0 0 x\n1 0 0\n0 1 0\n3 0 1 2\n",
            "\"x\" is no number");
        row("nan", start + three + face + "end_header\n0 0 nan\n1 0 0\n0 1 0\n3 0 1 2\n",
            "not finite");
    }
    void damagedPlyIsRefused()
    {
        QFETCH(QByteArray, bytes);
        QFETCH(QString, sentence);
        const Scratch folder;
        writeText(folder / "mesh.ply", bytes.toStdString());
        const QString message = thrown<InputError>([&] { readMeshPly(folder / "mesh.ply"); });
        QVERIFY2(message.contains(sentence), qPrintable(message));
        QVERIFY2(message.contains("mesh.ply"), qPrintable(message));
    }

    void cutPlyIsRefusedAtEveryByte()
    {
        const Scratch folder;
        TriangleMesh mesh = gridMesh(1);
        writeMeshPly(folder / "whole.ply", mesh);
        const std::string bytes = readFile(folder / "whole.ply");
        for (std::size_t size = 0; size < bytes.size(); ++size) {
            writeText(folder / "cut.ply", bytes.substr(0, size));
            const QString message = thrown<InputError>([&] { readMeshPly(folder / "cut.ply"); });
            QVERIFY2(message.contains("cut.ply"), qPrintable(message));
        }
    }

    void objGivesBackWhatWasWritten()
    {
        const Scratch folder;
        const TexturedMesh textured = texturedSphere();
        writeObj(folder / "a mesh.obj", textured);
        QCOMPARE(contentOf(folder.path()),
                 (std::set<std::string>{"a mesh.obj", "a_mesh.mtl", "a_mesh.png"}));
        const TexturedMesh back = readObj(folder / "a mesh.obj");
        QCOMPARE(back.mesh.triangle, textured.mesh.triangle);
        VERGENCE_AGREES(difference(back.mesh.position, textured.mesh.position, 0, 1.2e-7));
        VERGENCE_AGREES(difference(back.uv, textured.uv, 1e-7, 0));
        QVERIFY(back.pages.at(0).pixels == textured.pages.at(0).pixels);
        QCOMPARE(back.pages.at(0).width, 13);
    }

    void objHasAMaterialForEachPage()
    {
        const Scratch folder;
        const TexturedMesh textured = onTwoPages();
        writeObj(folder / "mesh.obj", textured);
        QCOMPARE(contentOf(folder.path()),
                 (std::set<std::string>{"mesh.obj", "mesh.mtl", "mesh.png", "mesh-2.png"}));
        const TexturedMesh back = readObj(folder / "mesh.obj");
        QCOMPARE(back.pages.size(), std::size_t{2});
        QVERIFY(back.pages[1].pixels == textured.pages[1].pixels);
        const auto onSecond = std::count(back.page.begin(), back.page.end(), 1);
        QCOMPARE(onSecond, std::count(textured.page.begin(), textured.page.end(), 1));
        // Faces come page after page: the first of the second is face 0.
        const auto first = std::find(back.page.begin(), back.page.end(), 1) - back.page.begin();
        for (std::size_t k = 0; k < 3; ++k)
            QCOMPARE(back.mesh.triangle[3 * static_cast<std::size_t>(first) + k],
                     textured.mesh.triangle[k]);
        TexturedMesh broken = textured;
        broken.pages.pop_back();
        VERGENCE_THROWS(ContractError, "not there", writeObj(folder / "broken.obj", broken));
    }

    void glbHasAPrimitiveForEachPage()
    {
        const Scratch folder;
        const TexturedMesh textured = onTwoPages();
        writeGlb(folder / "mesh.glb", textured);
        const ReadGlb glb(folder / "mesh.glb");
        QCOMPARE(glb.problem, std::string());
        const auto& primitives = glb.model.meshes.at(0).primitives;
        QCOMPARE(primitives.size(), std::size_t{2});
        std::size_t corners = 0;
        for (const auto& primitive : primitives)
            corners += glb.model.accessors.at(static_cast<std::size_t>(primitive.indices)).count;
        QCOMPARE(corners, textured.mesh.triangle.size());
        const auto& material =
            glb.model.materials.at(static_cast<std::size_t>(primitives[1].material));
        const auto& texture = glb.model.textures.at(
            static_cast<std::size_t>(material.pbrMetallicRoughness.baseColorTexture.index));
        QCOMPARE(glb.model.images.at(static_cast<std::size_t>(texture.source)).height, 9);
    }

    void objIsReadByOthersWithoutAWarning()
    {
        const Scratch folder;
        writeObj(folder / "mesh.obj", texturedSphere());
        tinyobj::ObjReader reader;
        QVERIFY(reader.ParseFromFile((folder / "mesh.obj").string()));
        QCOMPARE(reader.Warning(), std::string());
        QCOMPARE(reader.Error(), std::string());
        QCOMPARE(reader.GetMaterials().size(), std::size_t{1});
        const tinyobj::material_t& material = reader.GetMaterials()[0];
        QCOMPARE(material.diffuse_texname, std::string("mesh.png"));
        QCOMPARE(material.illum, 1);
        for (std::size_t k = 0; k < 3; ++k) {
            QCOMPARE(material.diffuse[k], 1.0F);
            QCOMPARE(material.ambient[k], 0.0F);
            QCOMPARE(material.specular[k], 0.0F);
        }
        const auto& attributes = reader.GetAttrib();
        QCOMPARE(attributes.normals.size(), attributes.vertices.size());
    }

    void damagedObjIsRefused_data()
    {
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<QString>("sentence");
        const QByteArray places = "v 0 0 0\nv 1 0 0\nv 0 1 0\n";
        QTest::newRow("empty") << QByteArray() << "no faces";
        QTest::newRow("points") << places << "no faces";
        QTest::newRow("row") << places + "f 1 2 4\n"
                             << "names vertex 4";
        QTest::newRow("zero") << places + "f 0 1 2\n"
                              << "mesh.obj";
        QTest::newRow("infinite") << QByteArray("v 1e999 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
                                  << "not finite";
    }
    void damagedObjIsRefused()
    {
        QFETCH(QByteArray, bytes);
        QFETCH(QString, sentence);
        const Scratch folder;
        writeText(folder / "mesh.obj", bytes.toStdString());
        const QString message = thrown<InputError>([&] { readObj(folder / "mesh.obj"); });
        QVERIFY2(message.contains(sentence), qPrintable(message));
    }

    void missingObjIsNamed()
    {
        VERGENCE_THROWS(InputError, "/nowhere/mesh.obj: there is no such file",
                        readObj("/nowhere/mesh.obj"));
    }

    void glbIsReadByOthersWithoutAWarning()
    {
        const Scratch folder;
        const TexturedMesh textured = texturedSphere();
        writeGlb(folder / "mesh.glb", textured);
        QCOMPARE(contentOf(folder.path()), std::set<std::string>{"mesh.glb"});
        const ReadGlb glb(folder / "mesh.glb");
        QCOMPARE(glb.problem, std::string());
        const auto& primitive = glb.primitive();
        const auto index = glb.values<std::uint32_t>(primitive.indices, 1);
        const auto position = glb.values<float>(primitive.attributes.at("POSITION"), 3);
        const auto normal = glb.values<float>(primitive.attributes.at("NORMAL"), 3);
        const auto uv = glb.values<float>(primitive.attributes.at("TEXCOORD_0"), 2);
        QCOMPARE(index.size(), textured.mesh.triangle.size());
        for (std::size_t corner = 0; corner < index.size(); ++corner) {
            const std::size_t v = textured.mesh.triangle[corner];
            for (std::size_t k = 0; k < 3; ++k) {
                QCOMPARE(position[3 * index[corner] + k], textured.mesh.position[3 * v + k]);
                QCOMPARE(normal[3 * index[corner] + k], textured.mesh.normal[3 * v + k]);
            }
            QCOMPARE(uv[2 * index[corner]], textured.uv[2 * corner]);
            QCOMPARE(uv[2 * index[corner] + 1], 1 - textured.uv[2 * corner + 1]);
        }
        const tinygltf::Image& image = glb.model.images.at(0);
        QCOMPARE(image.mimeType, std::string("image/png"));
        QCOMPARE(image.width, 13);
        QCOMPARE(image.height, 7);
        for (std::size_t i = 0; i < 13 * 7; ++i)
            for (std::size_t k = 0; k < 3; ++k)
                QCOMPARE(image.image[static_cast<std::size_t>(image.component) * i + k],
                         textured.pages.at(0).pixels[3 * i + k]);
        const auto& bounds =
            glb.model.accessors.at(static_cast<std::size_t>(primitive.attributes.at("POSITION")));
        QVERIFY(std::abs(bounds.maxValues.at(2) - 1.701) < 1e-6);
    }

    void glbSharesCornersThatAreTheSame()
    {
        const Scratch folder;
        TexturedMesh textured;
        textured.mesh = gridMesh(1);
        for (const std::uint32_t v : textured.mesh.triangle) {
            textured.uv.push_back(textured.mesh.position[3 * v]);
            textured.uv.push_back(textured.mesh.position[3 * v + 1]);
        }
        textured.pages.push_back(makeImage(2, 2, 3, 9));
        writeGlb(folder / "mesh.glb", textured);
        const ReadGlb glb(folder / "mesh.glb");
        QCOMPARE(glb.model.accessors
                     .at(static_cast<std::size_t>(glb.primitive().attributes.at("POSITION")))
                     .count,
                 std::size_t{4});
    }

    void glbTurnsTheSceneUpright_data()
    {
        using V = std::array<double, 3>;
        QTest::addColumn<V>("up");
        QTest::addColumn<V>("front");
        QTest::newRow("z up") << V{0, 0, 1} << V{0, -1, 0};
        QTest::newRow("y up") << V{0, 1, 0} << V{0, 0, 1};
        QTest::newRow("y down") << V{0, -1, 0} << V{0, 0, -1};
        QTest::newRow("half turn") << V{0, 1, 0} << V{0, 0, -1};
        QTest::newRow("askew") << V{0.6, 0.8, 0} << V{-0.48, 0.36, 0.8};
    }
    void glbTurnsTheSceneUpright()
    {
        using V = std::array<double, 3>;
        QFETCH(V, up);
        QFETCH(V, front);
        const Scratch folder;
        writeGlb(folder / "mesh.glb", gridMesh(1), {up, front});
        const ReadGlb glb(folder / "mesh.glb");
        QCOMPARE(glb.problem, std::string());
        const std::vector<double> q = glb.model.nodes.at(0).rotation; // x y z w
        // v + 2 q × (q × v + w v)
        const auto turned = [&](const V& v) {
            const auto crossed = [&](const V& p) {
                return V{q[1] * p[2] - q[2] * p[1], q[2] * p[0] - q[0] * p[2],
                         q[0] * p[1] - q[1] * p[0]};
            };
            V inner = crossed(v);
            for (std::size_t k = 0; k < 3; ++k)
                inner[k] += q[3] * v[k];
            const V outer = crossed(inner);
            return V{v[0] + 2 * outer[0], v[1] + 2 * outer[1], v[2] + 2 * outer[2]};
        };
        const V isUp = turned(up), isFront = turned(front);
        for (std::size_t k = 0; k < 3; ++k) {
            QVERIFY(std::abs(isUp[k] - (k == 1 ? 1 : 0)) < 1e-12);
            QVERIFY(std::abs(isFront[k] - (k == 2 ? 1 : 0)) < 1e-12);
        }
    }

    void commentsSayHowTheSceneStands()
    {
        const Scratch folder;
        const TexturedMesh textured = texturedSphere();
        const MeshAxes axes{{0, -1, 0}, {0.6, 0, -0.8}};
        writeObj(folder / "mesh.obj", textured, axes);
        QVERIFY(readFile(folder / "mesh.obj").starts_with("# up 0 -1 0\n# front 0.6 0 -0.8\n"));
        writeMeshPly(folder / "mesh.ply", textured.mesh, axes);
        QVERIFY(readFile(folder / "mesh.ply").find("comment front 0.6 0 -0.8\n") !=
                std::string::npos);
        QVERIFY(areEqual(readMeshPly(folder / "mesh.ply"), textured.mesh));
    }

    void glbHasLinearColoursOfVertices()
    {
        const Scratch folder;
        TriangleMesh mesh = gridMesh(1);
        mesh.colour = {0, 128, 255, 1, 2, 3, 4, 5, 6, 7, 8, 9};
        writeGlb(folder / "mesh.glb", mesh);
        const ReadGlb glb(folder / "mesh.glb");
        QCOMPARE(glb.problem, std::string());
        const auto colour = glb.values<float>(glb.primitive().attributes.at("COLOR_0"), 3);
        QCOMPARE(colour[0], 0.0F);
        QVERIFY(std::abs(colour[1] - 0.2158605F) < 1e-6F);
        QCOMPARE(colour[2], 1.0F);
    }
};

VERGENCE_TEST(TestSugarMeshFiles)
#include "tst_sugar_mesh_files.moc"
