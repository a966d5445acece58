#include <QTest>

#include <cmath>
#include <map>
#include <numeric>

#include "core/compute/device.h"
#include "core/compute/rng.h"
#include "plugins/sugar/refine/binding_file.h"
#include "plugins/sugar/refine/refiner.h"
#include "tests/plugins/sugar/learning_support.h"
#include "tests/plugins/sugar/refine_support.h"
#include "tests/support/device_table.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::sugar;
using namespace vergence::sugar::fixtures;
using namespace vergence::test;

namespace {

constexpr int kSteps = 120; ///< five rounds of the pictures

/// Sphere and floor of the built-in scene, a little beside the truth, grey.
TriangleMesh startMesh()
{
    TriangleMesh mesh = sphereMesh(12, 0.43, {0.01, -0.24, 0.45});
    const TriangleMesh floor = gridMesh(12, 2.4);
    const auto before = static_cast<std::uint32_t>(mesh.vertices());
    for (std::size_t i = 0; i < floor.position.size(); ++i)
        mesh.position.push_back(floor.position[i] - (i % 3 < 2 ? 1.2F : 0.0F));
    for (const std::uint32_t v : floor.triangle)
        mesh.triangle.push_back(before + v);
    return mesh;
}

RefinerSettings smallSettings()
{
    RefinerSettings settings;
    settings.steps = kSteps;
    settings.extent = 2.6;
    settings.near = 0.05F;
    settings.degree = 1;
    settings.background = {.62F, .72F, .85F};
    return settings;
}

struct Bench {
    std::shared_ptr<Device> device;
    std::unique_ptr<Stream> stream = device->createStream();
    Refiner refiner;

    explicit Bench(const std::shared_ptr<Device>& on,
                   const RefinerSettings& settings = smallSettings())
        : device(on),
          refiner(on, settings,
                  std::make_shared<TrainingPictures>(builtInPictures(64, 48, false, 1), on),
                  trainingViews())
    {
    }
    static std::vector<std::size_t> trainingViews()
    {
        const auto source = builtInPictures(64, 48, false, 1);
        std::vector<std::size_t> views;
        for (std::size_t i = 0; i < source->count(); ++i) {
            if (!source->isTest(i).value_or(false))
                views.push_back(i);
        }
        return views;
    }
    std::vector<RefineReport> run(int steps)
    {
        std::vector<RefineReport> reports(static_cast<std::size_t>(steps));
        for (RefineReport& report : reports)
            refiner.step(*stream, {}, report);
        return reports;
    }
    std::map<std::string, std::vector<float>> state()
    {
        std::map<std::string, std::vector<float>> all;
        for (const auto& named : refiner.tensors())
            all[named.name] = named.tensor.toHost<float>(*stream);
        const GaussianCloud cloud = download(*stream, refiner.gaussians());
        all["placed.position"] = cloud.position;
        all["placed.rotation"] = cloud.rotation;
        return all;
    }
};

double meanLoss(const std::vector<RefineReport>& reports, std::size_t first, std::size_t count)
{
    double sum = 0;
    for (std::size_t i = first; i < first + count; ++i)
        sum += reports[i].value.loss;
    return sum / static_cast<double>(count);
}

} // namespace

