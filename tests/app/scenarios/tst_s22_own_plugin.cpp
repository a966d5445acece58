#include <map>

#include <QDir>
#include <QDirIterator>
#include <QLineEdit>
#include <QProcess>
#include <QRegularExpression>
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

/// Where the studio is installed with its headers; done once.
QString installed()
{
    static const QString prefix = [] {
        const QString folder = GuiHarness::folder() + "/prefix";
        outputOf("cmake",
                 {"--install", VERGENCE_BINARY_DIR, "--prefix", folder, "--component", "sdk"});
        return folder;
    }();
    return prefix;
}

/// Builds a lab as its author would; what the compiler warns of fails the test.
void build(const QString& source, const QString& folder)
{
    outputOf("cmake",
             {"-S", source, "-B", folder, "-G", "Ninja", "-DCMAKE_PREFIX_PATH=" + installed(),
              "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Wshadow -Werror"});
    const QString output = outputOf("cmake", {"--build", folder});
    QVERIFY2(!output.contains("warning", Qt::CaseInsensitive), qPrintable(output));
}

/// Files that a page shows: blocks of code behind "<!-- file: NAME -->", joined by name.
std::map<QString, QString> filesOf(const QString& page)
{
    static const QRegularExpression block("<!-- file: (\\S+) -->\n```\\w*\n(.*?)```\n",
                                          QRegularExpression::DotMatchesEverythingOption);
    std::map<QString, QString> files;
    for (auto found = block.globalMatch(page); found.hasNext();) {
        const QRegularExpressionMatch match = found.next();
        QString& text = files[match.captured(1)];
        text += (text.isEmpty() ? "" : "\n") + match.captured(2);
    }
    return files;
}

} // namespace

/// S22: I write my own plugin, against the installed studio.
class TestOwnPlugin : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void aNewLabIsBuiltAndRuns()
    {
        const QDir work(GuiHarness::folder());
        const QString source = work.filePath("hello"), built = work.filePath("hello_build"),
                      plugins = work.filePath("own_plugins");
        const auto made =
            test::runCommand({"plugin", "new", "hello", "--folder", source}, GuiHarness::folder());
        QVERIFY2(made.code == 0, qPrintable(made.err));
        int files = 0;
        for (QDirIterator it(source, QDir::Files, QDirIterator::Subdirectories); it.hasNext();
             it.next())
            ++files;
        QVERIFY2(files <= 10, qPrintable(QString::number(files)));
        QCOMPARE(made.out.count('\n'), files);

        build(source, built);
        if (QTest::currentTestFailed())
            return;

        QVERIFY(work.mkpath("own_plugins"));
        ShellOptions options;
        options.pluginFolders << plugins;
        GuiHarness gui(options);
        QVERIFY(gui.waitForPlugins());
        QVERIFY(gui.window().catalog().find("hello") == nullptr);
        QVERIFY(QFile::copy(built + "/libvergence-plugin-hello.so",
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
    void theLabOfTheManualIsBuiltAndRuns()
    {
        const QDir work(GuiHarness::folder());
        const QString source = work.filePath("plate"), built = work.filePath("plate_build");
        QFile page(VERGENCE_SOURCE_DIR "/resources/manual/developer/lab.md");
        QVERIFY(page.open(QIODevice::ReadOnly));
        const auto files = filesOf(QString::fromUtf8(page.readAll()));
        QCOMPARE(files.size(), std::size_t{7});
        for (const auto& [name, text] : files) {
            QVERIFY(QDir().mkpath(QFileInfo(source + '/' + name).path()));
            QFile file(source + '/' + name);
            QVERIFY(file.open(QIODevice::WriteOnly));
            file.write(text.toUtf8());
        }
        build(source, built);
        if (QTest::currentTestFailed())
            return;
        const QString run = work.filePath("plate_run");
        const auto ended = test::runCommand(
            {"run", "plate", "--preset", "demo", "--plugin-path", built, "--run-dir", run},
            GuiHarness::folder());
        QVERIFY2(ended.code == 0, qPrintable(ended.err));
        QVERIFY(QFile::exists(run + "/artifacts/plate.png"));
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
