#include <cmath>
#include <limits>

#include <QtTest>

#include "core/artifact/checkpoint.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using vergence::test::Scratch;
namespace fs = std::filesystem;

namespace {

Checkpoint checkpointAt(std::int64_t step)
{
    Checkpoint checkpoint;
    checkpoint.step = step;
    checkpoint.state = {{"cursor", step * 3}, {"best", 0.1 + static_cast<double>(step)}};
    const std::vector<float> weights{1.25f, static_cast<float>(step)};
    checkpoint.tensors.push_back(HostTensor::from<float>("weights", {2}, weights));
    return checkpoint;
}

std::vector<std::int64_t> stepsIn(const RunFolder& folder)
{
    std::vector<std::int64_t> steps;
    for (const auto& path : listCheckpoints(folder))
        steps.push_back(std::stoll(path.filename().string().substr(5)));
    return steps;
}

void flipByte(const fs::path& path, std::size_t fromEnd)
{
    std::string bytes = readFile(path);
    bytes[bytes.size() - fromEnd] = static_cast<char>(bytes[bytes.size() - fromEnd] ^ 1);
    writeFileAtomic(path, bytes);
}

} // namespace

class TestCheckpoint : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void everythingComesBackExactly()
    {
        const Scratch scratch;
        const RunFolder folder = RunFolder::createAt(scratch / "run");
        Checkpoint checkpoint = checkpointAt(1000);
        checkpoint.state["large"] = std::numeric_limits<std::uint64_t>::max();
        checkpoint.state["third"] = 1.0 / 3;
        checkpoint.state["worst"] = {std::numeric_limits<double>::infinity(),
                                     -std::numeric_limits<double>::infinity(),
                                     std::numeric_limits<double>::quiet_NaN()};
        const fs::path path = saveCheckpoint(folder, checkpoint);
        QCOMPARE(path, folder.checkpoints() / "step-00001000");
        const Checkpoint read = loadCheckpoint(path);
        QCOMPARE(read.step, std::int64_t{1000});
        QVERIFY(read.tensor("weights").bytes == checkpoint.tensors[0].bytes);
        QCOMPARE(read.state["large"].get<std::uint64_t>(),
                 std::numeric_limits<std::uint64_t>::max());
        QCOMPARE(read.state["third"].get<double>(), 1.0 / 3);
        QVERIFY(read.state["worst"][0] == std::numeric_limits<double>::infinity());
        QVERIFY(read.state["worst"][1] == -std::numeric_limits<double>::infinity());
        QVERIFY(std::isnan(read.state["worst"][2].get<double>()));
        VERGENCE_THROWS(InputError, "no tensor `moments`", read.tensor("moments"));
        QCOMPARE(vergence::test::contentOf(folder.checkpoints()).size(),
                 std::size_t{3}); // folder and two files
    }

    void oldestBeyondTheLimitGo()
    {
        const Scratch scratch;
        const RunFolder folder = RunFolder::createAt(scratch / "run");
        for (const std::int64_t step : std::vector<std::int64_t>{5, 90, 1000, 123456789012})
            saveCheckpoint(folder, checkpointAt(step), 3);
        QVERIFY((stepsIn(folder) == std::vector<std::int64_t>{90, 1000, 123'456'789'012}));
        saveCheckpoint(folder, checkpointAt(1001), 1);
        QVERIFY((stepsIn(folder) == std::vector<std::int64_t>{1001}));
        VERGENCE_THROWS(ContractError, "at least one", saveCheckpoint(folder, checkpointAt(1), 0));
    }

    void sameStepIsReplaced()
    {
        const Scratch scratch;
        const RunFolder folder = RunFolder::createAt(scratch / "run");
        saveCheckpoint(folder, checkpointAt(7));
        Checkpoint other = checkpointAt(7);
        other.state["cursor"] = -1;
        saveCheckpoint(folder, other);
        QCOMPARE(loadNewestCheckpoint(folder)->state["cursor"].get<int>(), -1);
        QCOMPARE(vergence::test::contentOf(folder.checkpoints()).size(), std::size_t{3});
    }

    void oneJustWrittenStaysBesideLargerSteps()
    {
        const Scratch scratch;
        const RunFolder folder = RunFolder::createAt(scratch / "run");
        for (const std::int64_t step : std::vector<std::int64_t>{100, 200, 50})
            saveCheckpoint(folder, checkpointAt(step), 2);
        QVERIFY((stepsIn(folder) == std::vector<std::int64_t>{50, 200}));
    }

    void damageIsNamedAndTheOneBeforeIsTaken_data()
    {
        QTest::addColumn<QString>("file");
        QTest::addColumn<QString>("content");
        QTest::addColumn<QString>("part");
        QTest::newRow("flipped bit") << "tensors.safetensors"
                                     << "flip"
                                     << "tensors.safetensors has changed";
        QTest::newRow("truncated") << "tensors.safetensors"
                                   << "cut"
                                   << "reaches to byte";
        QTest::newRow("empty") << "tensors.safetensors"
                               << ""
                               << "too short";
        QTest::newRow("torn state") << "state.json"
                                    << "{\"format\":"
                                    << "not valid JSON";
        QTest::newRow("other format") << "state.json"
                                      << "{\"format\": \"x\"}"
                                      << "not of this format";
        QTest::newRow("no step") << "state.json"
                                 << "{\"format\": \"vergence-checkpoint/1\"}"
                                 << "has no step";
        QTest::newRow("no state") << "state.json"
                                  << "{\"format\": \"vergence-checkpoint/1\", \"step\": 2}"
                                  << "has no state";
        QTest::newRow("no hash")
            << "state.json"
            << "{\"format\": \"vergence-checkpoint/1\", \"step\": 2, \"state\": {}}"
            << "has no hash";
    }
    void damageIsNamedAndTheOneBeforeIsTaken()
    {
        QFETCH(QString, file);
        QFETCH(QString, content);
        QFETCH(QString, part);
        const Scratch scratch;
        const RunFolder folder = RunFolder::createAt(scratch / "run");
        saveCheckpoint(folder, checkpointAt(1));
        const fs::path newest = saveCheckpoint(folder, checkpointAt(2));
        const fs::path path = newest / file.toStdString();
        if (content == "flip")
            flipByte(path, 1);
        else if (content == "cut")
            writeFileAtomic(path, readFile(path).substr(0, fs::file_size(path) - 1));
        else
            writeFileAtomic(path, content.toStdString());
        VERGENCE_THROWS(InputError, part.toUtf8().constData(), loadCheckpoint(newest));
        setLogToStderr(false);
        std::string warning;
        const int handle = addLogListener([&](const LogLine& line) { warning += line.text; });
        const auto found = loadNewestCheckpoint(folder);
        removeLogListener(handle);
        setLogToStderr(true);
        QCOMPARE(found->step, std::int64_t{1});
        QVERIFY2(warning.find(part.toStdString()) != std::string::npos, warning.c_str());
        fs::remove_all(folder.checkpoints() / "step-00000001");
        VERGENCE_THROWS(InputError, "There is none before it", loadNewestCheckpoint(folder));
    }

    void newOnesOutliveLargerDamagedOnes()
    {
        const Scratch scratch;
        const RunFolder folder = RunFolder::createAt(scratch / "run");
        for (const std::int64_t step : std::vector<std::int64_t>{100, 300, 400, 110, 120, 130})
            saveCheckpoint(folder, checkpointAt(step), 3);
        QVERIFY((stepsIn(folder) == std::vector<std::int64_t>{110, 120, 130}));
    }

    void folderThatCannotBeListedIsNamed()
    {
        const Scratch scratch;
        const RunFolder folder = RunFolder::createAt(scratch / "run");
        fs::remove_all(folder.checkpoints());
        QVERIFY(!loadNewestCheckpoint(folder));
        writeFileAtomic(folder.checkpoints(), "no folder");
        VERGENCE_THROWS(InputError, "cannot be listed", loadNewestCheckpoint(folder));
    }

    void incompleteFoldersAreNotListed()
    {
        const Scratch scratch;
        const RunFolder folder = RunFolder::createAt(scratch / "run");
        QVERIFY(!loadNewestCheckpoint(folder));
        fs::create_directory(folder.checkpoints() / "step-00000003");
        fs::create_directory(folder.checkpoints() / "step-x");
        fs::create_directories(folder.checkpoints() / ".step-00000009.1.part");
        writeFileAtomic(folder.checkpoints() / "step-00000003/state.json", "{}");
        QVERIFY(listCheckpoints(folder).empty());
        QVERIFY(listCheckpoints(RunFolder{scratch / "nowhere"}).empty());
        saveCheckpoint(folder, checkpointAt(4));
        QVERIFY(!fs::exists(folder.checkpoints() /
                            ".step-00000009.1.part")); // left by a writer that died
    }

    void failedSaveLeavesTheOlderOnesWhole()
    {
        const Scratch scratch;
        const RunFolder folder = RunFolder::createAt(scratch / "run");
        saveCheckpoint(folder, checkpointAt(1), 1);
        Checkpoint bad = checkpointAt(2);
        bad.tensors.push_back(bad.tensors[0]);
        VERGENCE_THROWS(ContractError, "two tensors", saveCheckpoint(folder, bad, 1));
        QVERIFY((stepsIn(folder) == std::vector<std::int64_t>{1}));
        QCOMPARE(vergence::test::contentOf(folder.checkpoints()).size(), std::size_t{3});
        VERGENCE_THROWS(OutputError, "nowhere",
                        saveCheckpoint(RunFolder{"/dev/null/nowhere"}, checkpointAt(1)));
    }
};

VERGENCE_TEST(TestCheckpoint)
#include "tst_checkpoint.moc"
