#include <QDir>
#include <QElapsedTimer>
#include <QPushButton>
#include <QSet>
#include <QTest>
#include <QTreeWidget>

#include "core/base/file.h"
#include "tests/support/gui/gui_harness.h"

using namespace vergence;
namespace fs = std::filesystem;

namespace {

enum Column { Name, Version, Api, State, Reason };

const fs::path kBad = VERGENCE_BINARY_DIR "/lib/vergence-bad-plugins";
const fs::path kGood = VERGENCE_BINARY_DIR "/lib/vergence-test-plugins/libvergence-plugin-heat.so";
constexpr int kScanMs = 90'000; // the one that hangs is waited for

/// The row of a plugin file in the manager's table: its state and its sentence.
struct Row {
    QString state, reason;
};

} // namespace

/// S21: I install dubious plugins. Each gate and probe has its row with a sentence of its own.
class TestDubiousPlugins : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase()
    {
        m_folder = (GuiHarness::folder() + "/dubious").toStdString();
        fs::create_directories(m_folder);
        for (const auto& entry : fs::directory_iterator(kBad))
            fs::copy_file(entry.path(), m_folder / entry.path().filename());
        const std::string whole = readFile(kGood);
        writeFileAtomic(m_folder / "text.so", std::string_view("this is no library\n"));
        writeFileAtomic(m_folder / "truncated.so",
                        std::string_view(whole).substr(0, whole.size() / 2));
        fs::copy_file(kGood, m_folder / "good.so");
        fs::copy_file(kGood, m_folder / "z_second.so"); // the same id
        m_marker = (GuiHarness::folder() + "/marker").toStdString();
        qputenv("VERGENCE_TEST_MARKER", QByteArray::fromStdString(m_marker.string()));
    }

    void everyRowHasItsSentence_data()
    {
        QTest::addColumn<QString>("state");
        QTest::addColumn<QString>("reason");
        const auto row = [](const char* file, PluginState state, const char* reason) {
            QTest::newRow(file) << QString::fromStdString(nameOf(state)) << reason;
        };
        // Gates: judged from the file alone.
        row("libwrong_api.so", PluginState::Refused,
            "it needs plugin API 3, this version offers 1.");
        row("libwrong_iid.so", PluginState::Refused, "its interface is `org.other.Thing/1`");
        row("libnewer_qt.so", PluginState::Refused, "it was built with Qt 6.99");
        row("libother_abi.so", PluginState::Refused, "it was built with `clang14-libc++`");
        row("libmissing_keys.so", PluginState::Refused, "its descriptor lacks `name`");
        row("libplain.so", PluginState::Refused, "a plain library without plugin metadata");
        row("text.so", PluginState::Refused, "it is a text file, not a shared library");
        row("truncated.so", PluginState::Refused, "it is truncated");
        row("z_second.so", PluginState::Shadowed, "good.so");
        // Probes: opened once, in a process of their own.
        row("libmissing_symbol.so", PluginState::Refused,
            "the symbol `vergenceTestNowhere` is missing");
        row("libmissing_library.so", PluginState::Refused,
            "it needs the library `libvergence-test-absent.so`");
        row("libno_interface.so", PluginState::Refused, "its object does not implement");
        row("libcrashes.so", PluginState::Quarantined, "it crashed while loading (signal 11)");
        row("libhangs.so", PluginState::Quarantined, "it did not load within");
        // Allowed on this system.
        row("libdebug_build.so", PluginState::Ready, "");
        row("good.so", PluginState::Ready, "");
    }
    void everyRowHasItsSentence()
    {
        QFETCH(QString, state);
        QFETCH(QString, reason);
        const auto& rows = table();
        const auto found = rows.find(QTest::currentDataTag());
        QVERIFY(found != rows.end());
        QCOMPARE(found->second.state, state);
        if (reason.isEmpty())
            QVERIFY2(found->second.reason.isEmpty(), qPrintable(found->second.reason));
        else
            QVERIFY2(found->second.reason.contains(reason), qPrintable(found->second.reason));
    }
    void sentencesDiffer()
    {
        QSet<QString> sentences;
        int bad = 0;
        for (const auto& [file, row] : table()) {
            if (row.reason.isEmpty())
                continue;
            ++bad;
            sentences << row.reason;
        }
        QCOMPARE(bad, 14);
        QCOMPARE(sentences.size(), bad);
    }
    void theWindowIsThereAtOnceAndTellsInOneLine()
    {
        QElapsedTimer timer;
        timer.start();
        GuiHarness gui(options());
        QVERIFY(gui.find<QWidget>("startPage")->isVisible());
        qInfo("the window is there after %lld ms (ux.md: within 3 s)", timer.elapsed());
        QVERIFY(test::waitFor([&] { return gui.window().catalog().isComplete(); }, kScanMs));
        QVERIFY2(gui.textOf("pluginLine").contains("13 refused"),
                 qPrintable(gui.textOf("pluginLine")));
        QCOMPARE(GuiHarness::visibleDialogs(), 0); // no pop-up per plugin
    }
    void whatCrashedOrHungIsNotOpenedAgain()
    {
        table(); // the first start quarantines them
        QElapsedTimer timer;
        timer.start();
        GuiHarness gui(options());
        QVERIFY(test::waitFor([&] { return gui.window().catalog().isComplete(); }, kScanMs));
        qInfo("%lld ms without those that crash or hang", timer.elapsed());
        const auto rows = rowsOf(gui);
        QCOMPARE(rows.at("libcrashes.so").state,
                 QString::fromStdString(nameOf(PluginState::Quarantined)));
        QCOMPARE(rows.at("libhangs.so").state,
                 QString::fromStdString(nameOf(PluginState::Quarantined)));
        // Until somebody says that it may be tried again.
        QTreeWidget* tree = openManager(gui);
        tree->setCurrentItem(tree->topLevelItem(indexOf(gui, "libcrashes.so")));
        QVERIFY(gui.find<QPushButton>("pluginRelease")->isEnabled());
    }
    void aDisabledPluginNeverRuns()
    {
        ShellOptions alone;
        alone.pluginFolders << QString::fromStdString((m_folder / "good.so").string());
        GuiHarness gui(alone);
        QVERIFY(gui.waitForPlugins());
        QTreeWidget* tree = openManager(gui);
        tree->setCurrentItem(tree->topLevelItem(indexOf(gui, "good.so")));
        QCOMPARE(gui.find<QPushButton>("pluginEnable")->text(), QString("Disable"));
        gui.click("pluginEnable");
        QTRY_COMPARE(rowsOf(gui).at("good.so").state,
                     QString::fromStdString(nameOf(PluginState::Disabled)));
        fs::remove(m_marker);
        fs::remove_all((GuiHarness::folder() + "/cache/vergence").toStdString()); // no old answers
        gui.restart();
        QVERIFY(gui.waitForPlugins());
        QVERIFY(gui.window().catalog().find("heat") == nullptr);
        QVERIFY(!fs::exists(m_marker));
        // Enabled again it is opened, so the marker does tell.
        tree = openManager(gui);
        tree->setCurrentItem(tree->topLevelItem(indexOf(gui, "good.so")));
        gui.click("pluginEnable");
        QTRY_COMPARE(rowsOf(gui).at("good.so").state,
                     QString::fromStdString(nameOf(PluginState::Ready)));
        QVERIFY(fs::exists(m_marker));
    }
    void safeModeOpensNone()
    {
        fs::remove(m_marker);
        fs::remove_all((GuiHarness::folder() + "/cache/vergence").toStdString());
        ShellOptions safe = options();
        safe.isSafeMode = true;
        GuiHarness gui(safe);
        QVERIFY(gui.waitForPlugins());
        for (const PluginInfo& plugin : gui.window().catalog().plugins()) {
            QVERIFY(!plugin.isUsable());
            QVERIFY(plugin.descriptor.state != PluginState::Ready);
        }
        QVERIFY(!gui.find<QPushButton>("demoButton")->isEnabled());
        QVERIFY(!fs::exists(m_marker));
    }

