#pragma once

#include <vector>

#include <QObject>
#include <QProcess>
#include <QTemporaryDir>
#include <QTimer>

#include "core/plugin/lab_inspector.h"

namespace vergence {

/// Asks a worker process (`vergence validate --json`) for the plugin's own rules and what it finds
/// in the data, 300 ms after the last edit. Only the answer to the newest draft counts.
class DraftValidator : public QObject {
    Q_OBJECT
public:
    DraftValidator(QString executable, QStringList extraArguments, QObject* parent = nullptr);
    ~DraftValidator() override;

    /// `toml` with its header, so that the worker knows the plugin.
    void validateSoon(const std::string& toml);
    void cancel();

Q_SIGNALS:
    void validated(const std::vector<vergence::ConfigIssue>& issues,
                   const vergence::DataReport& data);

private:
    void start();
    void readAnswer();

    QString m_executable;
    QStringList m_extraArguments;
    QTemporaryDir m_folder;
    QTimer m_delay;
    QProcess m_process;
    std::string m_toml;
};

} // namespace vergence
