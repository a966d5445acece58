#include "tests/support/gui/gui_harness.h"

#include <QDir>
#include <QFile>
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

bool GuiHarness::waitForPlugins()
{
    return QTest::qWaitFor([this] { return m_window->catalog().isComplete(); }, 30'000);
}

bool GuiHarness::waitState(const QString& run, RunState state, int milliseconds)
{
    return QTest::qWaitFor(
        [&] {
            const RunEntry* entry = m_window->runs().find(run);
            return entry != nullptr && entry->isLoaded && entry->state == state;
        },
        milliseconds);
}

QString GuiHarness::start(const QString& plugin, const QString& toml)
{
    m_window->actions().newRun->trigger();
    m_window->setup().choose(plugin, {});
    m_window->setup().loadToml(toml.toStdString(), "test", plugin);
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
        static_cast<void>(
            QTest::qWaitFor([&] { return isFinal(m_window->runs().find(id)->state); }, 20'000));
    }
}

} // namespace vergence
