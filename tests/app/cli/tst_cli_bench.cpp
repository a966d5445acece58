#include "tests/app/cli/cli_bench.h"

#include "core/base/file.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::test;
using nlohmann::json;
namespace fs = std::filesystem;

/// What labs measure, from the command line.
class CliBenchTest : public CliBench {
    Q_OBJECT

private Q_SLOTS:
    void init() { makeHome(); }

    void firstBenchmarkIsTheDefault();
    void repeatsRunInTheirOwnProcesses();
    void answersAreWritten();
    void exitCodesTellTheOutcome();
    void labWithoutBenchmarksSaysSo();
};

void CliBenchTest::firstBenchmarkIsTheDefault()
{
    const Outcome plain = vergence({"bench", "heat"});
    QVERIFY2(plain.code == 0, qPrintable(plain.err));
    QCOMPARE(plain.out, QString("# sizes\n"));
    const json report = vergence({"bench", "heat", "size", "--json", "--set", "size=48", "--save",
                                  "a", "--device", "cpu"})
                            .parsed();
    QCOMPARE(report["sizes"][0].get<int>(), 48);
    QCOMPARE(report["saved"].get<std::string>(), std::string("a"));
    QCOMPARE(report["device"].get<std::string>(), std::string("cpu"));
    QVERIFY(report["store"].get<std::string>().ends_with("bench/heat"));
}

void CliBenchTest::repeatsRunInTheirOwnProcesses()
{
    const json report =
        vergence({"bench", "heat", "--json", "--repeats", "3", "--set", "size=40"}).parsed();
    QCOMPARE(report["sizes"].size(), std::size_t{3});
    for (const json& size : report["sizes"])
        QCOMPARE(size.get<int>(), 40); // the configuration went along
}

void CliBenchTest::answersAreWritten()
{
    const QString out = path("measured");
    QCOMPARE(vergence({"bench", "heat", "--out", out}).code, 0);
    const fs::path folder = out.toStdString();
    QCOMPARE(readFile(folder / "bench.md"), std::string("# sizes\n"));
    QCOMPARE(readFile(folder / "bench.csv"), std::string("size\n"));
    QVERIFY(json::parse(readFile(folder / "bench.json")).contains("sizes"));
}

void CliBenchTest::exitCodesTellTheOutcome()
{
    QCOMPARE(vergence({"bench", "heat", "--compare", "a"}).code, 1);
    const Outcome broken = vergence({"bench", "heat", "broken"});
    QCOMPARE(broken.code, 3);
    QVERIFY2(broken.err.contains("The plate melted."), qPrintable(broken.err));
    const Outcome unknown = vergence({"bench", "heat", "sise"});
    QCOMPARE(unknown.code, 2);
    QVERIFY2(unknown.err.contains("`size`"), qPrintable(unknown.err));
}

void CliBenchTest::labWithoutBenchmarksSaysSo()
{
    const Outcome other = vergence({"bench", "chaos"});
    QCOMPARE(other.code, 2);
    QVERIFY2(other.err.contains("offers no benchmarks"), qPrintable(other.err));
}

VERGENCE_TEST(CliBenchTest)
#include "tst_cli_bench.moc"
