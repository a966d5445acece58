#include "core/artifact/image.h"
#include "core/base/file.h"
#include "plugins/sugar/io/mesh_obj.h"
#include "tests/app/cli/cli_bench.h"
#include "tests/plugins/sugar/foreign_meshes.h"

using namespace vergence;
using sugar::fixtures::ForeignMesh;

/// Files of the demo's mesh in the hands of other libraries.
class TestSugarExports : public test::CliBench {
    Q_OBJECT

    std::filesystem::path meshFolder() const
    {
        return RunFolder{path("demo").toStdString()}.artifacts() / "mesh";
    }

    /// As the studio's own reader has it; the scene's units.
    ForeignMesh own() const
    {
        const sugar::TriangleMesh mesh = sugar::readObj(meshFolder() / "textured.obj").mesh;
        ForeignMesh result;
        result.vertices = static_cast<std::size_t>(mesh.vertices());
        result.triangles = static_cast<std::size_t>(mesh.faces());
        for (std::size_t i = 0; i < mesh.position.size(); ++i) {
            const auto value = static_cast<double>(mesh.position[i]);
            result.low[i % 3] = i < 3 ? value : std::min(result.low[i % 3], value);
            result.high[i % 3] = i < 3 ? value : std::max(result.high[i % 3], value);
        }
        return result;
    }

    static void compare(const ForeignMesh& found, const ForeignMesh& expected)
    {
        QVERIFY2(found.complaints.empty(), found.complaints.c_str());
        QCOMPARE(found.triangles, expected.triangles);
        QVERIFY(found.vertices >= expected.vertices); // those on seams of the picture count twice
        QVERIFY(found.hasPicture);
        for (std::size_t k = 0; k < 3; ++k) {
            QVERIFY(std::abs(found.low[k] - expected.low[k]) < 1e-5);
            QVERIFY(std::abs(found.high[k] - expected.high[k]) < 1e-5);
        }
    }

private Q_SLOTS:
    void initTestCase()
    {
        makeHome();
        QStringList arguments{"run", "sugar", "--preset", "demo", "--device", "cpu"};
        for (const char* assignment : {"iterations=240", "align_steps=120", "regularise_from=30",
                                       "refine_steps=60", "turntable_frames=0"})
            arguments += {"--set", assignment};
        const test::Outcome outcome = patiently(arguments + QStringList{"--run-dir", path("demo")});
        QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
        QVERIFY(own().triangles > 1'000);
    }

    void tinyGltfReadsTheGlb()
    {
        compare(sugar::fixtures::readByTinyGltf(meshFolder() / "textured.glb"), own());
    }

    void tinyObjReadsTheObj()
    {
        compare(sugar::fixtures::readByTinyObj(meshFolder() / "textured.obj"), own());
    }

    void open3dReadsBoth_data()
    {
        QTest::addColumn<QString>("file");
        QTest::newRow("GLB") << "textured.glb";
        QTest::newRow("OBJ") << "textured.obj";
    }
    void open3dReadsBoth()
    {
        QFETCH(QString, file);
        const auto found = sugar::fixtures::readByOpen3d(meshFolder() / file.toStdString());
        if (!found)
            QSKIP("The tests are built without Open3D.");
        compare(*found, own()); // which leaves the turn of the GLB's node to its viewer
    }

    void open3dReadsThePlyWithItsColours()
    {
        for (const char* file : {"coarse.ply", "refined.ply"}) {
            const auto found = sugar::fixtures::readByOpen3d(meshFolder() / file);
            if (!found)
                QSKIP("The tests are built without Open3D.");
            QVERIFY2(found->complaints.empty(), found->complaints.c_str());
            QVERIFY(found->triangles > 1'000);
        }
    }

    /// What the readers above say of a damaged file; without, silence would prove nothing.
    void damageIsComplainedOf()
    {
        const std::filesystem::path folder = path("damaged").toStdString();
        std::filesystem::create_directories(folder);
        const std::string glb = readFile(meshFolder() / "textured.glb");
        writeFileAtomic(folder / "textured.glb", glb.substr(0, glb.size() / 2));
        QVERIFY(!sugar::fixtures::readByTinyGltf(folder / "textured.glb").complaints.empty());
        std::filesystem::copy_file(meshFolder() / "textured.obj", folder / "textured.obj");
        QVERIFY(!sugar::fixtures::readByTinyObj(folder / "textured.obj").complaints.empty());
        if (const auto found = sugar::fixtures::readByOpen3d(folder / "textured.glb"))
            QVERIFY(!found->complaints.empty());
    }
};

QTEST_GUILESS_MAIN(TestSugarExports)
#include "tst_sugar_exports.moc"
