#include "app/shell/studio_settings.h"

#include <algorithm>

#include <QDir>

#include "core/plugin/plugin_registry.h"

namespace vergence {

namespace {

/// Raised when keys change their meaning; an older file is then left unread.
constexpr int kSettingsVersion = 1;

} // namespace

StudioSettings::StudioSettings(const QString& folder, bool clean)
{
    if (clean)
        m_throwAway = std::make_unique<QTemporaryDir>();
    m_folder = clean              ? m_throwAway->path()
               : folder.isEmpty() ? QString::fromStdString(configHome().string())
                                  : folder;
    QDir().mkpath(m_folder);
    m_settings =
        std::make_unique<QSettings>(QDir(m_folder).filePath("settings.ini"), QSettings::IniFormat);
    if (m_settings->value("version", kSettingsVersion).toInt() != kSettingsVersion)
        m_settings->clear();
    m_settings->setValue("version", kSettingsVersion);
}

QString StudioSettings::folder() const
{
    return m_folder;
}

QString StudioSettings::theme() const
{
    return m_settings->value("appearance/theme", "system").toString();
}

void StudioSettings::setTheme(const QString& theme)
{
    m_settings->setValue("appearance/theme", theme);
}

int StudioSettings::textPercent() const
{
    return std::clamp(m_settings->value("appearance/text_percent", 100).toInt(), 90, 150);
}

void StudioSettings::setTextPercent(int percent)
{
    m_settings->setValue("appearance/text_percent", std::clamp(percent, 90, 150));
}

QString StudioSettings::runsFolder() const
{
    const QString chosen = m_settings->value("runs/folder").toString();
    if (!chosen.isEmpty())
        return chosen;
    const QString fromEnvironment = qEnvironmentVariable("VERGENCE_RUNS");
    return fromEnvironment.isEmpty() ? QDir::home().filePath("Vergence/runs") : fromEnvironment;
}

void StudioSettings::setRunsFolder(const QString& folder)
{
    m_settings->setValue("runs/folder", folder);
}

QString StudioSettings::exportFolder() const
{
    return m_settings->value("export/folder").toString();
}

void StudioSettings::setExportFolder(const QString& folder)
{
    m_settings->setValue("export/folder", folder);
}

int StudioSettings::checkpointSeconds() const
{
    return std::clamp(m_settings->value("runs/checkpoint_seconds", 60).toInt(), 1, 86400);
}

void StudioSettings::setCheckpointSeconds(int seconds)
{
    m_settings->setValue("runs/checkpoint_seconds", seconds);
}

QString StudioSettings::previewPath() const
{
    return m_settings->value("viewport/preview_path", "auto").toString();
}

void StudioSettings::setPreviewPath(const QString& path)
{
    m_settings->setValue("viewport/preview_path", path);
}

QString StudioSettings::target() const
{
    return m_settings->value("runs/target").toString();
}

void StudioSettings::setTarget(const QString& name)
{
    m_settings->setValue("runs/target", name);
}

bool StudioSettings::continuesQueueAfterFailure() const
{
    return m_settings->value("queue/continue_after_failure", true).toBool();
}

void StudioSettings::setContinuesQueueAfterFailure(bool on)
{
    m_settings->setValue("queue/continue_after_failure", on);
}

QByteArray StudioSettings::geometry() const
{
    return m_settings->value("window/geometry").toByteArray();
}

QByteArray StudioSettings::windowState() const
{
    return m_settings->value("window/state").toByteArray();
}

QString StudioSettings::layout() const
{
    return m_settings->value("window/layout", "Train").toString();
}

void StudioSettings::saveWindow(const QByteArray& geometry, const QByteArray& state,
                                const QString& layout)
{
    m_settings->setValue("window/geometry", geometry);
    m_settings->setValue("window/state", state);
    m_settings->setValue("window/layout", layout);
    m_settings->sync();
}

} // namespace vergence