private:
    ShellOptions options() const
    {
        ShellOptions options;
        options.pluginFolders << QString::fromStdString(m_folder.string());
        return options;
    }
    static QTreeWidget* openManager(GuiHarness& gui)
    {
        if (gui.find<QTreeWidget>("pluginTable") == nullptr)
            gui.findAction("pluginManager")->trigger();
        return gui.find<QTreeWidget>("pluginTable");
    }
    static int indexOf(GuiHarness& gui, const std::string& file)
    {
        const auto& plugins = gui.window().catalog().plugins();
        for (std::size_t i = 0; i < plugins.size(); ++i)
            if (plugins[i].descriptor.path.filename() == file)
                return static_cast<int>(i);
        return -1;
    }
    /// What the manager shows of the files of this test, by name.
    std::map<std::string, Row> rowsOf(GuiHarness& gui) const
    {
        std::map<std::string, Row> rows;
        const QTreeWidget* tree = openManager(gui);
        const auto& plugins = gui.window().catalog().plugins();
        for (int i = 0; i < tree->topLevelItemCount() && i < static_cast<int>(plugins.size());
             ++i) {
            const fs::path& path = plugins[static_cast<std::size_t>(i)].descriptor.path;
            const QTreeWidgetItem* item = tree->topLevelItem(i);
            if (path.parent_path() == m_folder)
                rows[path.filename().string()] = {item->text(State), item->text(Reason)};
        }
        return rows;
    }
    /// The table after the first start with this folder.
    const std::map<std::string, Row>& table()
    {
        if (m_table.empty()) {
            GuiHarness gui(options());
            if (test::waitFor([&] { return gui.window().catalog().isComplete(); }, kScanMs))
                m_table = rowsOf(gui);
            gui.shoot("plugin_manager");
        }
        return m_table;
    }

    fs::path m_folder, m_marker;
    std::map<std::string, Row> m_table;
};

VERGENCE_GUI_TEST(TestDubiousPlugins)
#include "tst_s21_dubious_plugins.moc"
