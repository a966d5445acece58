#include <limits>

#include <QTemporaryDir>
#include <QTest>

#include "app/viewport/mesh/mesh_files.h"
#include "core/base/error.h"
#include "tests/app/viewport/mesh_fixtures.h"
#include "tests/support/test_program.h"

using namespace vergence;

namespace {

/// Positive where all faces are seen from outside.
double volumeOf(const ViewMesh& mesh)
{
    double volume = 0;
    for (const auto& [a, b, c] : mesh.triangles)
        volume += QVector3D::dotProduct(
            mesh.positions[a], QVector3D::crossProduct(mesh.positions[b], mesh.positions[c]));
    return volume / 6;
}

QVector3D highestOf(const ViewMesh& mesh)
{
    QVector3D highest = mesh.positions.front();
    for (const QVector3D& p : mesh.positions)
        for (int axis = 0; axis < 3; ++axis)
            highest[axis] = std::max(highest[axis], p[axis]);
    return highest;
}

bool isNear(const QVector3D& a, const QVector3D& b)
{
    return (a - b).length() < 1e-5F;
}

} // namespace

class MeshFilesTest : public QObject {
    Q_OBJECT
private:
    QTemporaryDir m_folder;

    std::string at(const QString& name) const { return m_folder.filePath(name).toStdString(); }
    std::string make(const QString& name, const QByteArray& bytes) const
    {
        test::write(m_folder.filePath(name), bytes);
        return at(name);
    }
    /// The sentence that reading the file ends with; empty where it is read.
    QString faultOf(const std::string& path) const
    {
        try {
            readMeshFile(path);
        } catch (const InputError& error) {
            return QString::fromUtf8(error.what());
        }
        return {};
    }

private Q_SLOTS:
    void aGlbBoxStandsUpright()
    {
        const ViewMesh mesh = readMeshFile(make("box.glb", test::boxGlb().bytes()));
        QCOMPARE(mesh.triangles.size(), std::size_t{12});
        QVERIFY(isNear(highestOf(mesh), {1, 3, 2})); // turned by its node
        QVERIFY(qAbs(volumeOf(mesh) - test::kBoxVolume) < 1e-3);
        QVERIFY(mesh.up == QVector3D(0, 1, 0));
        QCOMPARE(mesh.uv.size(), std::size_t{36});
        QVERIFY(mesh.uv[0] == QVector2D(0, 1));
        QVERIFY(isNear(mesh.normals[0], {1, 0, 0}));
        QVERIFY(isNear(mesh.normals[12], {0, 0, -1})); // +y of the file
        QCOMPARE(mesh.textures.size(), std::size_t{1});
        QCOMPARE(mesh.textures[0].pixelColor(1, 1), QColor(220, 40, 40));
        QCOMPARE(mesh.parts.size(), std::size_t{1});
        QCOMPARE(mesh.parts[0].name, QStringLiteral("box"));
        QCOMPARE(mesh.parts[0].texture, 0);
        QVERIFY(mesh.problems.isEmpty());
    }

    void mirroredNodesKeepTheirOutside()
    {
        test::Glb glb = test::boxGlb();
        glb.json["nodes"] = QJsonArray{QJsonObject{{"mesh", 0}, {"scale", QJsonArray{-1, 1, 1}}}};
        const ViewMesh mesh = readMeshFile(make("mirror.glb", glb.bytes()));
        QVERIFY(qAbs(volumeOf(mesh) - test::kBoxVolume) < 1e-3);
        QVERIFY(isNear(mesh.normals[0], {-1, 0, 0}));
    }

