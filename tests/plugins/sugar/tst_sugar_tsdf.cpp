#include <algorithm>
#include <cmath>
#include <limits>

#include <QTest>

#include <tbb/global_control.h>

#include "core/base/error.h"
#include "core/compute/rng.h"
#include "plugins/sugar/mesh/mesh_cleaning.h"
#include "plugins/sugar/mesh/mesh_topology.h"
#include "plugins/sugar/spatial/point_tree.h"
#include "plugins/sugar/surface/surface_points.h"
#include "plugins/sugar/surface/tsdf.h"
#include "tests/plugins/sugar/surface_support.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::sugar;
using namespace vergence::sugar::fixtures;

namespace {

SceneBox unitBox(double halfSize)
{
    SceneBox box;
    box.halfSize = {halfSize, halfSize, halfSize};
    box.reach = 1;
    return box;
}

/// Cameras all about the unit sphere.
std::vector<Camera> camerasAllAround()
{
    std::vector<Camera> cameras;
    for (const double height : {-2.4, -1.0, 1.0, 2.4}) {
        for (const Camera& camera : ringCameras(8, std::sqrt(9 - height * height), height))
            cameras.push_back(camera);
    }
    cameras.push_back(lookingAt({0, 0, 3}, {0, 0, 0}, {0, 1, 0}, 150, 128, 128));
    cameras.push_back(lookingAt({0, 0, -3}, {0, 0, 0}, {0, 1, 0}, 150, 128, 128));
    return cameras;
}

/// Places on the faces of a mesh, as many on each as its area asks for.
std::vector<float> samplesOf(const TriangleMesh& mesh, double perArea)
{
    const Rng rng(3);
    std::vector<float> samples;
    double due = 0;
    std::uint64_t next = 0;
    for (std::size_t f = 0; f < static_cast<std::size_t>(mesh.faces()); ++f) {
        const std::uint32_t* v = &mesh.triangle[3 * f];
        const Point3 a = vertexOf(mesh, v[0]), ab = vertexOf(mesh, v[1]) - a,
                     ac = vertexOf(mesh, v[2]) - a;
        for (due += perArea * faceArea(mesh, f); due >= 1; due -= 1) {
            double s = rng.uniform(next), t = rng.uniform(next + 1);
            next += 2;
            if (s + t > 1) {
                s = 1 - s;
                t = 1 - t;
            }
            const Point3 p = a + s * ab + t * ac;
            for (std::size_t k = 0; k < 3; ++k)
                samples.push_back(static_cast<float>(p[k]));
        }
    }
    return samples;
}

} // namespace

