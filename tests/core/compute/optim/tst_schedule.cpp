#include <QTest>

#include "core/base/error.h"
#include "core/compute/optim/schedule.h"
#include "tests/support/numbers.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::test;

class TestSchedule : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void rateIsKnown_data();
    void rateIsKnown();
    void schedulesThatEndBeforeTheyBeginAreRefused();
};

void TestSchedule::rateIsKnown_data()
{
    QTest::addColumn<int>("kind");
    QTest::addColumn<int>("step");
    QTest::addColumn<double>("base");
    QTest::addColumn<double>("wanted");
    const int constant = static_cast<int>(ScheduleKind::Constant);
    const int cosine = static_cast<int>(ScheduleKind::Cosine);
    const int converging = static_cast<int>(ScheduleKind::Converging);
    QTest::newRow("constant, warm-up") << constant << 4 << 0.01 << 0.004;
    QTest::newRow("constant") << constant << 400 << 0.01 << 0.01;
    for (const auto& [step, wanted] :
         {std::pair{0, 0.0}, std::pair{5, 0.5}, std::pair{10, 1.0}, std::pair{60, 0.55},
          std::pair{110, 0.1}, std::pair{500, 0.1}})
        QTest::addRow("cosine, %d", step) << cosine << step << 1.0 << wanted;
    QTest::newRow("converging from above, middle") << converging << 60 << 1e-3 << 5.15e-4;
    QTest::newRow("converging from below, middle") << converging << 60 << 1e-5 << 2.0e-5;
    QTest::newRow("converging, quarter")
        << converging << 35 << 1e-3 << 3e-5 + (1e-3 - 3e-5) * 0.5 * (1 + std::sqrt(0.5));
    QTest::newRow("converging, end") << converging << 110 << 1e-3 << 3e-5;
    QTest::newRow("converging, beyond") << converging << 9999 << 1e-5 << 3e-5;
}

void TestSchedule::rateIsKnown()
{
    QFETCH(int, kind);
    QFETCH(int, step);
    QFETCH(double, base);
    QFETCH(double, wanted);
    const Schedule schedule{static_cast<ScheduleKind>(kind), 10, 110, 0.1, 3e-5};
    VERGENCE_AGREES(difference(std::vector<double>{schedule.rate(step, base)},
                               std::vector<double>{wanted}, 1e-12, 1e-9));
}

void TestSchedule::schedulesThatEndBeforeTheyBeginAreRefused()
{
    VERGENCE_THROWS(ContractError, "end after its warm-up",
                    (Schedule{ScheduleKind::Cosine, 10, 10, 0, 0}.rate(3, 1)));
    VERGENCE_THROWS(ContractError, "count from 0",
                    (Schedule{ScheduleKind::Constant, 0, 0, 0, 0}.rate(-1, 1)));
}

VERGENCE_TEST(TestSchedule)
#include "tst_schedule.moc"