    void stripsKeepTheirOutside()
    {
        // The first side alone, as a strip of its corners 0, 1, 3, 2.
        test::Glb glb = test::boxGlb(1);
        QByteArray order;
        for (const quint16 i : {0, 1, 3, 2})
            test::append<quint16>(order, i);
        const auto offset = glb.json["bufferViews"].toArray()[3].toObject()["byteOffset"].toInt();
        glb.data.replace(offset, order.size(), order);
        QJsonArray accessors = glb.json["accessors"].toArray();
        QJsonObject table = accessors[3].toObject();
        table["count"] = 4;
        accessors[3] = table;
        glb.json["accessors"] = accessors;
        QJsonObject mesh = glb.json["meshes"].toArray()[0].toObject();
        QJsonObject primitive = mesh["primitives"].toArray()[0].toObject();
        primitive["mode"] = 5;
        mesh["primitives"] = QJsonArray{primitive};
        glb.json["meshes"] = QJsonArray{mesh};
        const ViewMesh read = readMeshFile(make("strip.glb", glb.bytes()));
        QCOMPARE(read.triangles.size(), std::size_t{2});
        for (const auto& [a, b, c] : read.triangles)
            QVERIFY(QVector3D::crossProduct(read.positions[b] - read.positions[a],
                                            read.positions[c] - read.positions[a])
                        .x() > 0);
    }

    void commentsSayUpAndFront()
    {
        const QByteArray obj = "# by hand\n# up 0 0 2\n# front 1 0 0\nv 0 0 0\nv 1 0 0\n"
                               "v 0 1 0\nf 1 2 3\n# up 1 0 0\n";
        const ViewMesh fromObj = readMeshFile(make("said.obj", obj));
        QVERIFY(fromObj.up == QVector3D(0, 0, 1));
        QVERIFY(fromObj.front == QVector3D(1, 0, 0));
        QByteArray ply = test::boxPly("ascii");
        ply.insert(ply.indexOf("element vertex"), "comment up 0 -1 0\ncomment front 0 zero 1\n");
        const ViewMesh fromPly = readMeshFile(make("said.ply", ply));
        QVERIFY(fromPly.up == QVector3D(0, -1, 0));
        QVERIFY(fromPly.front.isNull()); // of three words one is no number
        QVERIFY(readMeshFile(make("plain.ply", test::boxPly("ascii"))).up == QVector3D(0, 0, 1));
    }

    void anObjBoxHasItsPicture()
    {
        test::writeBoxObj(m_folder.path());
        const ViewMesh mesh = readMeshFile(at("box.obj"));
        QCOMPARE(mesh.positions.size(), std::size_t{8});
        QCOMPARE(mesh.triangles.size(), std::size_t{12});
        QVERIFY(isNear(highestOf(mesh), {1, 2, 3}));
        QVERIFY(qAbs(volumeOf(mesh) - test::kBoxVolume) < 1e-3);
        QVERIFY(mesh.uv[0] == QVector2D(0, 1)); // written as 0, upwards
        QCOMPARE(mesh.textures.size(), std::size_t{1});
        QCOMPARE(mesh.parts[0].texture, 0);
        QVERIFY(mesh.normals.empty());
        QVERIFY(mesh.colours.empty());
        QVERIFY2(mesh.problems.isEmpty(), qPrintable(mesh.problems.join('\n')));
    }

    void anObjWithoutItsPictureIsBareAndSaysSo()
    {
        test::writeBoxObj(m_folder.path(), "elsewhere.png");
        const ViewMesh mesh = readMeshFile(at("box.obj"));
        QCOMPARE(mesh.triangles.size(), std::size_t{12});
        QCOMPARE(mesh.parts[0].texture, -1);
        QCOMPARE(mesh.problems.size(), 1);
        QVERIFY(mesh.problems[0].contains("elsewhere.png"));
        QVERIFY(mesh.problems[0].contains("box.obj"));
        make("elsewhere.png", "no picture");
        QVERIFY(readMeshFile(at("box.obj")).problems[0].contains("cannot be decoded"));
    }