/// Fusion of depth views: exact views of known surfaces give these surfaces.
class TestSugarTsdf : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void aSphereIsClosed()
    {
        TsdfSettings settings;
        settings.voxel = 0.04;
        settings.referenceDepth = 3;
        TsdfVolume volume(settings, unitBox(1.5), Region::Foreground);
        for (const Camera& camera : camerasAllAround())
            volume.fuse(exactView(camera, sphereHit));
        const Reconstruction result = volume.reconstruct();
        const MeshQuality quality = measured(result.mesh);
        QCOMPARE(quality.eulerNumber, Index(2));
        QVERIFY(quality.isClosed());
        QCOMPARE(quality.nonManifoldVertices, Index(0));
        const Radii radii(result.mesh.position);
        const QString found =
            QString("%1 %2 %3").arg(radii.least).arg(radii.mean).arg(radii.greatest);
        QVERIFY2(radii.least > 0.99 && radii.greatest < 1.01, qPrintable(found));
        QVERIFY2(std::abs(radii.mean - 1) < 0.003, qPrintable(found));
        QCOMPARE(result.density.size(), static_cast<std::size_t>(result.mesh.vertices()));
        QVERIFY(*std::min_element(result.density.begin(), result.density.end()) > 1);
        QCOMPARE(volume.bytes(), static_cast<std::size_t>(volume.blocks()) * 4096);
        QVERIFY(volume.blocks() < 2000); // of 3,375 in the box of 15³ blocks: near the surface only
    }

    void aPlaneIsExact()
    {
        // One view from the side: planes fall on planes whatever the angle.
        const auto planeHit = [](const Camera& camera, double u, double v) -> SurfaceHit {
            const double ray[3] = {(u - camera.cx) / camera.fx, (v - camera.cy) / camera.fy, 1};
            double z = 0;
            for (std::size_t k = 0; k < 3; ++k)
                z += camera.rotation[3 * k + 2] * ray[k];
            const double depth = -camera.centre()[2] / z;
            return z < 0 ? SurfaceHit{depth, {0, 0, 1}} : SurfaceHit{};
        };
        TsdfSettings settings;
        settings.voxel = 0.05;
        settings.leastWeight = 0;
        TsdfVolume volume(settings, unitBox(1), Region::Foreground);
        volume.fuse(exactView(lookingAt({2, 1, 2}, {0, 0, 0}, {0, 0, 1}, 200, 160, 160), planeHit));
        const TriangleMesh mesh = volume.reconstruct().mesh;
        QVERIFY(mesh.faces() > 500);
        for (std::size_t i = 2; i < mesh.position.size(); i += 3)
            QVERIFY(std::abs(mesh.position[i]) < 6e-5F); // vertices keep 0.1 % from nodes
        for (std::size_t f = 0; f < static_cast<std::size_t>(mesh.faces()); ++f)
            QVERIFY(faceVector(mesh, f).z > 0);
    }

    void theBuiltInSceneIsFound()
    {
        const Scene scene = syntheticScene();
        const SceneBox box = unitBox(1.25);
        TsdfSettings settings;
        settings.voxel = box.voxelOf(Region::Foreground, 7);
        settings.referenceDepth = 2.4;
        TsdfVolume volume(settings, box, Region::Foreground);
        std::vector<float> truth;
        for (const SourceView& view : scene.views) {
            if (view.isTest.value_or(false))
                continue;
            const DepthView exact =
                exactView(pinholeCamera(scene.cameras[static_cast<std::size_t>(view.camera)], view),
                          syntheticHit);
            volume.fuse(exact);
            for (const std::uint32_t pixel : drawnPixels(exact, 2000, 1, 1)) {
                const auto c = exact.camera.centre();
                for (std::size_t i = 0; i < 3; ++i) {
                    const double ray[3] = {(pixel % 160 + 0.5 - exact.camera.cx) / exact.camera.fx,
                                           (pixel / 160 + 0.5 - exact.camera.cy) / exact.camera.fy,
                                           1};
                    double x = c[i];
                    for (std::size_t k = 0; k < 3; ++k)
                        x += exact.camera.rotation[3 * k + i] * ray[k] * exact.depth[pixel];
                    truth.push_back(static_cast<float>(x));
                }
            }
        }
        TriangleMesh mesh = volume.reconstruct().mesh;
        clean(mesh, {}, {});
        const std::vector<float> samples = samplesOf(mesh, 5000);
        const auto isInside = [](const float* p) {
            return std::abs(p[0]) < 1 && std::abs(p[1]) < 1;
        };
        double toTruth = 0, toMesh = 0;
        int fromMesh = 0, fromTruth = 0;
        for (std::size_t i = 0; i < samples.size(); i += 3) {
            if (!isInside(&samples[i]))
                continue;
            toTruth += syntheticDistance({samples[i], samples[i + 1], samples[i + 2]});
            ++fromMesh;
        }
        const PointTree<float> tree(samples);
        for (std::size_t i = 0; i < truth.size(); i += 3) {
            if (!isInside(&truth[i]))
                continue;
            std::array<std::uint32_t, 1> index{};
            std::array<double, 1> squared{};
            tree.nearest(&truth[i], 1, index, squared);
            toMesh += std::sqrt(squared[0]);
            ++fromTruth;
        }
        toTruth /= fromMesh;
        toMesh /= fromTruth;
        const QString found = QString("mesh to truth %1, truth to mesh %2, %3 faces")
                                  .arg(toTruth)
                                  .arg(toMesh)
                                  .arg(mesh.faces());
        qInfo("%s", qPrintable(found));
        QVERIFY2(toTruth < 0.004, qPrintable(found)); // 0.02 is asked for of the trained model
        QVERIFY2(toMesh < 0.010, qPrintable(found));  // samples lie 0.007 apart
        QVERIFY(nonManifoldEdges(edgesOf(mesh)).empty());
    }

    void viewsCanComeFromARenderer()
    {
        const auto device = makeCpuDevice();
        const auto stream = device->createStream();
        const GaussianCloud cloud = sphereCloud(3000);
        const Gaussians gaussians = upload(*stream, device, cloud, cloud.count(), 0);
        DepthRenderer renderer(device, {.shDegree = 0});
        TsdfSettings settings;
        settings.voxel = 0.05;
        settings.referenceDepth = 3;
        TsdfVolume volume(settings, unitBox(1.5), Region::Foreground);
        for (const Camera& camera : camerasAllAround()) {
            const DepthView view = renderer.render(*stream, gaussians, camera, 0.75);
            QCOMPARE(view.camera.width, 96);
            volume.fuse(view);
        }
        TriangleMesh mesh = volume.reconstruct().mesh;
        clean(mesh, {}, {});
        const MeshQuality quality = measured(mesh);
        QCOMPARE(quality.eulerNumber, Index(2));
        QVERIFY(quality.isClosed());
        const Radii radii(mesh.position);
        const QString found =
            QString("%1 %2 %3").arg(radii.least).arg(radii.mean).arg(radii.greatest);
        QVERIFY2(std::abs(radii.mean - 1) < 0.02, qPrintable(found));
        QVERIFY2(radii.least > 0.96 && radii.greatest < 1.04, qPrintable(found));
    }

    void normalsOfARendererFaceTheCamera()
    {
        const auto device = makeCpuDevice();
        const auto stream = device->createStream();
        const GaussianCloud cloud = sphereCloud(2000);
        DepthRenderer renderer(device, {.shDegree = 0});
        const Camera camera = ringCameras(1, 3, 1, 64, 75)[0];
        const DepthView view =
            renderer.render(*stream, upload(*stream, device, cloud, cloud.count(), 0), camera);
        int covered = 0;
        double depthError = 0, cosines = 0;
        for (int row = 0; row < 64; ++row) {
            for (int column = 0; column < 64; ++column) {
                const SurfaceHit hit = sphereHit(camera, column + 0.5, row + 0.5);
                const auto i = static_cast<std::size_t>(64 * row + column);
                if (hit.depth == 0 || view.depth[i] == 0 || hasDepthStep(view, row, column))
                    continue;
                ++covered;
                depthError += std::abs(view.depth[i] - hit.depth);
                double cosine = 0;
                for (std::size_t k = 0; k < 3; ++k)
                    cosine += hit.normal[k] * view.normal[3 * i + k];
                QVERIFY(cosine > 0.8);
                cosines += cosine;
            }
        }
        QVERIFY(covered > 1000);
        QVERIFY2(depthError / covered < 0.02, qPrintable(QString::number(depthError / covered)));
        QVERIFY2(cosines / covered > 0.99, qPrintable(QString::number(cosines / covered)));
    }

    void oneRegionAtATime()
    {
        TsdfSettings settings;
        settings.voxel = 0.1;
        settings.leastWeight = 0;
        SceneBox box = unitBox(0.9); // the poles of the sphere stick out
        box.reach = 4;
        TsdfVolume inside(settings, box, Region::Foreground),
            outside(settings, box, Region::Background);
        for (const Camera& camera : camerasAllAround()) {
            inside.fuse(exactView(camera, sphereHit));
            outside.fuse(exactView(camera, sphereHit));
        }
        const TriangleMesh core = inside.reconstruct().mesh, rest = outside.reconstruct().mesh;
        QVERIFY(core.faces() > 500 && rest.faces() > 100);
        for (const float x : core.position)
            QVERIFY(std::abs(x) < 0.9 + 0.4);
    }

    void threadsDoNotMatter()
    {
        const auto result = [] {
            TsdfSettings settings;
            settings.voxel = 0.08;
            settings.leastWeight = 0;
            TsdfVolume volume(settings, unitBox(1.5), Region::Foreground);
            for (const Camera& camera : ringCameras(4, 3, 1))
                volume.fuse(exactView(camera, sphereHit));
            return volume.reconstruct();
        };
        const Reconstruction many = result();
        const tbb::global_control one(tbb::global_control::max_allowed_parallelism, 1);
        const Reconstruction alone = result();
        QVERIFY(many.mesh.faces() > 500);
        QCOMPARE(alone.mesh.position, many.mesh.position);
        QCOMPARE(alone.mesh.triangle, many.mesh.triangle);
        QCOMPARE(alone.density, many.density);
    }

    void badViewsAreRefusedAndNansIgnored()
    {
        TsdfSettings settings;
        settings.voxel = 0.1;
        settings.leastWeight = 0;
        TsdfVolume volume(settings, unitBox(1.5), Region::Foreground);
        QCOMPARE(volume.reconstruct().mesh.faces(), Index(0));
        DepthView view = exactView(ringCameras(1, 3, 0)[0], sphereHit);
        view.depth.pop_back();
        QVERIFY_EXCEPTION_THROWN(volume.fuse(view), ContractError);
        view = exactView(ringCameras(1, 3, 0)[0], sphereHit);
        for (std::size_t i = 0; i < view.depth.size(); i += 7)
            view.depth[i] = std::numeric_limits<float>::quiet_NaN();
        for (std::size_t i = 0; i < view.normal.size(); i += 11)
            view.normal[i] = std::numeric_limits<float>::quiet_NaN();
        volume.fuse(view);
        for (const float x : volume.reconstruct().mesh.position)
            QVERIFY(std::isfinite(x));
        settings.voxel = 0;
        QVERIFY_EXCEPTION_THROWN(TsdfVolume(settings, unitBox(1), Region::Foreground),
                                 ContractError);
    }
};

VERGENCE_TEST(TestSugarTsdf)
#include "tst_sugar_tsdf.moc"
