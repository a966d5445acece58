#include <QTest>

#include <algorithm>
#include <cmath>
#include <set>

#include <tbb/global_control.h>

#include "core/base/error.h"
#include "plugins/sugar/texture/coarser_fill.h"
#include "plugins/sugar/texture/depth_buffer.h"
#include "plugins/sugar/texture/mesh_picture.h"
#include "plugins/sugar/texture/texel_density.h"
#include "plugins/sugar/texture/texel_owners.h"
#include "tests/plugins/sugar/texture_support.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::sugar;
using namespace vergence::sugar::fixtures;
using namespace vergence::test;

namespace {

/// With pairs of triangles in squares.
TexturedMesh baked(const TriangleMesh& mesh, const std::vector<BakeView>& views,
                   const BakeSettings& settings = {}, int square = 10)
{
    return vergence::sugar::fixtures::baked(
        mesh, squareAtlas(mesh, squarePacking(mesh.faces(), square)), views, settings);
}

} // namespace

class TestSugarTexture : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void packingIsThatOfTheSpecification()
    {
        QCOMPARE(squarePacking(200'000, 10).perRow, 317);
        QCOMPARE(squarePacking(200'000, 10).side(), 3170);
        QCOMPARE(squarePacking(1'000'000, 10).side(), 7080);
        QCOMPARE(squarePacking(2, 10).side(), 10);
        QCOMPARE(squarePacking(3, 10).side(), 20);
    }

    void squaresShrinkUntilTheyFit()
    {
        const SquarePacking packing = squarePacking(1'000'000, 10, 4096);
        QCOMPARE(packing.square, 5);
        QCOMPARE(packing.side(), 3540);
        VERGENCE_THROWS(InputError, "simplify the mesh", squarePacking(10'000'000, 10, 8192));
    }

    void squaresGoToFurtherPagesBeforeTheyShrink()
    {
        const SquarePacking packing = squarePacking(1'000'000, 10, 4096, 16);
        QCOMPARE(packing.square, 10);
        QCOMPARE(packing.pages, 3); // 409² squares on each
        QCOMPARE(packing.perRow, 409);
        QCOMPARE(squarePacking(1'000'000, 10, 4096, 2).square, 8);
        const TriangleMesh mesh = gridMesh(8); // 64 squares
        const TextureAtlas atlas = squareAtlas(mesh, squarePacking(mesh.faces(), 10, 50, 4));
        QCOMPARE(atlas.pages, 3);
        QCOMPARE(atlas.side, 50);
        QCOMPARE(int(atlas.page[0]), 0);
        QCOMPARE(int(atlas.page[2 * 25]), 1);
        QCOMPARE(int(atlas.page.back()), 2);
        const TextureAtlas second = pageOf(atlas, 1);
        for (Index f = 0; f < mesh.faces(); ++f)
            QCOMPARE(TexelTriangle(second, f).area != 0,
                     atlas.page[static_cast<std::size_t>(f)] == 1);
    }

    /// Each page shows its own triangles, though all of them hide one another.
    void pagesTogetherShowTheField()
    {
        const TriangleMesh mesh = gridMesh(4);
        TextureAtlas atlas = squareAtlas(mesh, squarePacking(mesh.faces(), 10, 30, 4));
        QCOMPARE(atlas.pages, 2);
        TexturedMesh textured{mesh, atlas.uv, {}, atlas.page};
        for (int page = 0; page < atlas.pages; ++page)
            textured.pages.push_back(
                vergence::sugar::fixtures::baked(mesh, pageOf(atlas, page),
                                                 {planeView(aboveCamera(300), linearField)})
                    .pages.front());
        double worst = 0;
        for (std::uint64_t i = 0; i < 1000; ++i) {
            const Probe probe(textured, i % 32, randomBarycentric(i));
            worst = std::max(worst, largestError(probe.colour, linearField(probe.place)));
        }
        QVERIFY2(worst <= 1.0 / 255, qPrintable(QString("%1 of 255").arg(255 * worst)));
    }

    void lookupsReadOnlyTexelsOfTheirTriangle_data()
    {
        QTest::addColumn<int>("square");
        for (const int square : {4, 5, 6, 10, 16})
            QTest::addRow("%d", square) << square;
    }
    void lookupsReadOnlyTexelsOfTheirTriangle()
    {
        QFETCH(int, square);
        const TriangleMesh mesh = sphereMesh(5);
        const TextureAtlas atlas = squareAtlas(mesh, squarePacking(mesh.faces(), square));
        const TexelOwners owners(atlas, 0, atlas.side);
        for (std::uint64_t i = 0; i < 20'000; ++i) {
            const auto f = static_cast<std::size_t>(i % static_cast<std::uint64_t>(mesh.faces()));
            auto b = randomBarycentric(i);
            if (i % 3 == 0) { // on an edge
                b[i % 9 / 3] = 0;
                const double sum = b[0] + b[1] + b[2];
                for (double& part : b)
                    part /= sum;
            }
            double u = 0, v = 0;
            for (std::size_t k = 0; k < 3; ++k) {
                u += b[k] * static_cast<double>(atlas.uv[6 * f + 2 * k]);
                v += b[k] * static_cast<double>(atlas.uv[6 * f + 2 * k + 1]);
            }
            QVERIFY(u >= 0 && u <= 1 && v >= 0 && v <= 1);
            const double x = u * atlas.side - 0.5, y = (1 - v) * atlas.side - 0.5;
            const int left = static_cast<int>(std::floor(x)), top = static_cast<int>(std::floor(y));
            for (int dy = 0; dy < 2; ++dy) {
                for (int dx = 0; dx < 2; ++dx) {
                    const double weight =
                        std::abs(1 - dx - (x - left)) * std::abs(1 - dy - (y - top));
                    const bool counts = weight > 2e-2; // rounding of coordinates
                    QVERIFY(!counts || owners.face[owners.at(top + dy, left + dx)] == f);
                }
            }
        }
    }

    void longestEdgeLiesAlongTheDiagonal()
    {
        TriangleMesh mesh = squareMesh(); // its diagonal is the longest edge of both
        const TextureAtlas atlas = squareAtlas(mesh, squarePacking(2, 10));
        for (std::size_t f = 0; f < 2; ++f) {
            int diagonals = 0;
            for (std::size_t k = 0; k < 3; ++k) {
                const std::size_t a = 3 * f + k, b = 3 * f + (k + 1) % 3;
                const bool isDiagonal = atlas.uv[2 * a] != atlas.uv[2 * b] &&
                                        atlas.uv[2 * a + 1] != atlas.uv[2 * b + 1];
                const std::set<std::uint32_t> ends{mesh.triangle[a], mesh.triangle[b]};
                QCOMPARE(isDiagonal, ends == (std::set<std::uint32_t>{0, 3}));
                diagonals += isDiagonal;
            }
            QCOMPARE(diagonals, 1);
        }
    }

    void linearFieldIsReproducedEverywhere_data()
    {
        QTest::addColumn<int>("square");
        for (const int square : {6, 10, 32})
            QTest::addRow("%d", square) << square;
    }
    void linearFieldIsReproducedEverywhere()
    {
        QFETCH(int, square);
        const TriangleMesh mesh = squareMesh();
        std::vector<BakeView> views;
        for (const Point& eye : {Point{0.5, 0.5, 1.5}, Point{0.2, 0.3, 1.6}, Point{0.9, 0.6, 1.7}})
            views.push_back(planeView(aboveCamera(300, eye), linearField));
        const TexturedMesh textured = baked(mesh, views, {}, square);
        double worst = 0;
        for (std::uint64_t i = 0; i < 1000; ++i) {
            auto b = randomBarycentric(i);
            if (i % 4 == 0) { // within a texel of an edge
                const double part = uniform(9000 + i) / square;
                const double rest = (1 - part) / (b[1] + b[2]);
                b = {part, b[1] * rest, b[2] * rest};
                std::rotate(b.begin(), b.begin() + static_cast<std::ptrdiff_t>(i / 4 % 3), b.end());
            }
            const Probe probe(textured, i % 2, b);
            worst = std::max(worst, largestError(probe.colour, linearField(probe.place)));
        }
        QVERIFY2(worst <= 1.0 / 255, qPrintable(QString("%1 of 255").arg(255 * worst)));
    }

    void depthIsThatOfThePlane()
    {
        // A slanted camera, so that depth varies over the picture.
        const Camera camera = lookingAt({0.5, -0.8, 1.2}, {0.5, 0.5, 0}, {0, 0, 1}, 90, 100, 80);
        const std::vector<float> depth = meshDepth(gridMesh(3), camera, 0.01);
        int seen = 0;
        for (int row = 0; row < 80; ++row) {
            for (int column = 0; column < 100; ++column) {
                const Point p = onPlane(camera, row, column);
                const double z = camera.rotation[6] * p[0] + camera.rotation[7] * p[1] +
                                 camera.rotation[8] * p[2] + camera.translation[2];
                const auto got =
                    static_cast<double>(depth[static_cast<std::size_t>(100 * row + column)]);
                const double inside = std::min({p[0], p[1], 1 - p[0], 1 - p[1]}); // of the square
                if (z > 0 && inside > 1e-6) {
                    QVERIFY(std::abs(got - z) < 1e-5);
                    ++seen;
                } else if (z <= 0 || inside < -1e-6) {
                    QVERIFY(std::isinf(got));
                }
            }
        }
        QVERIFY(seen > 1000);
    }

    void nearestTriangleIsSeen()
    {
        TriangleMesh mesh = gridMesh(1);
        const TriangleMesh upper = gridMesh(1, 0.5, 0.4);
        for (const std::uint32_t v : upper.triangle)
            mesh.triangle.push_back(v + 4);
        mesh.position.insert(mesh.position.end(), upper.position.begin(), upper.position.end());
        const Camera camera = aboveCamera(100);
        const std::vector<float> depth = meshDepth(mesh, camera, 0.01);
        for (int row = 0; row < 100; ++row) {
            for (int column = 0; column < 100; ++column) {
                const Point p = onPlane(camera, row, column, 0.4);
                const bool isUpper =
                    p[0] > 1e-6 && p[0] < 0.5 - 1e-6 && p[1] > 1e-6 && p[1] < 0.5 - 1e-6;
                if (isUpper)
                    QVERIFY(std::abs(depth[static_cast<std::size_t>(100 * row + column)] - 1.1F) <
                            1e-5F);
            }
        }
    }

    void trianglesAreCutAtTheNearPlane()
    {
        // A floor that runs from behind the camera to far in front of it.
        TriangleMesh mesh;
        mesh.position = {-50, -1, -50, 50, -1, -50, 0, -1, 50};
        mesh.triangle = {0, 1, 2};
        const Camera camera = lookingAt({0, 0, 0}, {0, 0, 1}, {0, 1, 0}, 50, 100, 100);
        const std::vector<float> depth = meshDepth(mesh, camera, 0.5);
        for (int row = 0; row < 100; ++row) {
            const float got = depth[static_cast<std::size_t>(100 * row + 50)];
            const double slope = (row + 0.5 - 50) / 50; // y over z
            if (slope > 0.03 && slope < 2)
                QVERIFY(std::abs(static_cast<double>(got) * slope - 1) < 1e-5);
            else if (slope < 0)
                QVERIFY(std::isinf(got));
        }
    }

    void hiddenSurfacesTakeNoColourFromWhatHidesThem()
    {
        // A red roof hides half of a green floor from the first view; the second sees the floor.
        TriangleMesh mesh = gridMesh(1);
        TriangleMesh roof = gridMesh(1, 0.5, 0.4);
        for (const std::uint32_t v : roof.triangle)
            mesh.triangle.push_back(v + 4);
        mesh.position.insert(mesh.position.end(), roof.position.begin(), roof.position.end());
        const Camera above = aboveCamera(200);
        const std::vector<float> depth = meshDepth(mesh, above, 0.01);
        BakeView view{above, makeImage(200, 200, 3)};
        for (std::size_t i = 0; i < depth.size(); ++i) {
            view.image.pixels[3 * i] = depth[i] < 1.3F ? 255 : 0;
            view.image.pixels[3 * i + 1] = depth[i] < 1.3F ? 0 : 255;
        }
        const TexturedMesh textured = baked(mesh, {view}, {}, 24);
        for (std::uint64_t i = 0; i < 400; ++i) {
            const Probe onFloor(textured, i % 2, randomBarycentric(i));
            QVERIFY(onFloor.colour[0] < 0.01 && onFloor.colour[1] > 0.99);
            const Probe onRoof(textured, 2 + i % 2, randomBarycentric(i));
            const double border = std::min(
                {onRoof.place[0], onRoof.place[1], 0.5 - onRoof.place[0], 0.5 - onRoof.place[1]});
            if (border > 0.05) // pixels across the edge mix both, lookups reach a texel further
                QVERIFY(onRoof.colour[0] > 0.99);
        }
    }

    void maskedPixelsSayNothing()
    {
        // Red is masked, green is not; both are seen by one view each.
        const Camera camera = aboveCamera(200);
        BakeView red = planeView(camera, [](const Point&) { return Colour{1, 0, 0}; });
        const BakeView green = planeView(camera, [](const Point&) { return Colour{0, 1, 0}; });
        red.mask.assign(200 * 200, 0);
        const TexturedMesh textured = baked(squareMesh(), {red, green});
        for (std::uint64_t i = 0; i < 100; ++i) {
            const Probe probe(textured, i % 2, randomBarycentric(i));
            QVERIFY(largestError(probe.colour, {0, 1, 0}) < 1e-9);
        }
        red.mask.pop_back();
        VERGENCE_THROWS(ContractError, "a mask needs", baked(squareMesh(), {red}));
    }

    void backsAreNotSeen()
    {
        TriangleMesh mesh = squareMesh();
        for (std::size_t f = 0; f < 6; f += 3)
            std::swap(mesh.triangle[f + 1], mesh.triangle[f + 2]);
        BakeSettings settings;
        settings.unseen = {0.25F, 0.5F, 0.75F};
        const TexturedMesh textured =
            baked(mesh, {planeView(aboveCamera(), linearField)}, settings);
        const Probe probe(textured, 0, {0.3, 0.3, 0.4});
        QVERIFY(largestError(probe.colour, {0.25, 0.5, 0.75}) < 1.0 / 255);
    }

    void nearerThanTheNearPlaneIsNotSeen()
    {
        BakeSettings settings;
        settings.unseen = {0.25F, 0.5F, 0.75F};
        const auto colourAt = [&](double near) { // of a plane 1.5 away
            settings.near = near;
            const TexturedMesh textured =
                baked(squareMesh(), {planeView(aboveCamera(), linearField)}, settings);
            return Probe(textured, 0, {0.3, 0.3, 0.4});
        };
        const Probe seen = colourAt(1.4), cut = colourAt(1.6);
        QVERIFY(largestError(seen.colour, linearField(seen.place)) < 2.0 / 255);
        QVERIFY(largestError(cut.colour, {0.25, 0.5, 0.75}) < 1.0 / 255);
    }

    void unseenTrianglesTakeTheColourOfTheirNeighbours()
    {
        // Only the left half of a strip of squares lies in the picture.
        TriangleMesh mesh = gridMesh(4);
        Camera camera = aboveCamera(200);
        camera.cx += 100; // the right half is outside
        const BakeView view = planeView(camera, [](const Point&) { return Colour{1, 0, 0}; });
        const TexturedMesh textured = baked(mesh, {view});
        for (std::size_t f = 0; f < 32; ++f) {
            const Probe probe(textured, f, {1.0 / 3, 1.0 / 3, 1.0 / 3});
            QVERIFY(largestError(probe.colour, {1, 0, 0}) < 1e-9);
        }
    }

    void robustSweepLeavesOutliersAside()
    {
        const TriangleMesh mesh = squareMesh();
        std::vector<BakeView> views;
        for (int i = 0; i < 5; ++i) {
            const Point eye{0.3 + 0.1 * i, 0.5, 1.5};
            views.push_back(planeView(aboveCamera(200, eye), [&](const Point&) {
                return i == 2 ? Colour{1, 0.4, 0.4} : Colour{0.4, 0.4, 0.4};
            }));
        }
        BakeSettings plain;
        plain.isRobust = false;
        const Probe mixed(baked(mesh, views, plain), 0, {0.3, 0.3, 0.4}),
            robust(baked(mesh, views), 0, {0.3, 0.3, 0.4});
        QVERIFY(mixed.colour[0] > 0.5);
        QVERIFY(std::abs(robust.colour[0] - 0.4) < 2.0 / 255);
    }

    void partsMakeTheSameTexture()
    {
        const TriangleMesh mesh = sphereMesh(6);
        std::vector<BakeView> views;
        for (const Point& eye : {Point{4, 0, 1}, Point{-1, 3, 2}, Point{0, -3, -3}}) {
            const Camera camera = lookingAt(eye, {0, 0, 0}, {0, 0, 1}, 100, 120, 90);
            BakeView view{camera, makeImage(120, 90, 3)};
            for (std::size_t i = 0; i < view.image.pixels.size(); ++i)
                view.image.pixels[i] = static_cast<std::uint8_t>(i * i % 251);
            views.push_back(std::move(view));
        }
        BakeSettings settings, small;
        const TextureAtlas atlas = squareAtlas(mesh, squarePacking(mesh.faces(), 8));
        small.budgetBytes = static_cast<std::size_t>(40 * 16 * atlas.side); // rows of two squares
        TextureBaker baker(mesh, atlas, small, views.size(),
                           [&](std::size_t i) { return views.at(i); });
        QVERIFY(baker.steps() > 6);
        while (!baker.isDone())
            baker.step();
        QVERIFY(baker.seenShare() > 0.3 && baker.seenShare() < 1);
        QVERIFY(baker.finish().pages.at(0).pixels ==
                baked(mesh, views, settings, 8).pages.at(0).pixels);
    }

    void threadsMakeTheSameTexture()
    {
        const TriangleMesh mesh = sphereMesh(12);
        const Camera camera = lookingAt({3, 1, 1}, {0, 0, 0}, {0, 0, 1}, 100, 120, 90);
        BakeView view{camera, makeImage(120, 90, 3)};
        for (std::size_t i = 0; i < view.image.pixels.size(); ++i)
            view.image.pixels[i] = static_cast<std::uint8_t>(i * i % 251);
        const auto pixels = [&](std::size_t threads) {
            const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
            return baked(mesh, {view}).pages.at(0).pixels;
        };
        QVERIFY(pixels(1) == pixels(4));
    }

    void sparesOfTheTextureAreFilled()
    {
        // Three triangles in four halves of squares: the last half has no triangle.
        TriangleMesh mesh = gridMesh(2);
        mesh.triangle.resize(9);
        const TexturedMesh textured = baked(mesh,
                                            {planeView(aboveCamera(),
                                                       [](const Point&) {
                                                           return Colour{1, 1, 1};
                                                       })},
                                            {}, 6);
        const Image& image = textured.pages.at(0);
        QCOMPARE(int(image.row(9)[3 * 1]), 255); // below the first square, without a triangle
    }

    void emptyPixelsTakeTheSmallestSquareAroundThem()
    {
        Image image = makeImage(5, 4, 3);
        std::vector<std::uint8_t> isKnown(20, 0);
        const auto set = [&](std::size_t at, std::uint8_t value) {
            std::fill_n(&image.pixels[3 * at], 3, value);
            isKnown[at] = 1;
        };
        set(0, 10);
        set(1, 30);  // both in the first square of two
        set(14, 99); // alone in the last column
        fillFromCoarser(image, isKnown);
        const auto at = [&](int row, int column) { return int(image.row(row)[3 * column]); };
        QCOMPARE(at(0, 0), 10);
        QCOMPARE(at(0, 1), 30);
        QCOMPARE(at(1, 0), 20); // of the square of two
        QCOMPARE(at(3, 3), 20); // of the square of four
        QCOMPARE(at(3, 4), 99);
        QCOMPARE(at(0, 4), 99);
        Image unknown = makeImage(3, 3, 3, 7);
        fillFromCoarser(unknown, std::vector<std::uint8_t>(9, 0));
        QVERIFY(unknown.pixels == makeImage(3, 3, 3, 7).pixels);
    }

    void densityIsThatOfTheNearestCamera()
    {
        const TriangleMesh mesh = gridMesh(8);
        const Camera near = aboveCamera(200), far = aboveCamera(200, {0.5, 0.5, 3});
        QVERIFY(std::abs(pictureDensity(mesh, {far}, 0.01) - 180 / 3.0) < 1e-3);
        QVERIFY(std::abs(pictureDensity(mesh, {far, near}, 0.01) - 180 / 1.5) < 1e-3);
        // What the near plane cuts off is seen by nobody.
        QVERIFY(std::abs(pictureDensity(mesh, {far, near}, 2) - 180 / 3.0) < 1e-3);
        QCOMPARE(pictureDensity(mesh, {near}, 2), 0.0);
        // One that sees less than half of the surface does not count.
        const Camera close = aboveCamera(200, {0.2, 0.2, 0.2});
        QVERIFY(std::abs(pictureDensity(mesh, {far, close}, 0.01) - 180 / 3.0) < 1e-3);
        const Camera away = lookingAt({0, 0, 1}, {0, 0, 2}, {0, 1, 0}, 100, 100, 100);
        QCOMPARE(pictureDensity(mesh, {away}, 0.01), 0.0);
    }

    /// A painted plane from aside shows the field where its rays meet it.
    void pictureOfThePlaneIsTheField()
    {
        const TexturedMesh painted =
            baked(gridMesh(2), {planeView(aboveCamera(300), linearField)}, {}, 40);
        const Camera aside = lookingAt({0.9, -0.6, 1.2}, {0.5, 0.5, 0}, {0, 0, 1}, 90, 100, 80);
        const Image picture = meshPicture(painted, aside, 0.01, 1);
        const MeshHits hits = meshHits(painted.mesh, aside, 0.01);
        double worst = 0;
        int seen = 0;
        for (int row = 0; row < picture.height; ++row) {
            for (int column = 0; column < picture.width; ++column) {
                const Point at = onPlane(aside, row, column);
                const double border = std::min({at[0], at[1], 1 - at[0], 1 - at[1]});
                const std::uint8_t* pixel = picture.row(row) + 4 * column;
                if (border < -0.02) {
                    QCOMPARE(int(pixel[3]), 0);
                    continue;
                }
                if (border < 0.02)
                    continue;
                QCOMPARE(int(pixel[3]), 255);
                const std::size_t face = hits.face[static_cast<std::size_t>(row) * 100 +
                                                   static_cast<std::size_t>(column)];
                QVERIFY(face < 8);
                const Colour colour{pixel[0] / 255.0, pixel[1] / 255.0, pixel[2] / 255.0};
                worst = std::max(worst, largestError(colour, linearField(at)));
                ++seen;
            }
        }
        QVERIFY(seen > 1000);
        QVERIFY2(worst <= 2.0 / 255, qPrintable(QString("%1 of 255").arg(255 * worst)));
    }

    void pictureWithoutTextureShowsColoursOfVertices()
    {
        TexturedMesh bare;
        bare.mesh = squareMesh();
        const Camera above = aboveCamera(40);
        QCOMPARE(int(meshPicture(bare, above, 0.01).row(20)[4 * 20]), 205);
        bare.mesh.colour = {255, 0, 0, 255, 0, 0, 255, 0, 0, 255, 0, 0};
        const Image picture = meshPicture(bare, above, 0.01);
        QCOMPARE(int(picture.row(20)[4 * 20]), 255);
        QCOMPARE(int(picture.row(20)[4 * 20 + 1]), 0);
        QCOMPARE(int(picture.row(0)[3]), 0);
        const Image flat = onBackground(picture, {10, 20, 30});
        QCOMPARE(int(flat.row(0)[2]), 30);
        QCOMPARE(int(flat.row(20)[3 * 20]), 255);
    }

    void atlasesOfOtherMeshesAreRefused()
    {
        const TriangleMesh mesh = squareMesh();
        TextureAtlas atlas = squareAtlas(mesh, squarePacking(2));
        atlas.uv.pop_back();
        VERGENCE_THROWS(ContractError, "another mesh",
                        TextureBaker(mesh, atlas, {}, 1, [](std::size_t) { return BakeView{}; }));
    }
};

VERGENCE_TEST(TestSugarTexture)
#include "tst_sugar_texture.moc"