    void anObjWithoutItsMaterialsIsBareAndSaysSo()
    {
        test::writeBoxObj(m_folder.path());
        QFile::remove(m_folder.filePath("box.mtl"));
        const ViewMesh mesh = readMeshFile(at("box.obj"));
        QCOMPARE(mesh.triangles.size(), std::size_t{12});
        QCOMPARE(mesh.problems.size(), 1);
        QVERIFY(mesh.problems[0].contains("material"));
    }

    void plyBoxesAreAlikeInEveryEncoding_data()
    {
        QTest::addColumn<QByteArray>("format");
        for (const char* format : {"ascii", "binary_little_endian", "binary_big_endian"})
            QTest::newRow(format) << QByteArray(format);
    }
    void plyBoxesAreAlikeInEveryEncoding()
    {
        QFETCH(QByteArray, format);
        const ViewMesh mesh = readMeshFile(make("box.ply", test::boxPly(format)));
        QCOMPARE(mesh.triangles.size(), std::size_t{12});
        QVERIFY(isNear(highestOf(mesh), {1, 2, 3}));
        QVERIFY(qAbs(volumeOf(mesh) - test::kBoxVolume) < 1e-3);
        QCOMPARE(mesh.colours.size(), std::size_t{36});
        for (std::size_t i = 0; i < 36; ++i) {
            const bool isRight = mesh.positions[mesh.triangles[i / 3][i % 3]].x() > 0;
            QCOMPARE(mesh.colours[i], isRight ? qRgb(255, 0, 0) : qRgb(0, 255, 0));
        }
    }

    void facesOfGroupsBecomeParts()
    {
        const ViewMesh mesh = readMeshFile(
            make("groups.ply", "ply\nformat ascii 1.0\nelement vertex 3\nproperty double x\n"
                               "property double y\nproperty double z\nelement face 3\n"
                               "property uchar group\nproperty list uchar uint vertex_index\n"
                               "end_header\n0 0 0\n1 0 0\n0 1 0\n"
                               "1 3 0 1 2\n0 3 0 1 2\n1 3 2 1 0\n"));
        QCOMPARE(mesh.parts.size(), std::size_t{2});
        QCOMPARE(mesh.parts[1].firstTriangle, std::size_t{1});
        QCOMPARE(mesh.parts[1].triangleCount, std::size_t{2});
        QVERIFY((mesh.triangles[2] == std::array<std::uint32_t, 3>{2, 1, 0}));
    }

    void kindsAreToldApart()
    {
        QVERIFY(meshFileKind("a/b.GLB") == MeshFileKind::Mesh);
        QVERIFY(meshFileKind("b.obj") == MeshFileKind::Mesh);
        QVERIFY(meshFileKind("b.toml") == MeshFileKind::Other);
        QVERIFY(meshFileKind(make("s.ply", test::splatPly())) == MeshFileKind::PlyWithoutFaces);
        QVERIFY(meshFileKind(make("m.ply", test::boxPly("ascii"))) == MeshFileKind::Mesh);
    }

    void gaussiansAreNoMesh()
    {
        const QString fault = faultOf(make("splats.ply", test::splatPly()));
        QVERIFY2(fault.contains("splats.ply") && fault.contains("Gaussians"), qPrintable(fault));
    }

    /// Every beginning of a good file is a bad one, and none of them brings the reader down.
    void everyCutIsRefused_data()
    {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QByteArray>("bytes");
        QTest::newRow("glb") << "cut.glb" << test::boxGlb().bytes();
        QTest::newRow("ply") << "cut.ply" << test::boxPly("binary_little_endian");
        QTest::newRow("text") << "cut.ply" << test::boxPly("ascii").chopped(3);
    }
    void everyCutIsRefused()
    {
        QFETCH(QString, name);
        QFETCH(QByteArray, bytes);
        for (qsizetype size = 0; size < bytes.size(); size += 1 + bytes.size() / 60) {
            const QString fault = faultOf(make(name, bytes.left(size)));
            QVERIFY2(fault.contains(name), qPrintable(QString::number(size) + ": " + fault));
        }
    }

