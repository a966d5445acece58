#include "tests/support/gui/gui_harness.h"

#include <QDialog>
#include <QDir>
#include <QFile>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QScreen>

namespace vergence {

namespace {

QString& privateFolder()
{
    static QString folder;
    return folder;
}

Theme& theme()
{
    static Theme theme(*qApp);
    return theme;
}

} // namespace

void GuiHarness::useFolder(const QString& folder)
{
    privateFolder() = folder;
    const QDir home(folder);
    const std::pair<const char*, const char*> places[] = {{"HOME", "home"},
                                                          {"XDG_CONFIG_HOME", "config"},
                                                          {"XDG_DATA_HOME", "data"},
                                                          {"XDG_STATE_HOME", "state"},
                                                          {"XDG_CACHE_HOME", "cache"},
                                                          {"XDG_RUNTIME_DIR", "run"},
                                                          {"VERGENCE_RUNS", "runs"}};
    for (const auto& [variable, name] : places) {
        home.mkpath(name);
        qputenv(variable, home.filePath(name).toLocal8Bit());
    }
    QFile::setPermissions(home.filePath("run"),
                          QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    qputenv("VERGENCE_WORKER", VERGENCE_BINARY_DIR "/bin/vergence");
}

QString GuiHarness::folder()
{
    return privateFolder();
}

ShellOptions GuiHarness::optionsWithTestPlugins()
{
    ShellOptions options;
    options.pluginFolders << VERGENCE_BINARY_DIR "/lib/vergence-test-plugins";
    return options;
}

GuiHarness::GuiHarness(ShellOptions options) : m_options(std::move(options))
{
    open();
}

GuiHarness::~GuiHarness()
{
    endRuns();
}

void GuiHarness::open()
{
    if (const QString theme = qEnvironmentVariable("VERGENCE_SHOTS_THEME"); !theme.isEmpty())
        StudioSettings().setTheme(theme);
    m_window = std::make_unique<MainWindow>(m_options, theme());
    m_window->show();
    if (qEnvironmentVariableIsSet("VERGENCE_SHOTS"))
        m_window->resize(m_window->screen()->size());
    static_cast<void>(QTest::qWaitForWindowExposed(m_window.get()));
}

void GuiHarness::restart()
{
    m_window->close();
    m_window.reset();
    open();
}

QAction* GuiHarness::findAction(const QString& id) const
{
    return m_window->actions().byId(id);
}

void GuiHarness::click(const QString& name) const
{
    auto* button = find<QAbstractButton>(name);
    QVERIFY2(button != nullptr, qPrintable(name));
    QVERIFY2(button->isVisible() && button->isEnabled(), qPrintable(name));
    QTest::mouseClick(button, Qt::LeftButton);
}

void GuiHarness::type(const QString& key, const QString& text, bool commits) const
{
    auto* editor = find<QLineEdit>("configForm/" + key);
    QVERIFY2(editor != nullptr, qPrintable(key));
    editor->setFocus();
    editor->selectAll();
    QTest::keyClicks(editor, text);
    if (commits)
        QTest::keyClick(editor, Qt::Key_Return);
}

QString GuiHarness::textOf(const QString& label) const
{
    const auto* found = find<QLabel>(label);
    return found == nullptr ? QString() : found->text();
}

ErrorCard* GuiHarness::card() const
{
    for (ErrorCard* card : m_window->findChildren<ErrorCard*>())
        if (card->isVisible())
            return card;
    return nullptr;
}

int GuiHarness::visibleDialogs()
{
    int count = 0;
    for (QWidget* widget : QApplication::topLevelWidgets())
        count += qobject_cast<QDialog*>(widget) != nullptr && widget->isVisible() ? 1 : 0;
    return count;
}

std::vector<double> GuiHarness::valuesOf(const QString& run, const std::string& name)
{
    const RunEntry* entry = m_window->runs().find(run);
    const Series* series = entry == nullptr || entry->session == nullptr
                               ? nullptr
                               : entry->session->client().metrics().find(name);
    if (series == nullptr)
        return {};
    return {series->values().begin(), series->values().end()};
}

bool GuiHarness::waitForPlugins()
{
    return test::waitFor([this] { return m_window->catalog().isComplete(); });
}

bool GuiHarness::waitState(const QString& run, RunState state, int milliseconds)
{
    QDeadlineTimer patience(milliseconds);
    std::tuple<RunState, std::int64_t, QString> seen;
    const auto isThere = [&] {
        const RunEntry* entry = m_window->runs().find(run);
        if (entry == nullptr || !entry->isLoaded)
            return false;
        if (std::tuple now(entry->state, entry->step, entry->phase); now != seen) {
            seen = std::move(now);
            patience.setRemainingTime(milliseconds);
        }
        return entry->state == state;
    };
    while (!isThere()) {
        if (patience.hasExpired())
            return false;
        QTest::qWait(20);
    }
    return true;
}

QString GuiHarness::start(const QString& plugin, const QString& toml)
{
    m_window->actions().newRun->trigger();
    m_window->setup().choose(plugin, {});
    const auto issues = m_window->setup().loadToml(toml.toStdString(), "test", plugin);
    for (const ConfigIssue& issue : issues) {
        if (issue.severity == IssueSeverity::Error) {
            QTest::qFail(issue.text().c_str(), __FILE__, __LINE__);
            return {};
        }
    }
    return m_window->startDraft();
}

void GuiHarness::shoot(const QString& name)
{
    const QString folder = qEnvironmentVariable("VERGENCE_SHOTS");
    if (folder.isEmpty())
        return;
    QTest::qWait(300); // pictures of people's eyes: let the last repaint land
    m_window->screen()->grabWindow(0).save(QDir(folder).filePath(name + ".png"));
}

void GuiHarness::endRuns()
{
    if (m_window == nullptr)
        return;
    for (int row = 0; row < m_window->runs().rowCount(); ++row)
        if (RunSession* session = m_window->runs().entry(row).session;
            session != nullptr && session->client().isConnected())
            session->client().stop();
    for (const QString& id : m_window->runs().liveIds()) {
        m_window->runs().session(id)->client().kill();
        static_cast<void>(test::waitFor([&] { return isFinal(m_window->runs().find(id)->state); }));
    }
}

std::vector<int> processesWith(const QString& text)
{
    std::vector<int> found;
    for (const QString& name : QDir("/proc").entryList(QDir::Dirs)) {
        QFile environment("/proc/" + name + "/environ");
        const int pid = name.toInt();
        if (pid <= 0 || pid == QCoreApplication::applicationPid() ||
            !environment.open(QIODevice::ReadOnly))
            continue;
        if (environment.readAll().contains(QFile::encodeName(text)))
            found.push_back(pid);
    }
    return found;
}

} // namespace vergence
