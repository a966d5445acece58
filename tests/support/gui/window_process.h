#pragma once

#include <QProcess>
#include <QString>

namespace vergence {

/// The window in a process of its own, with the private folders of this test: for what happens to
/// runs when the window dies.
class WindowProcess {
public:
    /// Opens the window and starts `plugin` with the values of `toml` from its form.
    WindowProcess(const QString& plugin, const QString& toml, const QString& layout = "Train");
    ~WindowProcess();

    QString run() const { return m_run; } ///< empty where the window did not come up
    qint64 processId() const { return m_process.processId(); }
    /// SIGKILL, as by `kill -9`; true once the process is gone.
    bool kill();

private:
    QProcess m_process;
    QString m_run;
};

} // namespace vergence
