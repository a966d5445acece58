#include <QTest>

#include "core/config/config.h"
#include "plugins/sugar/sugar_config.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::sugar;

class SugarConfigTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    /// Pruning at an opacity of 1 would leave nothing, densification above 0 take everything.
    void rangesKeepWhatWorks_data()
    {
        QTest::addColumn<std::string>("key");
        QTest::addColumn<std::string>("works");
        QTest::addColumn<std::string>("fails");
        QTest::newRow("pruning") << std::string("align_prune") << std::string("0.99")
                                 << std::string("1.0");
        for (const char* key : {"densify_gradient", "densify_absolute"})
            QTest::newRow(key) << std::string(key) << std::string("1e-8") << std::string("0.0");
    }
    void rangesKeepWhatWorks()
    {
        QFETCH(std::string, key);
        QFETCH(std::string, works);
        QFETCH(std::string, fails);
        const auto built = [&](const std::string& value) {
            ConfigBuilder builder(sugarSchema());
            builder.addAssignment(key + "=" + value);
            return builder.build();
        };
        QVERIFY(built(works).config.has_value());
        const auto refused = built(fails);
        QVERIFY(!refused.config.has_value());
        QCOMPARE(refused.issues.front().key, key);
    }
};

VERGENCE_TEST(SugarConfigTest)
#include "tst_sugar_config.moc"
