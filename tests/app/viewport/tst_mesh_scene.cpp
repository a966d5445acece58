#include <cmath>

#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

#include "app/viewport/mesh/mesh_scene.h"
#include "tests/app/viewport/mesh_fixtures.h"
#include "tests/support/test_program.h"

using namespace vergence;

namespace {

/// Two boxes in a row along x, 10 units apart; with a picture where `isTextured`.
ViewMesh twoBoxes(bool isTextured)
{
    ViewMesh mesh;
    for (const float x : {0.0F, 10.0F}) {
        MeshPart part{x > 0 ? "right" : "left", mesh.triangles.size(), 12};
        part.texture = isTextured && x > 0 ? 0 : -1;
        mesh.parts.push_back(part);
        for (const test::BoxSide& side : test::boxSides()) {
            const auto first = static_cast<std::uint32_t>(mesh.positions.size());
            for (const QVector3D& corner : side.corners)
                mesh.positions.push_back(corner + QVector3D(x, 0, 0));
            for (const std::uint32_t i : {0U, 1U, 2U, 0U, 2U, 3U})
                mesh.uv.push_back(test::uvOf(i));
            mesh.triangles.push_back({first, first + 1, first + 2});
            mesh.triangles.push_back({first, first + 2, first + 3});
        }
    }
    if (isTextured)
        mesh.textures.push_back(test::quarters(48).convertToFormat(QImage::Format_RGBA8888));
    return mesh;
}

PreparedMesh prepared(bool isTextured = true)
{
    return prepareMesh(twoBoxes(isTextured), "boxes");
}

} // namespace

class MeshSceneTest : public QObject {
    Q_OBJECT
private:
    QTemporaryDir m_folder;

    MeshChoice make(const QString& name, const QByteArray& bytes, const QString& version = "1")
    {
        const QString path = m_folder.filePath(name);
        test::write(path, bytes);
        return {path.toStdString(), name, version};
    }

private Q_SLOTS:
    void aMeshIsPreparedForDrawing()
    {
        const PreparedMesh mesh = prepared();
        QCOMPARE(mesh.triangleCount(), std::size_t{24});
        QCOMPARE(mesh.vertexCount, std::size_t{16});
        QCOMPARE(mesh.componentCount, std::size_t{2});
        QVERIFY(mesh.lowest == QVector3D(-1, -2, -3));
        QVERIFY(mesh.highest == QVector3D(11, 2, 3));
        QCOMPARE(mesh.surface.batches.size(), std::size_t{2});
        QCOMPARE(mesh.surface.batches[0].texture, -1);
        QCOMPARE(mesh.surface.batches[1].texture, 0);
        QCOMPARE(mesh.surface.batches[1].firstTriangle, std::size_t{12});
        QCOMPARE(mesh.surface.corners[0].group, std::uint16_t{0});
        QCOMPARE(mesh.surface.corners.back().group, std::uint16_t{1});
        QCOMPARE(mesh.textures.front().size(), std::size_t{6});
        QCOMPARE(mesh.textures.front().back().size(), QSize(1, 1));
        for (const MeshCorner& corner : mesh.surface.corners)
            QVERIFY(std::abs(std::hypot(corner.normal[0], corner.normal[1], corner.normal[2]) -
                             32767.0) < 3);
        QVERIFY(!prepared(false).hasTexture());
    }

