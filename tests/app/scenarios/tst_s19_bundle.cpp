#include <QCheckBox>
#include <QComboBox>
#include <QDir>
#include <QLineEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QTest>

#include <unistd.h>

#include "core/artifact/artifact_store.h"
#include "core/artifact/bundle.h"
#include "core/artifact/checkpoint.h"
#include "core/artifact/manifest.h"
#include "core/base/file.h"
#include "tests/support/cli/command_line.h"
#include "tests/support/environment.h"
#include "tests/support/gui/gui_harness.h"

using namespace vergence;
using test::ScopedVariable;
namespace fs = std::filesystem;

namespace {

/// Bytes that do not compress, so that packing them takes a while.
std::string noise(std::size_t bytes)
{
    std::string text(bytes, '\0');
    quint32 state = 1;
    for (char& byte : text)
        byte = static_cast<char>((state = state * 1664525U + 1013904223U) >> 24);
    return text;
}

/// Path and SHA-256 of everything a bundle's manifest names.
std::map<std::string, std::string> digestsOf(const fs::path& zip)
{
    const QTemporaryDir place;
    const RunFolder opened = openBundle(zip, place.path().toStdString());
    std::map<std::string, std::string> digests;
    for (const Artifact& artifact : artifactsOf(readManifest(opened)))
        digests[artifact.path] = artifact.sha256;
    return digests;
}

} // namespace

/// S19: I send it to a colleague.
class TestBundle : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init() { m_gui = std::make_unique<GuiHarness>(); }
    void cleanup() { m_gui.reset(); }

    void cancelLeavesNothing()
    {
        const QString run = finishedRun();
        const RunFolder folder = m_gui->window().runs().find(run)->folder;
        writeFileAtomic(folder.artifacts() / "noise.bin", std::string_view(noise(96 << 20)));
        openDialog();
        auto* progress = m_gui->find<QProgressBar>("exportProgress");
        m_gui->click("exportButton");
        int reached = 0;
        connect(progress, &QProgressBar::valueChanged, this, [&](int promille) {
            const bool isHalf = promille >= 500 && reached < 500;
            reached = promille;
            if (isHalf)
                m_gui->find<QPushButton>("exportCancelButton")->click();
        });
        QTRY_VERIFY(!m_gui->textOf("exportResult").isEmpty());
        progress->disconnect(this);
        QVERIFY2(m_gui->textOf("exportResult").contains("Cancelled"),
                 qPrintable(QString("%1 at %2").arg(m_gui->textOf("exportResult")).arg(reached)));
        QVERIFY(!fs::exists(folder.exports()) || fs::is_empty(folder.exports()));
        for (const auto& entry : fs::recursive_directory_iterator(folder.root))
            QVERIFY2(entry.path().extension() != ".part", entry.path().c_str());
        fs::remove(folder.artifacts() / "noise.bin");
        // Again, and now to the end.
        QTRY_VERIFY(m_gui->find<QPushButton>("exportButton")->isEnabled());
        const QString zip = exportNow(run);
        QVERIFY(QFile::exists(zip));
        QCOMPARE(command({"runs", "verify", zip}).code, 0);
    }
    void theBundleIsCleanAndEqualToTheTerminals()
    {
        const ScopedVariable epoch("SOURCE_DATE_EPOCH", "1700000000");
        const QString run = finishedRun();
        const RunFolder folder = m_gui->window().runs().find(run)->folder;
        openDialog();
        const QString first = exportNow(run);
        QVERIFY(QFile::exists(first));
        m_gui->find<QLineEdit>("exportNamePattern")->setText("again");
        const QString second = exportNow(run);
        QVERIFY(first != second);
        QVERIFY(readFile(first.toStdString()) == readFile(second.toStdString()));

        // The same from a terminal.
        const QString typed = GuiHarness::folder() + "/typed.zip";
        const auto outcome = command(
            {"export", "zip", QString::fromStdString(folder.root.string()), "--output", typed});
        QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
        QCOMPARE(digestsOf(typed.toStdString()), digestsOf(first.toStdString()));
        QVERIFY(readFile(typed.toStdString()) == readFile(first.toStdString()));

        QVERIFY(verifyBundle(first.toStdString()).isGood());
        QCOMPARE(command({"runs", "verify", first}).code, 0);
        expectNoPrivateWords(first);
    }
    void aRunOfTheTerminalGivesTheSameResults()
    {
        // `vergence run --zip` with the same seed: the same pictures and numbers, other times.
        const QString run = finishedRun();
        openDialog();
        const auto fromWindow = digestsOf(exportNow(run).toStdString());
        const QString zip = GuiHarness::folder() + "/run.zip";
        const auto outcome =
            command({"run", "heat", "--preset", "demo", "--device", "cpu", "--zip=" + zip,
                     "--plugin-path", VERGENCE_BINARY_DIR "/lib/vergence-test-plugins"});
        QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
        const auto fromTerminal = digestsOf(zip.toStdString());
        int pictures = 0;
        for (const auto& [path, digest] : fromWindow) {
            if (!path.starts_with("artifacts/"))
                continue;
            ++pictures;
            QVERIFY2(fromTerminal.contains(path), path.c_str());
            QCOMPARE(fromTerminal.at(path), digest);
        }
        QCOMPARE(pictures, 3);
    }
    void aColleagueOpensIt()
    {
        const QString run = finishedRun();
        openDialog();
        const QString zip = exportNow(run);
        const std::vector<double> curve = m_gui->valuesOf(run, "heat/residual");
        m_gui.reset();

        ShellOptions options = GuiHarness::optionsWithTestPlugins();
        options.runsFolder = GuiHarness::folder() + "/colleague/runs";
        options.settingsFolder = GuiHarness::folder() + "/colleague/settings";
        options.files << zip; // as a double click in a file browser would
        m_gui = std::make_unique<GuiHarness>(options);
        QVERIFY(m_gui->waitForPlugins());
        QTRY_VERIFY(!m_gui->window().currentRun().isEmpty());
        const QString opened = m_gui->window().currentRun();
        QVERIFY(m_gui->waitState(opened, RunState::Completed));
        QTRY_COMPARE(m_gui->valuesOf(opened, "heat/residual"), curve);
        QTRY_COMPARE(m_gui->window().findChild<ChartsPanel*>()->pointCount("heat/residual"), 20);
        // The pictures of the run are there, without its checkpoints.
        RunView* view = m_gui->window().views().current();
        QVERIFY(listCheckpoints(m_gui->window().runs().find(opened)->folder).empty());
        QTRY_VERIFY(view->pump().framesShown() > 0);
        auto* streams = m_gui->find<QComboBox>("streamCombo");
        QVERIFY(streams != nullptr);
        QCOMPARE(streams->count(), 3);
        QTRY_COMPARE(m_gui->textOf("viewStatus"), QString("16 × 16 px")); // of no known step
        QVERIFY2(streams->itemText(0).contains("fade_1.png"), qPrintable(streams->itemText(0)));
        m_gui->findAction("useConfig")->trigger();
        QCOMPARE(m_gui->window().setup().plugin(), QString("heat"));
        QCOMPARE(m_gui->find<QLineEdit>("configForm/size")->text(), QString("16"));
        m_gui->shoot("opened_bundle");
    }

