#include <cmath>
#include <limits>

#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#include "core/base/error.h"
#include "plugins/sugar/mesh/mesh_cleaning.h"
#include "plugins/sugar/surface/poisson.h"
#include "tests/plugins/sugar/surface_support.h"
#include "tests/support/environment.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::sugar;
using namespace vergence::sugar::fixtures;
using test::ScopedVariable;

namespace {

SurfacePoints spherePoints(int count)
{
    SurfacePoints points;
    for (int i = 0; i < count; ++i) {
        const Point3 n = fibonacciPoint(i, count);
        for (std::size_t k = 0; k < 3; ++k) {
            points.position.push_back(static_cast<float>(n[k]));
            points.normal.push_back(static_cast<float>(n[k]));
            points.colour.push_back(0);
        }
        points.level.push_back(0);
    }
    return points;
}

/// A program in the place of the one that reconstructs.
class StandIn {
public:
    explicit StandIn(const QByteArray& script)
    {
        QFile file(m_folder.filePath("vergence-sugar-poisson"));
        if (!file.open(QIODevice::WriteOnly))
            qFatal("no place for the program");
        file.write("#!/bin/sh\n" + script + "\n");
        file.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    }

private:
    QTemporaryDir m_folder;
    ScopedVariable m_modules{"VERGENCE_MODULE_PATH", m_folder.path().toUtf8()};
};

} // namespace

/// Poisson reconstruction by the program beside the libraries; skipped where it was not built.
class TestSugarPoisson : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void aSphereIsClosed()
    {
        if (!hasPoisson())
            QSKIP("built without Open3D");
        const Reconstruction result = poissonSurface(spherePoints(20'000), {.depth = 7});
        const MeshQuality quality = measured(result.mesh);
        QCOMPARE(quality.eulerNumber, Index(2));
        QVERIFY(quality.isClosed());
        QCOMPARE(quality.components, Index(1));
        const Radii radii(result.mesh.position);
        const QString found =
            QString("%1 %2 %3").arg(radii.least).arg(radii.mean).arg(radii.greatest);
        qInfo("%s", qPrintable(found));
        QVERIFY2(radii.least > 1 - 0.015 && radii.greatest < 1 + 0.015, qPrintable(found));
        QVERIFY(quality.volume > 0); // wound outwards
        QCOMPARE(result.density.size(), static_cast<std::size_t>(result.mesh.vertices()));
        TriangleMesh kept = result.mesh;
        clean(kept, result.density, {.quantile = 0.1});
        QVERIFY(kept.faces() < result.mesh.faces());
    }

    void equalPointsGiveEqualBits()
    {
        if (!hasPoisson())
            QSKIP("built without Open3D");
        const SurfacePoints points = spherePoints(20'000);
        const Reconstruction first = poissonSurface(points, {.depth = 7});
        const Reconstruction second = poissonSurface(points, {.depth = 7});
        QCOMPARE(second.mesh.position, first.mesh.position);
        QCOMPARE(second.mesh.triangle, first.mesh.triangle);
        QCOMPARE(second.density, first.density);
    }

    void fewPointsAndStops()
    {
        if (!hasPoisson())
            QSKIP("built without Open3D");
        QCOMPARE(poissonSurface(spherePoints(2), {.depth = 4}).mesh.faces(), Index(0));
        QCOMPARE(poissonSurface({}, {.depth = 4}).mesh.faces(), Index(0));
        int asked = 0;
        const Reconstruction stopped =
            poissonSurface(spherePoints(200'000), {.depth = 10}, [&] { return ++asked > 2; });
        QCOMPARE(stopped.mesh.faces(), Index(0));
        QCOMPARE(asked, 3);
    }

    void badInputIsRefused()
    {
        if (!hasPoisson())
            QSKIP("built without Open3D");
        SurfacePoints bad = spherePoints(100);
        bad.normal[7] = std::numeric_limits<float>::quiet_NaN();
        QVERIFY_EXCEPTION_THROWN(poissonSurface(bad, {.depth = 5}), ContractError);
        QVERIFY_EXCEPTION_THROWN(poissonSurface(spherePoints(100), {.depth = 0}), ContractError);
        QVERIFY_EXCEPTION_THROWN(poissonSurface(spherePoints(100), {.scale = 1}), ContractError);
    }

    void failuresOfTheProgramAreTold_data()
    {
        QTest::addColumn<QByteArray>("script");
        QTest::addColumn<QString>("told");
        QTest::newRow("exit code") << QByteArray("echo no memory >&2; exit 3") << "exit code 3";
        QTest::newRow("its own words") << QByteArray("echo no memory >&2; exit 3") << "no memory";
        QTest::newRow("signal") << QByteArray("kill -9 $$") << "signal 9";
        QTest::newRow("no answer") << QByteArray("exit 0") << "cannot be read";
        QTest::newRow("nonsense") << QByteArray("head -c 400 /dev/zero") << "cannot be read";
    }
    void failuresOfTheProgramAreTold()
    {
        QFETCH(QByteArray, script);
        QFETCH(QString, told);
        const StandIn program(script);
        try {
            poissonSurface(spherePoints(100), {.depth = 5});
            QFAIL("a failure was not told");
        } catch (const Error& error) {
            QVERIFY2(QString(error.what()).contains(told), error.what());
        }
    }

    void aStopEndsTheProgram()
    {
        const StandIn program("exec sleep 600");
        int asked = 0;
        poissonSurface(spherePoints(100), {.depth = 5}, [&] { return ++asked > 3; });
        QCOMPARE(asked, 4); // this line is reached before the program's ten minutes are over
    }

    void absenceIsTold()
    {
        std::string reason;
        if (hasPoisson(&reason)) {
            QVERIFY(reason.empty());
            return;
        }
        QVERIFY(!reason.empty());
        QVERIFY_EXCEPTION_THROWN(poissonSurface(spherePoints(100), {.depth = 5}), Error);
    }
};

VERGENCE_TEST(TestSugarPoisson)
#include "tst_sugar_poisson.moc"
