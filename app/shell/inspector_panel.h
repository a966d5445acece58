#pragma once

#include <string>
#include <vector>

#include <QPointer>
#include <QTimer>
#include <QWidget>

#include "app/shell/run_list_model.h"

class QLabel;
class QPushButton;
class QTextEdit;
class QTreeWidget;
class QTreeWidgetItem;

namespace vergence {

/// Facts of the selected run and its artifacts with a small preview of pictures. A copy of a run
/// may lack some; a button fetches them.
class InspectorPanel : public QWidget {
    Q_OBJECT
public:
    explicit InspectorPanel(RunListModel& runs, QWidget* parent = nullptr);
    void setRun(const QString& id); ///< empty: nothing is selected

Q_SIGNALS:
    void fetchRequested(const QString& id);

protected:
    void showEvent(QShowEvent* event) override;

private:
    void refreshSoon();
    void refresh();
    void showFacts(const RunEntry& run);
    void showArtifacts(const RunEntry& run);
    void addArtifact(const RunEntry& run, const nlohmann::json& artifact, bool isHere);
    void showMissing(const RunEntry& run, std::ptrdiff_t count);
    void showPreview(QTreeWidgetItem* item);
    void openFolderOf(const QTreeWidgetItem& item);

    RunListModel& m_runs;
    QString m_id;
    QLabel *m_empty, *m_problem, *m_missing, *m_preview, *m_note;
    QPushButton* m_fetch;
    QTextEdit* m_facts;
    QString m_shownFacts;
    QTreeWidget* m_artifacts;
    std::string m_shownArtifacts; ///< as JSON, and which of them are here
    QPointer<RunSession> m_session;
    QTimer m_refresh;
    bool m_isStale = true; ///< something has changed while nobody looked
};

} // namespace vergence
