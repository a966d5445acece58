#include <QLineEdit>
#include <QListWidget>
#include <QTest>

#include "app/shell/command_palette.h"
#include "tests/support/test_program.h"

using namespace vergence;

class TestCommandPalette : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void allWordsMustOccur()
    {
        QVERIFY(paletteScore("Preset: Light field demo", "demo light") > 0);
        QCOMPARE(paletteScore("Preset: Light field demo", "demo heavy"), 0);
    }
    void beginningsOfWordsCountMore()
    {
        QVERIFY(paletteScore("Stop", "st") > paletteScore("Reset layout", "et"));
        QVERIFY(paletteScore("Start", "sta") > paletteScore("Restart all", "sta"));
    }
    void enterRunsTheFirstMatch()
    {
        QString ran;
        auto* palette = new CommandPalette(
            {{"Start", {}, [&] { ran = "start"; }}, {"Stop", {}, [&] { ran = "stop"; }}}, nullptr);
        palette->show();
        auto* input = palette->findChild<QLineEdit*>("commandInput");
        QTest::keyClicks(input, "stop");
        QTest::keyClick(input, Qt::Key_Return);
        QTRY_COMPARE(ran, QString("stop"));
    }
    void nothingMatchesSaysSo()
    {
        CommandPalette palette({{"Start", {}, [] {}}}, nullptr);
        palette.setAttribute(Qt::WA_DeleteOnClose, false);
        QTest::keyClicks(palette.findChild<QLineEdit*>("commandInput"), "xyz");
        QVERIFY(palette.findChild<QListWidget*>("commandList")->item(0)->text().contains("xyz"));
    }
};

VERGENCE_WINDOW_TEST(TestCommandPalette)
#include "tst_command_palette.moc"
