#include <QDir>
#include <QDirIterator>
#include <QLineEdit>
#include <QProcess>
#include <QTest>

#include "app/charts/chart_card.h"
#include "tests/support/cli/command_line.h"
#include "tests/support/gui/gui_harness.h"

using namespace vergence;

namespace {

/// Output of a program that has to succeed; fails the test otherwise.
QString outputOf(const QString& program, const QStringList& arguments)
{
    QProcess process;
    process.setProcessChannelMode(QProcess::MergedChannels);
    process.start(program, arguments);
    const bool isEnded = process.waitForFinished(240'000);
    const QString output = QString::fromUtf8(process.readAll());
    if (!isEnded || process.exitCode() != 0)
        QTest::qFail(qPrintable(program + ' ' + arguments.join(' ') + '\n' + output), __FILE__,
                     __LINE__);
    return output;
}

} // namespace

/// S22: I write my own plugin, against the installed studio.
class TestOwnPlugin : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void aNewLabIsBuiltAndRuns()
    {
        const QDir work(GuiHarness::folder());
        const QString prefix = work.filePath("prefix"), source = work.filePath("hello"),
                      build = work.filePath("hello_build"), plugins = work.filePath("own_plugins");
        outputOf("cmake",
                 {"--install", VERGENCE_BINARY_DIR, "--prefix", prefix, "--component", "sdk"});
        const auto made =
            test::runCommand({"plugin", "new", "hello", "--folder", source}, GuiHarness::folder());
        QVERIFY2(made.code == 0, qPrintable(made.err));
        int files = 0;
        for (QDirIterator it(source, QDir::Files, QDirIterator::Subdirectories); it.hasNext();
             it.next())
            ++files;
        QVERIFY2(files <= 10, qPrintable(QString::number(files)));
        QCOMPARE(made.out.count('\n'), files);

        outputOf("cmake",
                 {"-S", source, "-B", build, "-G", "Ninja", "-DCMAKE_PREFIX_PATH=" + prefix,
                  "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Wshadow -Werror"});
        const QString output = outputOf("cmake", {"--build", build});
        QVERIFY2(!output.contains("warning", Qt::CaseInsensitive), qPrintable(output));

        QVERIFY(work.mkpath("own_plugins"));
        ShellOptions options;
        options.pluginFolders << plugins;
        GuiHarness gui(options);
        QVERIFY(gui.waitForPlugins());
        QVERIFY(gui.window().catalog().find("hello") == nullptr);
        QVERIFY(QFile::copy(build + "/libvergence-plugin-hello.so",
                            plugins + "/libvergence-plugin-hello.so"));
        gui.window().catalog().scan(); // Re-check
        QVERIFY(gui.waitForPlugins());
        QTRY_VERIFY(gui.window().catalog().find("hello") != nullptr);

        gui.window().actions().newRun->trigger();
        gui.window().setup().choose("hello", "demo");
        for (const char* key : {"steps", "rate", "goal"})
            QVERIFY2(gui.find<QLineEdit>(QString("configForm/") + key) != nullptr, key);
        const QString run = gui.window().startDraft();
        QVERIFY(gui.waitState(run, RunState::Completed, 60'000));
        QTRY_VERIFY(gui.valuesOf(run, "train/distance").size() >= 2);
        const std::vector<double> curve = gui.valuesOf(run, "train/distance");
        QVERIFY(curve.back() < 1e-4 && curve.front() > curve.back()); // 0.9 to the power of 100
        const auto card = [&]() -> const ChartCard* {
            for (const ChartCard* one : gui.window().findChildren<ChartCard*>())
                if (one->id() == "train/distance")
                    return one;
            return nullptr;
        };
        QTRY_VERIFY(card() != nullptr && card()->drawnPoints() >= 2); // drawn after values came
        QCOMPARE(card()->title(), QString("Distance"));
        gui.shoot("own_plugin");
    }
    void badNamesAndTakenFoldersAreRefused()
    {
        const QString folder = GuiHarness::folder() + "/taken";
        QVERIFY(QDir().mkpath(folder + "/inside"));
        const auto run = [](const QStringList& more) {
            return test::runCommand(QStringList{"plugin", "new"} + more, GuiHarness::folder());
        };
        const auto bad = run({"2fast", "--folder", folder + "/new"});
        QCOMPARE(bad.code, 2);
        QVERIFY2(bad.err.contains("small letters"), qPrintable(bad.err));
        const auto taken = run({"hello", "--folder", folder});
        QCOMPARE(taken.code, 2);
        QVERIFY2(taken.err.contains("exists already"), qPrintable(taken.err));
        QVERIFY(!QDir(folder + "/new").exists());
    }
};

VERGENCE_GUI_TEST(TestOwnPlugin)
#include "tst_s22_own_plugin.moc"
