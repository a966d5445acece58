#include <array>
#include <cmath>

#include "core/artifact/image.h"
#include "core/base/file.h"
#include "plugins/sugar/io/mesh_obj.h"
#include "tests/app/cli/cli_bench.h"
#include "tests/plugins/sugar/foreign_meshes.h"

using namespace vergence;
using sugar::fixtures::ForeignMesh;

namespace {

using Place = std::array<double, 3>;

Place cross(const Place& a, const Place& b)
{
    return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

/// p + 2w (q × p) + 2 q × (q × p) for the unit quaternion (q, w).
Place turned(const Place& p, const std::array<double, 4>& turn)
{
    const Place q{turn[0], turn[1], turn[2]}, once = cross(q, p), twice = cross(q, once);
    Place result{};
    for (std::size_t k = 0; k < 3; ++k)
        result[k] = p[k] + 2 * (turn[3] * once[k] + twice[k]);
    return result;
}

} // namespace

/// Files of the demo's mesh in the hands of other libraries.
class TestSugarExports : public test::CliBench {
    Q_OBJECT

    std::filesystem::path meshFolder() const
    {
        return RunFolder{path("demo").toStdString()}.artifacts() / "mesh";
    }

    /// As the studio's own reader has it, turned by a unit quaternion; the scene's units.
    ForeignMesh own(const std::array<double, 4>& turn = {0, 0, 0, 1}) const
    {
        const sugar::TriangleMesh mesh = sugar::readObj(meshFolder() / "textured.obj").mesh;
        ForeignMesh result;
        result.vertices = static_cast<std::size_t>(mesh.vertices());
        result.triangles = static_cast<std::size_t>(mesh.faces());
        for (std::size_t i = 0; i < mesh.position.size(); i += 3) {
            const Place place =
                turned({mesh.position[i], mesh.position[i + 1], mesh.position[i + 2]}, turn);
            for (std::size_t k = 0; k < 3; ++k) {
                result.low[k] = i == 0 ? place[k] : std::min(result.low[k], place[k]);
                result.high[k] = i == 0 ? place[k] : std::max(result.high[k], place[k]);
            }
        }
        return result;
    }

    static double distance(const Place& a, const Place& b)
    {
        return std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
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
        const ForeignMesh plain = own();
        if (file == QLatin1String("textured.obj"))
            return compare(*found, plain);
        // Version 0.16 leaves the turn of the node to its viewer, 0.19 does it.
        const auto glb = sugar::fixtures::readByTinyGltf(meshFolder() / "textured.glb");
        const ForeignMesh shown = own(glb.turn);
        QVERIFY(distance(shown.low, plain.low) > 1e-2);
        const bool isShown = distance(found->low, shown.low) < distance(found->low, plain.low);
        compare(*found, isShown ? shown : plain);
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