class TestSugarRefiner : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void refinementLowersTheLoss_data() { addDeviceRows(); }
    void refinementLowersTheLoss()
    {
        VERGENCE_ROW_DEVICE(device);
        Bench bench(device);
        const TriangleMesh start = startMesh();
        bench.refiner.start(*bench.stream, start);
        const auto reports = bench.run(kSteps);
        QVERIFY(bench.refiner.isDone());
        const double first = meanLoss(reports, 0, 24), last = meanLoss(reports, 96, 24);
        QVERIFY2(last < 0.75 * first, qPrintable(QString("%1 to %2").arg(first).arg(last)));
        for (const RefineReport& report : reports) {
            QCOMPARE(report.notFinite, Index{0});
            QVERIFY(std::abs(report.loss - report.value.loss - 0.1 * report.normal) < 1e-12);
        }
        const TriangleMesh mesh = bench.refiner.mesh(*bench.stream);
        QCOMPARE(mesh.triangle, start.triangle);
        QVERIFY(mesh.position != start.position);
    }

    void gaussiansStayOnTheirTriangles()
    {
        RefinerSettings settings = smallSettings();
        settings.perTriangle = 3;
        settings.steps = 6;
        Bench bench(makeCpuDevice(1), settings);
        bench.refiner.start(*bench.stream, startMesh());
        bench.run(6);
        const TriangleMesh mesh = bench.refiner.mesh(*bench.stream);
        const GaussianCloud cloud = download(*bench.stream, bench.refiner.gaussians());
        QCOMPARE(cloud.count(), 3 * mesh.faces());
        const BindingPattern pattern = bindingPattern(3);
        for (std::size_t i = 0; i < static_cast<std::size_t>(cloud.count()); ++i) {
            for (std::size_t axis = 0; axis < 3; ++axis) {
                double wanted = 0;
                for (std::size_t k = 0; k < 3; ++k) {
                    const std::size_t v = mesh.triangle[3 * (i / 3) + k];
                    wanted += pattern.barycentric[i % 3][k] *
                              static_cast<double>(mesh.position[3 * v + axis]);
                }
                QVERIFY(std::abs(static_cast<double>(cloud.position[3 * i + axis]) - wanted) <
                        1e-6);
            }
            QVERIFY(std::abs(cloud.logScale[3 * i] - std::log(2.6e-6F)) < 1e-5F);
        }
    }

    void numbersDoNotDependOnThreads()
    {
        const auto after = [](int threads) {
            Bench bench(makeCpuDevice(threads));
            bench.refiner.start(*bench.stream, startMesh());
            bench.run(10);
            return bench.state();
        };
        QVERIFY(after(1) == after(2));
    }

    void resumingGoesOnAsIfNeverStopped()
    {
        RefinerSettings settings = smallSettings();
        settings.smoothingWeight = 0.05;
        Bench whole(makeCpuDevice(1), settings), first(makeCpuDevice(1), settings),
            second(makeCpuDevice(1), settings);
        whole.refiner.start(*whole.stream, startMesh());
        const auto wanted = whole.run(20);
        first.refiner.start(*first.stream, startMesh());
        first.run(9);
        auto state = first.state();
        second.refiner.restore(*second.stream, startMesh(), first.refiner.stepsDone(),
                               [&](const std::string& name) { return state.at(name); });
        const auto rest = second.run(11);
        QCOMPARE(rest.back().step, std::int64_t{20});
        QCOMPARE(rest.back().picture, wanted.back().picture);
        QCOMPARE(rest.back().loss, wanted.back().loss);
        QVERIFY(second.state() == whole.state());
    }

    void stoppedStepsChangeNothing()
    {
        Bench bench(makeCpuDevice(1));
        bench.refiner.start(*bench.stream, startMesh());
        bench.run(2);
        const auto before = bench.state();
        RefineReport report;
        QVERIFY(!bench.refiner.step(
            *bench.stream, [] { return true; }, report));
        QCOMPARE(bench.refiner.stepsDone(), std::int64_t{2});
        QVERIFY(bench.state() == before);
    }

    void normalTermFlattens()
    {
        const auto after = [](double weight) {
            RefinerSettings settings = smallSettings();
            settings.normalWeight = weight;
            settings.rates.position = settings.rates.positionFinal = 1e-3;
            TriangleMesh mesh = startMesh();
            for (std::size_t i = 0; i < mesh.position.size(); ++i)
                mesh.position[i] += 0.02F * (Rng(3).uniform(i) - 0.5F);
            Bench bench(makeCpuDevice(2), settings);
            bench.refiner.start(*bench.stream, mesh);
            return bench.run(24).back().normal;
        };
        const double with = after(10), without = after(0);
        QVERIFY2(with < 0.7 * without, qPrintable(QString("%1, %2").arg(with).arg(without)));
    }

    void fixedOpacityStays()
    {
        RefinerSettings settings = smallSettings();
        settings.fixedOpacity = true;
        Bench bench(makeCpuDevice(1), settings);
        bench.refiner.start(*bench.stream, startMesh());
        bench.run(3);
        for (const float logit : bench.refiner.parameters().opacity.toHost<float>(*bench.stream))
            QVERIFY(std::abs(1 / (1 + std::exp(-logit)) - 0.9999F) < 1e-6F);
    }

    void bandsOfShortRunsFollowOneAnother()
    {
        RefinerSettings settings = smallSettings();
        settings.steps = 14;
        settings.degree = 3;
        Bench bench(makeCpuDevice(1), settings);
        bench.refiner.start(*bench.stream, startMesh());
        std::vector<int> degrees;
        for (int i = 0; i < 8; ++i) {
            bench.run(1);
            degrees.push_back(bench.refiner.rasterSettings().shDegree);
        }
        QCOMPARE(degrees, (std::vector<int>{0, 0, 1, 1, 2, 2, 3, 3}));
    }

    void recordFitsTheCloud()
    {
        RefinerSettings settings = smallSettings();
        settings.perTriangle = 6;
        Bench bench(makeCpuDevice(1), settings);
        bench.refiner.start(*bench.stream, startMesh());
        bench.run(3);
        const BindingRecord record =
            bindingRecord(*bench.stream, bench.refiner.binding(), bench.refiner.parameters());
        const TriangleMesh mesh = bench.refiner.mesh(*bench.stream);
        const GaussianCloud cloud = download(*bench.stream, bench.refiner.gaussians());
        const GaussianCloud same = redriven(cloud, record, mesh, mesh);
        for (std::size_t i = 0; i < cloud.position.size(); ++i) {
            QVERIFY(std::abs(same.position[i] - cloud.position[i]) < 1e-6F);
            QVERIFY(std::abs(same.logScale[i] - cloud.logScale[i]) < 1e-5F);
        }
        for (std::size_t i = 0; i < cloud.rotation.size(); i += 4) {
            const float along =
                std::inner_product(cloud.rotation.begin() + static_cast<std::ptrdiff_t>(i),
                                   cloud.rotation.begin() + static_cast<std::ptrdiff_t>(i + 4),
                                   same.rotation.begin() + static_cast<std::ptrdiff_t>(i), 0.0F);
            QVERIFY(std::abs(std::abs(along) - 1) < 1e-5F);
        }
    }

    void damagedCheckpointsAreRefused()
    {
        Bench bench(makeCpuDevice(1));
        VERGENCE_THROWS(
            InputError, "value.vertex has 5 numbers",
            bench.refiner.restore(*bench.stream, startMesh(), 3,
                                  [](const std::string&) { return std::vector<float>(5); }));
    }

    void meshesWithoutTrianglesAreRefused()
    {
        Bench bench(makeCpuDevice(1));
        VERGENCE_THROWS(InputError, "no triangles", bench.refiner.start(*bench.stream, {}));
    }
};

VERGENCE_TEST(TestSugarRefiner)
#include "tst_sugar_refiner.moc"