private:
    static test::Outcome command(const QStringList& arguments)
    {
        return test::runCommand(arguments, GuiHarness::folder());
    }
    QString finishedRun()
    {
        if (!m_gui->waitForPlugins())
            return {};
        const QString run = m_gui->start("heat", "[plate]\nsize = 16\n[solver]\nsweeps = 20\n");
        if (!m_gui->waitState(run, RunState::Completed))
            return {};
        // The state is known a moment before the worker has written its last events.
        const fs::path events = m_gui->window().runs().find(run)->folder.events();
        const bool isWritten = test::waitFor([&] {
            return fs::exists(events) &&
                   readFile(events).find("\"type\":\"done\"") != std::string::npos;
        });
        return isWritten ? run : QString();
    }
    void openDialog()
    {
        QTRY_VERIFY(m_gui->findAction("export")->isEnabled());
        m_gui->findAction("export")->trigger();
        QTRY_VERIFY(m_gui->find<QDialog>("exportDialog") != nullptr);
    }
    /// Presses Export; path of the file, empty where none was written.
    QString exportNow(const QString& run)
    {
        const QString name = m_gui->textOf("exportFileName").remove("→").trimmed();
        m_gui->click("exportButton");
        const bool isDone = test::waitFor(
            [&] { return m_gui->textOf("exportResult").contains(name.toHtmlEscaped()); }, 30'000);
        const fs::path exports = m_gui->window().runs().find(run)->folder.exports();
        return isDone ? QString::fromStdString((exports / name.toStdString()).string()) : QString();
    }
    /// No absolute path, user or computer in any file of the bundle.
    static void expectNoPrivateWords(const QString& zip)
    {
        const QTemporaryDir place;
        const RunFolder opened = openBundle(zip.toStdString(), place.path().toStdString());
        char host[256] = {};
        ::gethostname(host, sizeof host - 1);
        std::vector<std::string> words{GuiHarness::folder().toStdString(), VERGENCE_BINARY_DIR,
                                       host};
        for (const char* variable : {"USER", "LOGNAME"})
            if (const std::string name = qgetenv(variable).toStdString(); name.size() > 3)
                words.push_back(name); // "root" is a word of many texts
        int files = 0;
        for (const auto& entry : fs::recursive_directory_iterator(opened.root)) {
            if (!entry.is_regular_file())
                continue;
            ++files;
            const std::string text = readFile(entry.path());
            for (const std::string& word : words)
                QVERIFY2(word.empty() || text.find(word) == std::string::npos,
                         (entry.path().string() + " names " + word).c_str());
        }
        QVERIFY(files > 5);
    }

    std::unique_ptr<GuiHarness> m_gui;
};

VERGENCE_GUI_TEST(TestBundle)
#include "tst_s19_bundle.moc"
