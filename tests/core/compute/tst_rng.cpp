#include <cmath>
#include <set>

#include <QtTest>

#include "core/compute/rng.h"
#include "tests/support/test_program.h"

using namespace vergence;

class TestRng : public QObject {
    Q_OBJECT

private Q_SLOTS:
    /// Known answers of philox4x32-10 from the test vectors of the Random123 library.
    void philoxGivesTheKnownAnswers_data()
    {
        QTest::addColumn<quint64>("index");
        QTest::addColumn<quint64>("stream");
        QTest::addColumn<quint64>("seed");
        QTest::addColumn<QList<quint32>>("words");
        QTest::newRow("zeros") << quint64(0) << quint64(0) << quint64(0)
                               << QList<quint32>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
        QTest::newRow("ones") << ~quint64(0) << ~quint64(0) << ~quint64(0)
                              << QList<quint32>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd};
        QTest::newRow("digits of pi")
            << quint64(0x85a308d3243f6a88) << quint64(0x0370734413198a2e)
            << quint64(0x299f31d0a4093822)
            << QList<quint32>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1};
    }
    void philoxGivesTheKnownAnswers()
    {
        QFETCH(quint64, index);
        QFETCH(quint64, stream);
        QFETCH(quint64, seed);
        QFETCH(QList<quint32>, words);
        const PhiloxBlock block = philox(seed, stream, index);
        for (int i = 0; i < 4; ++i)
            QCOMPARE(block.word[i], words[i]);
    }

    void numbersAreAFunctionOfTheirPlace()
    {
        const Rng rng(42, 7);
        QCOMPARE(rng.seed(), std::uint64_t{42});
        QCOMPARE(rng.stream(), std::uint64_t{7});
        const PhiloxBlock block = philox(42, 7, 2);
        QCOMPARE(rng.bits(9), block.word[1]);
        QCOMPARE(rng.bits(9), Rng(42, 7).bits(9));
        std::set<std::uint32_t> words;
        for (std::uint64_t stream = 0; stream < 10; ++stream) {
            for (std::uint64_t i = 0; i < 10; ++i)
                words.insert(Rng(42, stream).bits(i));
        }
        QCOMPARE(words.size(), std::size_t{100});
    }

    /// Chi-square over 64 cells; 63 degrees of freedom stay below 113.5 with probability 0.9999.
    void uniformNumbersFillTheirRangeEvenly()
    {
        const Rng rng(2026);
        int cells[64] = {};
        constexpr int kCount = 640'000;
        for (std::uint64_t i = 0; i < kCount; ++i) {
            const float value = rng.uniform(i);
            QVERIFY(value >= 0 && value < 1);
            ++cells[static_cast<int>(value * 64)];
        }
        double chiSquare = 0;
        for (const int count : cells)
            chiSquare += std::pow(count - kCount / 64.0, 2) / (kCount / 64.0);
        QVERIFY2(chiSquare < 113.5, qPrintable(QString::number(chiSquare)));
    }
};

VERGENCE_TEST(TestRng)
#include "tst_rng.moc"
