#include <QTest>

#include "core/base/log.h"
#include "core/compute/ops/attention_tiles.h"
#include "tests/support/test_program.h"

using namespace vergence;

namespace {

constexpr BlockOffer kTuring{64 << 10, 7}, kAmpere{99 << 10, 8}, kHopper{227 << 10, 9};

std::vector<std::string> warningsOf(const std::function<void()>& body)
{
    std::vector<std::string> texts;
    const int handle = addLogListener([&](const LogLine& line) { texts.push_back(line.text); });
    body();
    removeLogListener(handle);
    return texts;
}

} // namespace

/// Which GPUs run attention in tiles, and that a user is told where one does not.
class TestAttentionTiles : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void cardsRunWhatTheyHaveRoomAndInstructionsFor_data()
    {
        QTest::addColumn<int>("type");
        QTest::addColumn<int>("kibibytes");
        QTest::addColumn<int>("suits"); // Turing 1, Ampere 2, Hopper 4
        const auto add = [](const char* name, DType type, int kibibytes, int suits) {
            QTest::newRow(name) << static_cast<int>(type) << kibibytes << suits;
        };
        add("fp32", DType::F32, 40, 7);
        add("fp32, all of the room", DType::F32, 64, 7);
        add("fp32, large heads backward", DType::F32, 71, 6);
        add("fp32, too large for two", DType::F32, 100, 4);
        add("fp16", DType::F16, 20, 6);
        add("bf16", DType::BF16, 20, 6);
    }
    void cardsRunWhatTheyHaveRoomAndInstructionsFor()
    {
        QFETCH(int, type);
        QFETCH(int, kibibytes);
        QFETCH(int, suits);
        const AttentionTiles tiles{"attention", static_cast<DType>(type), 64,
                                   static_cast<std::size_t>(kibibytes) << 10};
        QCOMPARE(suitsTiles(tiles, kTuring), (suits & 1) != 0);
        QCOMPARE(suitsTiles(tiles, kAmpere), (suits & 2) != 0);
        QCOMPARE(suitsTiles(tiles, kHopper), (suits & 4) != 0);
    }

    void theReasonIsTheCards()
    {
        const QString half =
            QString::fromStdString(whySlow({"attention", DType::F16, 64, 20 << 10}, kTuring));
        QVERIFY2(half.contains("attention in F16 with heads of 64 numbers"), qPrintable(half));
        QVERIFY2(half.contains("compute capability 7.x"), qPrintable(half));
        const QString room =
            QString::fromStdString(whySlow({"attention", DType::F32, 128, 72192}, kTuring));
        QVERIFY2(room.contains("wants 71 KiB of shared memory and has 64"), qPrintable(room));
    }

    void slowShapesAreToldOnce()
    {
        const AttentionTiles tiles{"attention", DType::BF16, 80, 1024};
        AttentionTiles other = tiles;
        other.size = 96;
        const auto texts = warningsOf([&] {
            for (int i = 0; i < 3; ++i) {
                QVERIFY(!usesTiles(tiles, kTuring));
                QVERIFY(!usesTiles(other, kTuring));
                QVERIFY(usesTiles(tiles, kHopper));
            }
        });
        QCOMPARE(texts.size(), std::size_t{2});
        QCOMPARE(texts.front(), whySlow(tiles, kTuring));
        QCOMPARE(texts.back(), whySlow(other, kTuring));
    }
};

VERGENCE_TEST(TestAttentionTiles)
#include "tst_attention_tiles.moc"
