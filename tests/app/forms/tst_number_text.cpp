#include <cmath>

#include <QLocale>
#include <QtTest>

#include "app/forms/field_state.h"
#include "app/forms/number_text.h"
#include "tests/support/test_program.h"

using namespace vergence;

class TestNumberText : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void floatsAreReadInTheCLocale_data();
    void floatsAreReadInTheCLocale();
    void wholeNumbersAreReadExactly_data();
    void wholeNumbersAreReadExactly();
    void wrongNumbersSayWhatToWrite_data();
    void wrongNumbersSayWhatToWrite();
    void stepsAreRound_data();
    void stepsAreRound();
    void shortestTextReadsBackExactly();
    void listsNameTheWrongElement();
};

void TestNumberText::floatsAreReadInTheCLocale_data()
{
    QTest::addColumn<QString>("text");
    QTest::addColumn<double>("value");
    QTest::newRow("scientific") << "1.6e-5" << 1.6e-5;
    QTest::newRow("fraction") << "1/3" << 1.0 / 3.0;
    QTest::newRow("power") << "2^10" << 1024.0;
    QTest::newRow("negative power") << "10^-4" << 1e-4;
    QTest::newRow("suffix") << "10k" << 10000.0;
    QTest::newRow("underscore") << " 1_000.5 " << 1000.5;
    QTest::newRow("infinite") << "inf" << HUGE_VAL;
}

void TestNumberText::floatsAreReadInTheCLocale()
{
    QFETCH(QString, text);
    QFETCH(double, value);
    QLocale::setDefault(QLocale(QLocale::German, QLocale::Germany));
    const auto parsed = parseFloat(text);
    QLocale::setDefault(QLocale::c());
    QVERIFY2(parsed.value.has_value(), qPrintable(parsed.reason));
    QCOMPARE(*parsed.value, value);
}

void TestNumberText::wholeNumbersAreReadExactly_data()
{
    QTest::addColumn<QString>("text");
    QTest::addColumn<qint64>("value");
    QTest::newRow("plain") << "-5" << qint64(-5);
    QTest::newRow("kilo") << "10k" << qint64(10000);
    QTest::newRow("mega") << "2M" << qint64(2000000);
    QTest::newRow("half mega") << "0.5M" << qint64(500000);
    QTest::newRow("power") << "2^10" << qint64(1024);
    QTest::newRow("beyond 2^53") << "9007199254740993" << qint64(9007199254740993);
    QTest::newRow("underscores") << "10_000" << qint64(10000);
}

void TestNumberText::wholeNumbersAreReadExactly()
{
    QFETCH(QString, text);
    QFETCH(qint64, value);
    const auto parsed = parseInt(text);
    QVERIFY2(parsed.value.has_value(), qPrintable(parsed.reason));
    QCOMPARE(qint64(*parsed.value), value);
}

void TestNumberText::wrongNumbersSayWhatToWrite_data()
{
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("part");
    QTest::newRow("comma") << "0,5"
                           << "0.5";
    QTest::newRow("grouped") << "1,000,000"
                             << "without commas";
    QTest::newRow("word") << "many"
                          << "is not a number";
    QTest::newRow("empty") << "  "
                           << "Write a number";
    QTest::newRow("zero by zero") << "0/0"
                                  << "no value";
    QTest::newRow("two signs") << "1/2/3"
                               << "is not a number";
}

void TestNumberText::wrongNumbersSayWhatToWrite()
{
    QFETCH(QString, text);
    QFETCH(QString, part);
    const auto parsed = parseFloat(text);
    QVERIFY(!parsed.value.has_value());
    QVERIFY2(parsed.reason.contains(part), qPrintable(parsed.reason));
    QVERIFY(!parseInt(text).value.has_value());
    QVERIFY(!parseInt(QStringLiteral("1/3")).value.has_value());
}

void TestNumberText::stepsAreRound_data()
{
    QTest::addColumn<double>("value");
    QTest::addColumn<bool>("isLogarithmic");
    QTest::addColumn<double>("range");
    QTest::addColumn<double>("up");
    QTest::addColumn<double>("down");
    QTest::newRow("log") << 1e-4 << true << 0.0 << 2e-4 << 5e-5;
    QTest::newRow("log between") << 1.6e-5 << true << 0.0 << 2e-5 << 1e-5;
    QTest::newRow("log five") << 0.5 << true << 0.0 << 1.0 << 0.2;
    QTest::newRow("linear with range") << 0.2 << false << 1.0 << 0.21 << 0.19;
    QTest::newRow("linear without") << 30.0 << false << 0.0 << 31.0 << 29.0;
    QTest::newRow("log of zero is linear") << 0.0 << true << 0.0 << 0.1 << -0.1;
}

void TestNumberText::stepsAreRound()
{
    QFETCH(double, value);
    QFETCH(bool, isLogarithmic);
    QFETCH(double, range);
    QFETCH(double, up);
    QFETCH(double, down);
    QVERIFY(stepped(value, true, isLogarithmic, range) == up);
    QVERIFY(stepped(value, false, isLogarithmic, range) == down);
}

void TestNumberText::shortestTextReadsBackExactly()
{
    for (const double value : {1.6e-5, 1.0 / 3.0, 0.1, 1e300, -2.5, 4e-324})
        QVERIFY(*parseFloat(numberText(value)).value == value);
}

void TestNumberText::listsNameTheWrongElement()
{
    Field field;
    field.type = FieldType::FloatList;
    const ConfigValue last = std::vector<double>{1};
    const FieldState right = stateFromText(field, QStringLiteral("[0.5, 1/4 2;3]"), last);
    QVERIFY(right.isValid());
    QVERIFY(right.value == ConfigValue(std::vector<double>{0.5, 0.25, 2, 3}));
    const FieldState wrong = stateFromText(field, QStringLiteral("0.5, x"), last);
    QVERIFY(!wrong.isValid());
    QVERIFY2(wrong.reason.contains(QStringLiteral("Element 2")), qPrintable(wrong.reason));
    QVERIFY(wrong.value == last);
}

VERGENCE_WINDOW_TEST(TestNumberText)
#include "tst_number_text.moc"
