#include <map>
#include <sstream>

#include <QDir>
#include <QTemporaryDir>

#include "core/base/file.h"
#include "core/compute/backend.h"
#include "core/compute/dense.h"
#include "core/compute/dense/product_policy.h"
#include "core/compute/rng.h"
#include "core/compute/tensor.h"
#include "cuda/backend/tuning_file.h"
#include "tests/support/cuda_emulation/engine/settings.h"
#include "tests/support/numbers.h"
#include "tests/support/test_program.h"

using namespace vergence;

extern "C" DeviceBackend* vergenceDeviceBackend();

namespace {

/// The device as a new process has it: with nothing timed so far.
std::shared_ptr<Device> freshDevice()
{
    std::string reason;
    return vergenceDeviceBackend()->devices(reason).at(0);
}

std::vector<float> drawnValues(Index count, std::uint64_t seed)
{
    std::vector<float> values(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = 2 * Rng(seed).uniform(i) - 1;
    return values;
}

std::vector<float> product()
{
    const auto device = freshDevice();
    const auto stream = device->createStream();
    const Tensor a = Tensor::fromHost<float>(*stream, device, {64, 64}, drawnValues(64 * 64, 1));
    const Tensor y = Tensor::empty(device, {64, 64});
    device->dense().matmul(*stream, a, a, y);
    return y.toHost<float>(*stream);
}

std::vector<float> convolution()
{
    const auto device = freshDevice();
    const auto stream = device->createStream();
    const auto tensor = [&](const Shape& shape, std::uint64_t seed) {
        return Tensor::fromHost<float>(*stream, device, shape,
                                       drawnValues(elementCount(shape), seed));
    };
    const Tensor x = tensor({1, 6, 6, 8}, 1), w = tensor({16, 3, 3, 8}, 2);
    const Tensor y = Tensor::empty(device, {1, 4, 4, 16});
    device->dense().conv2d(*stream, x, w, y);
    return y.toHost<float>(*stream);
}

} // namespace

/// What cuBLASLt and cuDNN were found fastest with, from process to process.
class TestEmulatedTuning : public QObject {
    Q_OBJECT

    using Choices = std::map<std::string, std::string>; ///< by problem
    std::unique_ptr<QTemporaryDir> m_cache;
    std::map<QString, std::vector<float>> m_results; ///< by plan

private Q_SLOTS:
    void initTestCase()
    {
        qputenv("VERGENCE_MODULE_PATH",
                VERGENCE_BINARY_DIR "/lib/emulated/exact:" VERGENCE_BINARY_DIR "/lib/emulated");
        openDevices(); // and the bodies of the engine's kernels
    }
    void init() { forgetAll(); }
    void cleanup()
    {
        emulation::settings().failure.clear();
        emulation::settings().carelessEngine.reset();
    }