    void damageIsNamed_data()
    {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<QString>("words");
        const auto spoiled = [](const char* list, int row, const char* key, const QJsonValue& v) {
            test::Glb glb = test::boxGlb();
            QJsonArray items = glb.json[QLatin1String(list)].toArray();
            QJsonObject item = items[row].toObject();
            item[QLatin1String(key)] = v;
            items[row] = item;
            glb.json[QLatin1String(list)] = items;
            return glb.bytes();
        };
        QTest::newRow("long table")
            << "a.glb" << spoiled("accessors", 0, "count", 1000000) << "longer than its data";
        QTest::newRow("offset") << "a.glb" << spoiled("accessors", 0, "byteOffset", 1 << 30)
                                << "longer than its data";
        QTest::newRow("view") << "a.glb" << spoiled("accessors", 1, "bufferView", 77)
                              << "cannot be shown";
        QTest::newRow("short data")
            << "a.glb" << spoiled("bufferViews", 0, "byteLength", 1 << 30) << "cannot be shown";
        QTest::newRow("circle") << "a.glb" << spoiled("nodes", 0, "children", QJsonArray{0})
                                << "no tree";
        QTest::newRow("mesh") << "a.glb" << spoiled("nodes", 0, "mesh", 5) << "not there";
        test::Glb packed = test::boxGlb();
        packed.json["extensionsUsed"] = QJsonArray{"KHR_draco_mesh_compression"};
        packed.json["extensionsRequired"] = QJsonArray{"KHR_draco_mesh_compression"};
        QTest::newRow("packed") << "a.glb" << packed.bytes() << "KHR_draco_mesh_compression";
        QTest::newRow("no glb") << "a.glb" << QByteArray("hello") << "no binary glTF";
        const QByteArray head = "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\n"
                                "property float y\nproperty float z\n";
        const QByteArray face = "element face 1\nproperty list uchar int vertex_indices\n";
        const QByteArray end = "end_header\n0 0 0\n1 0 0\n0 1 0\n";
        QTest::newRow("index") << "a.ply" << head + face + end + "3 0 1 3\n"
                               << "vertex 3 of 3";
        QTest::newRow("negative") << "a.ply" << head + face + end + "3 0 1 -1\n"
                                  << "vertex -1";
        QTest::newRow("word") << "a.ply" << head + face + end + "3 0 one 2\n"
                              << "a word";
        QTest::newRow("corners") << "a.ply" << head + face + end + "3000 0 1 2\n"
                                 << "impossible";
        QTest::newRow("no number")
            << "a.ply" << head + face + QByteArray(end).replace("1 0 0", "nan 0 0") + "3 0 1 2\n"
            << "finite";
        QTest::newRow("points") << "a.ply" << head + end << "holds points";
        QTest::newRow("header") << "a.ply" << QByteArray("ply\nformat ascii 1.0\nelephant\n")
                                << "elephant";
        QTest::newRow("no ply") << "a.ply" << QByteArray("solid") << "word ply";
        QTest::newRow("obj index")
            << "a.obj" << QByteArray("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\n") << "cannot be shown";
        QTest::newRow("obj empty") << "a.obj" << QByteArray("# nothing\n") << "no triangle";
    }
    void damageIsNamed()
    {
        QFETCH(QString, name);
        QFETCH(QByteArray, bytes);
        QFETCH(QString, words);
        const QString fault = faultOf(make(name, bytes));
        QVERIFY2(fault.startsWith(name) && fault.contains(words), qPrintable(fault));
    }

    void missingFilesAndOtherKindsAreRefused()
    {
        for (const char* name : {"none.glb", "none.obj", "none.ply"})
            QVERIFY(faultOf(at(name)).contains("cannot be opened"));
        QVERIFY(faultOf(at("none.stl")).contains(".glb, .obj or .ply"));
    }
};

VERGENCE_TEST(MeshFilesTest)
#include "tst_mesh_files.moc"