    /// A red and a blue triangle with an edge in common, as a file with seams has them.
    void farColoursAreMeansAroundPlaces()
    {
        ViewMesh mesh;
        mesh.positions = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}};
        mesh.triangles = {{0, 1, 2}, {3, 4, 5}};
        for (const float u : {0.25F, 0.25F, 0.25F, 0.75F, 0.75F, 0.75F})
            mesh.uv.emplace_back(u, 0.5F);
        QImage picture(2, 1, QImage::Format_RGBA8888);
        picture.setPixel(0, 0, qRgb(200, 0, 10));
        picture.setPixel(1, 0, qRgb(0, 100, 210));
        mesh.textures.push_back(picture);
        mesh.parts.push_back({QString(), 0, 2, 0, qRgb(255, 255, 255)});
        const PreparedMesh ready = prepareMesh(std::move(mesh), "pair");
        const auto far = [&](std::size_t corner) { return ready.surface.corners[corner].far; };
        using Colour = std::array<std::uint8_t, 4>;
        QCOMPARE(far(0), (Colour{200, 0, 10, 255}));
        QCOMPARE(far(1), (Colour{100, 50, 110, 255}));
        QCOMPARE(far(2), far(1));
        QCOMPARE(far(3), far(1));
        QCOMPARE(far(4), (Colour{0, 100, 210, 255}));
    }

    void materialColoursMultiplyThoseOfVertices()
    {
        ViewMesh mesh = twoBoxes(false);
        mesh.parts[0].colour = qRgb(255, 128, 0);
        mesh.colours.assign(72, qRgb(128, 255, 255));
        const PreparedMesh result = prepareMesh(std::move(mesh), {});
        const std::array<std::uint8_t, 4> expected{128, 128, 0, 255};
        QVERIFY(result.surface.corners[0].colour == expected);
        QVERIFY(result.hasColours);
    }

    void raysStopAtTheFirstFaceThatIsNotCutAway()
    {
        const PreparedMesh mesh = prepared();
        const QVector3D eye(-20, 0.3F, 0.2F);
        const auto hit = firstHit(mesh, eye, {1, 0, 0}, std::nullopt);
        QVERIFY(hit && (*hit - QVector3D(-1, 0.3F, 0.2F)).length() < 1e-4F);
        const MeshSection left{{-1, 0, 0}, 0}; // x below 0 is cut away
        const auto inner = firstHit(mesh, eye, {1, 0, 0}, left);
        QVERIFY(inner && std::abs(inner->x() - 1) < 1e-4F);
        QVERIFY(!firstHit(mesh, eye, {-1, 0, 0}, std::nullopt)); // behind the eye
        QVERIFY(!firstHit(mesh, eye, {0, 1, 0}, std::nullopt));
    }

    void theWholeMeshIsInViewFromEverywhere_data()
    {
        QTest::addColumn<QVector3D>("up");
        QTest::addColumn<QSizeF>("viewport");
        const QVector3D ups[] = {{0, 1, 0}, {0, 0, 1}, {0, -1, 0}, {1, 0, 0}};
        for (const QVector3D& up : ups)
            for (const QSizeF size : {QSizeF(800, 600), QSizeF(300, 900), QSizeF(1600, 200)})
                QTest::newRow(qPrintable(QStringLiteral("%1 %2 %3, %4 wide")
                                             .arg(up.x())
                                             .arg(up.y())
                                             .arg(up.z())
                                             .arg(size.width())))
                    << up << size;
    }
    void theWholeMeshIsInViewFromEverywhere()
    {
        QFETCH(QVector3D, up);
        QFETCH(QSizeF, viewport);
        const PreparedMesh mesh = prepared();
        std::vector<ScenePose> poses{homePose(mesh, up, viewport)};
        for (int axis = 0; axis < 3; ++axis)
            for (const bool isOpposite : {false, true})
                poses.push_back(axisPose(mesh, up, axis, isOpposite, viewport));
        for (const ScenePose& pose : poses) {
            const MeshCamera camera{pose.viewToWorld, pose.focal};
            const auto middle = camera.project(mesh.centre(), viewport);
            QVERIFY(middle &&
                    (*middle - QPointF(viewport.width(), viewport.height()) / 2).manhattanLength() <
                        0.1);
            for (const MeshCorner& of : mesh.surface.corners) {
                const QVector3D corner(of.position[0], of.position[1], of.position[2]);
                const auto place = camera.project(corner, viewport);
                QVERIFY(place && QRectF(QPointF(), viewport).contains(*place));
                // The matrix for the graphics card says the same.
                const QVector3D clip = camera.worldToClip(viewport, mesh).map(corner);
                QVERIFY(std::abs((clip.x() + 1) / 2 * viewport.width() - place->x()) < 0.05);
                QVERIFY(std::abs((1 - clip.y()) / 2 * viewport.height() - place->y()) < 0.05);
                QVERIFY(clip.z() > -1 && clip.z() < 1);
                const QVector3D ray = camera.rayAt(*place, viewport).normalized();
                QVERIFY(QVector3D::dotProduct(ray, (corner - camera.eye()).normalized()) >
                        0.99999F);
            }
            QVERIFY(QVector3D::dotProduct(camera.axis(1), up) < 1e-4F); // upright
        }
    }

    void aPointThatIsFocusedComesToTheMiddle()
    {
        const PreparedMesh mesh = prepared();
        const QSizeF viewport(800, 600);
        const ScenePose home = homePose(mesh, mesh.up, viewport);
        const QVector3D target(11, 2, 3);
        const ScenePose pose = poseTowards({home.viewToWorld, home.focal}, mesh, mesh.up, target);
        const auto place = MeshCamera{pose.viewToWorld, pose.focal}.project(target, viewport);
        QVERIFY(place && (*place - QPointF(400, 300)).manhattanLength() < 0.1);
    }

    void filesAreReadOnceSomebodyLooks()
    {
        MeshScene scene;
        QSignalSpy arrived(&scene, &MeshScene::meshChanged);
        scene.setChoices({make("box.glb", test::boxGlb().bytes())});
        QVERIFY(!scene.isLoading());
        scene.setActive(true);
        QVERIFY(scene.isLoading());
        QVERIFY(scene.message().contains("box.glb"));
        QVERIFY(arrived.wait());
        QCOMPARE(arrived[0][0].toBool(), false);
        QCOMPARE(scene.mesh()->triangleCount(), std::size_t{12});
        QVERIFY(scene.message().isEmpty());
        QVERIFY(scene.settings().shading == MeshShading::Texture); // the best it has
    }

    void aNewerVersionOfTheShownFileIsReadAgain()
    {
        MeshScene scene;
        QSignalSpy arrived(&scene, &MeshScene::meshChanged);
        const MeshChoice other = make("other.ply", test::boxPly("ascii"));
        scene.setActive(true);
        scene.setChoices({make("box.glb", test::boxGlb().bytes()), other});
        QVERIFY(arrived.wait());
        scene.setChoices({make("box.glb", test::boxGlb(5).bytes(), "2"), other});
        QVERIFY(arrived.wait());
        QCOMPARE(arrived[1][0].toBool(), true); // the camera can stay
        QCOMPARE(scene.mesh()->triangleCount(), std::size_t{10});
        scene.setChoices(scene.choices());
        QVERIFY(!scene.isLoading());
        scene.choose(other.path);
        QVERIFY(arrived.wait());
        QVERIFY(scene.mesh()->hasColours);
        QVERIFY(scene.settings().shading == MeshShading::VertexColour);
        // A shown file stays chosen when another one comes before it.
        scene.setChoices({make("new.glb", test::boxGlb().bytes()), other});
        QVERIFY(scene.chosen() == other.path);
        QVERIFY(!scene.isLoading());
    }

    void theLastOfSeveralRequestsIsShown()
    {
        MeshScene scene;
        QSignalSpy arrived(&scene, &MeshScene::meshChanged);
        const MeshChoice a = make("a.glb", test::boxGlb().bytes()),
                         b = make("b.ply", test::boxPly("ascii"));
        scene.setChoices({a, b});
        scene.setActive(true);
        scene.choose(b.path);
        QVERIFY(arrived.wait());
        QTest::qWait(50); // for an answer to the first request, which must not come
        QCOMPARE(arrived.count(), 1);
        QCOMPARE(scene.mesh()->name, QStringLiteral("b.ply"));
    }

    void damageAndWantsAreSaid()
    {
        MeshScene scene;
        QSignalSpy problems(&scene, &MeshScene::problemFound);
        scene.setActive(true);
        scene.setChoices({make("bad.glb", "glTF")});
        QVERIFY(problems.wait());
        QVERIFY(problems[0][0].toString().startsWith("bad.glb"));
        QCOMPARE(scene.message(), problems[0][0].toString());
        QVERIFY(!scene.mesh());
        test::writeBoxObj(m_folder.path(), "gone.png");
        scene.setChoices({{m_folder.filePath("box.obj").toStdString(), "box", "1"}});
        QVERIFY(problems.wait());
        QVERIFY(problems[1][0].toString().contains("gone.png"));
        QVERIFY(scene.mesh());
    }

    void aSceneThatGoesWhileItsFileIsReadLeavesNothingBehind()
    {
        auto scene = std::make_unique<MeshScene>();
        scene->setActive(true);
        scene->setChoices({make("box.glb", test::boxGlb().bytes())});
        scene.reset();
        QTest::qWait(50); // the thread ends; its answer finds nobody
    }

    void shadingsWithoutDataAreRefused()
    {
        MeshScene scene;
        QSignalSpy arrived(&scene, &MeshScene::meshChanged);
        scene.setActive(true);
        scene.setChoices({make("plain.ply", test::boxPly("ascii"))});
        QVERIFY(arrived.wait());
        for (const MeshShading shading :
             {MeshShading::Texture, MeshShading::Checker, MeshShading::UvLayout}) {
            QVERIFY(!scene.isUsable(shading));
            scene.edit([&](MeshSettings& s) { s.shading = shading; });
            QVERIFY(scene.settings().shading != shading);
        }
    }

    void theCutLiesWhereItsSliderStands()
    {
        MeshScene scene;
        QSignalSpy arrived(&scene, &MeshScene::meshChanged);
        scene.setActive(true);
        scene.setChoices({make("box.ply", test::boxPly("ascii"))}); // x from -1 to 1
        QVERIFY(arrived.wait());
        QVERIFY(!scene.section());
        scene.edit([](MeshSettings& s) {
            s.sectionAxis = 0;
            s.sectionOffset = 0.75;
        });
        QVERIFY(scene.section()->hides({0.51F, 0, 0}));
        QVERIFY(!scene.section()->hides({0.49F, 0, 0}));
        scene.edit([](MeshSettings& s) { s.isSectionFlipped = true; });
        QVERIFY(scene.section()->hides({-0.51F, 0, 0}));
        QVERIFY(!scene.section()->hides({-0.49F, 0, 0}));
        scene.edit([](MeshSettings& s) { s.sectionOffset = 7; });
        QVERIFY(!scene.section()->hides({-1, 0, 0})); // all is kept at the end
    }

    void theMeasureHasTwoPoints()
    {
        MeshScene scene;
        for (const float x : {0.0F, 1.0F, 2.0F})
            scene.addMeasuredPoint({x, 0, 0});
        QCOMPARE(scene.measured().size(), std::size_t{1}); // the third begins anew
        scene.edit([](MeshSettings& s) { s.measures = true; });
        scene.edit([](MeshSettings& s) { s.measures = false; });
        QVERIFY(scene.measured().empty());
    }
};

VERGENCE_WINDOW_TEST(MeshSceneTest)
#include "tst_mesh_scene.moc"