    void secondProcessTimesNothing_data() { libraries(); }
    void secondProcessTimesNothing()
    {
        const auto first = result();
        QCOMPARE(kept().size(), std::size_t{1});
        forbidTiming();
        QVERIFY(result() == first);
    }
    /// Also one that this process would not have come to.
    void keptAlgorithmIsTaken()
    {
        const auto usual = product();
        const Choices usualChoice = kept();
        std::vector<float> other;
        for (int call = 1; call < 64 && (other.empty() || kept() == usualChoice); ++call) {
            forgetAll();
            emulation::settings().failure = "cublasLtMatmul:" + std::to_string(call) + ":15";
            other = product(); // the call that fails is one of timing
        }
        const Choices choice = kept();
        QVERIFY(choice != usualChoice);
        forbidTiming();
        QVERIFY(product() == other);
        QVERIFY(other != usual);
        QVERIFY(kept() == choice);
    }
    void keptPlanIsTaken_data()
    {
        QTest::addColumn<QString>("plan"); ///< of the emulated cuDNN: an engine, and its knob
        QTest::newRow("strict") << "0";
        QTest::newRow("offsets") << "1 17=2";
        QTest::newRow("direct") << "2";
    }
    void keptPlanIsTaken()
    {
        QFETCH(QString, plan);
        convolution();
        replaceKept(plan.toStdString());
        forbidTiming();
        m_results[plan] = convolution();
        QCOMPARE(QString::fromStdString(kept().begin()->second), plan);
        if (m_results.size() == 3) // they add in different orders
            QVERIFY(m_results["1 17=2"] != m_results["2"]);
    }
    /// On an H200 some plans of cuDNN added what lay in memory before.
    void planWhoseResultIsNotItsOwnIsLeftOut()
    {
        const auto right = convolution();
        emulation::settings().carelessEngine = 1; // the first that is offered
        const ProductPolicyScope scope({.isTimed = false});
        const auto result = convolution();
        VERGENCE_AGREES(difference(result, right, 1e-5, 0));
    }
    void refusedChoiceIsMadeAnew_data()
    {
        QTest::addColumn<bool>("isProduct");
        QTest::addColumn<QString>("choice");
        QTest::newRow("no algorithm") << true << QString(128, '0');
        QTest::newRow("no number") << true << "algorithm";
        QTest::newRow("no engine") << false << "77";
        QTest::newRow("an engine that adds in no fixed order") << false << "3 17=4";
    }
    void refusedChoiceIsMadeAnew()
    {
        QFETCH(QString, choice);
        const auto first = result();
        replaceKept(choice.toStdString());
        const auto second = result();
        QVERIFY(QString::fromStdString(kept().begin()->second) != choice);
        forbidTiming();
        QVERIFY(result() == second);
        QCOMPARE(second.size(), first.size());
    }
    void damagedFileIsMadeAnew_data()
    {
        QTest::addColumn<QString>("damage");
        for (const char* damage : {"empty", "cut", "one letter", "foreign", "other card"})
            QTest::newRow(damage) << damage;
    }
    void damagedFileIsMadeAnew()
    {
        QFETCH(QString, damage);
        product();
        const Choices before = kept();
        std::string text = readFile(file());
        if (damage == "empty")
            text.clear();
        else if (damage == "cut")
            text.resize(text.size() / 2);
        else if (damage == "one letter")
            text[text.size() - 2] = text[text.size() - 2] == '0' ? '1' : '0';
        else if (damage == "foreign")
            text = "[settings]\ncolour = blue\n";
        else
            text.insert(0, "Another ");
        writeFileAtomic(file(), text);
        product();
        QVERIFY(kept().size() == 1 && kept().begin()->first == before.begin()->first);
        forbidTiming();
        product();
    }
    void whereNothingCanBeWrittenNothingFails()
    {
        writeFileAtomic(m_cache->filePath("vergence").toStdString(), std::string("no folder"));
        QVERIFY(!product().empty());
    }
    /// Of two that come to a choice at once the first one's counts for both, and none is lost.
    void processesAddToOneFile()
    {
        DeviceInfo card;
        card.name = "Card 80GB";
        TuningFile one(card, "library 1"), two(card, "library 1");
        PlanKey first, second;
        first.values[0] = 1;
        second.values[0] = 2;
        QCOMPARE(one.keep(first, "a", ""), "a");
        QCOMPARE(two.keep(first, "b", ""), "a");
        QCOMPARE(two.keep(second, "c", ""), "c");
        QCOMPARE(one.keep(second, "d", ""), "c");
        QCOMPARE(one.keep(second, "d", "c"), "d");
        TuningFile three(card, "library 1"), other(card, "library 2");
        QCOMPARE(three.find(first).value_or(""), "a");
        QCOMPARE(three.find(second).value_or(""), "d");
        QVERIFY(!other.find(first));
    }

private:
    static void libraries()
    {
        QTest::addColumn<bool>("isProduct");
        QTest::newRow("cuBLASLt") << true;
        QTest::newRow("cuDNN") << false;
    }
    static std::vector<float> result()
    {
        QFETCH(bool, isProduct);
        return isProduct ? product() : convolution();
    }
    /// Whoever reads a time from here on fails.
    static void forbidTiming() { emulation::settings().failure = "cudaEventElapsedTime:1:999"; }
    void forgetAll()
    {
        m_cache = std::make_unique<QTemporaryDir>();
        qputenv("XDG_CACHE_HOME", m_cache->path().toUtf8());
    }
    /// The one that a library has written.
    std::filesystem::path file() const
    {
        const QDir folder(m_cache->filePath("vergence/cuda"));
        const QStringList files = folder.entryList({"*.txt"}, QDir::Files);
        return folder.filePath(files.value(0)).toStdString();
    }
    Choices kept() const
    {
        Choices choices;
        std::istringstream lines(readFile(file()));
        std::string line;
        std::getline(lines, line); // the title
        while (std::getline(lines, line)) {
            const std::size_t at = line.find(" = ");
            choices.emplace(line.substr(0, at), line.substr(at + 3));
        }
        return choices;
    }
    /// As another process might have chosen.
    void replaceKept(const std::string& choice) const
    {
        const auto [problem, before] = *kept().begin();
        PlanKey key;
        std::istringstream words(problem);
        for (std::int64_t& value : key.values)
            words >> value;
        const std::string name = file().filename();
        const std::string library = name.find("cuDNN") == name.npos ? "cuBLASLt" : "cuDNN";
        const std::string version = name.substr(name.rfind('-') + 1);
        TuningFile(freshDevice()->info(), library + " " + version.substr(0, version.rfind('.')))
            .keep(key, choice, before);
    }
};

VERGENCE_TEST(TestEmulatedTuning)
#include "tst_emulated_tuning.moc"
