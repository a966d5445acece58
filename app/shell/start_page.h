#pragma once

#include <QWidget>

#include "app/shell/probe_catalog.h"
#include "app/shell/run_list_model.h"

class QLabel;
class QPushButton;
class QVBoxLayout;

namespace vergence {

/// What a first-time user sees (`startPage`): one big button, recent runs, and what this computer
/// can do.
class StartPage : public QWidget {
    Q_OBJECT
public:
    StartPage(ProbeCatalog& catalog, RunListModel& runs, QWidget* parent = nullptr);
    void setComputer(const QString& text);
    QPushButton* demoButton() const { return m_demo; }

Q_SIGNALS:
    void demoRequested(const QString& plugin);
    void newRunRequested();
    void openRequested();
    void runRequested(const QString& id);
    void pluginManagerRequested();
    void devicesRequested();

protected:
    void changeEvent(QEvent* event) override;

private:
    QWidget* makeButtons();
    QWidget* makeFacts();
    void showPlugins();
    void showDemos();
    void showRecent();

    ProbeCatalog& m_catalog;
    RunListModel& m_runs;
    QPushButton* m_demo = nullptr;
    QVBoxLayout* m_furtherDemos = nullptr;
    QStringList m_demoPlugins; ///< whose buttons there are
    QLabel *m_computer = nullptr, *m_plugins = nullptr, *m_recent = nullptr, *m_demoNote = nullptr;
};

} // namespace vergence
