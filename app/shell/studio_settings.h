#pragma once

#include <memory>

#include <QByteArray>
#include <QSettings>
#include <QString>
#include <QTemporaryDir>

namespace vergence {

/// What the window remembers, in `settings.ini` below the configuration folder. Every getter has a
/// default, so an empty, damaged or read-only file is no failure.
class StudioSettings {
public:
    /// `folder` empty: configHome(). `clean`: a throw-away file, nothing is read or kept.
    explicit StudioSettings(const QString& folder = {}, bool clean = false);

    QString theme() const; ///< "system", "light" or "dark"
    void setTheme(const QString& theme);
    int textPercent() const; ///< 90–150
    void setTextPercent(int percent);
    /// Where new runs go: the set folder, $VERGENCE_RUNS, or ~/Vergence/runs.
    QString runsFolder() const;
    void setRunsFolder(const QString& folder);
    /// Where the last export went; empty for the folder of its run.
    QString exportFolder() const;
    void setExportFolder(const QString& folder);
    int checkpointSeconds() const; ///< between automatic checkpoints
    void setCheckpointSeconds(int seconds);
    QString previewPath() const; ///< "auto" or "shm"
    void setPreviewPath(const QString& path);
    QString target() const; ///< where runs start; empty: on this computer
    void setTarget(const QString& name);
    bool continuesQueueAfterFailure() const;
    void setContinuesQueueAfterFailure(bool on);

    QByteArray geometry() const;
    QByteArray windowState() const;
    QString layout() const;
    void saveWindow(const QByteArray& geometry, const QByteArray& state, const QString& layout);

    QString folder() const; ///< that holds settings.ini

private:
    std::unique_ptr<QTemporaryDir> m_throwAway;
    QString m_folder;
    std::unique_ptr<QSettings> m_settings;
};

} // namespace vergence
