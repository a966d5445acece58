#pragma once

#include <vector>

#include <QDialog>

#include "app/shell/sweep.h"
#include "app/shell/worker_commands.h"

class QComboBox;
class QLabel;
class QLineEdit;
class QPushButton;
class QSpinBox;
class QStackedWidget;

namespace vergence {

class SweepCheck;

/// Asks which values of one setting to go through (`sweepDialog`): a list, or a range in equal
/// steps or ratios. Says how many runs that makes and how long they may take.
class SweepDialog : public QDialog {
    Q_OBJECT
public:
    /// `earlierSeconds`: how long runs of this kind took, for the estimate; may be empty.
    SweepDialog(const ConfigSchema& schema, RunDraft draft, std::vector<double> earlierSeconds,
                QWidget* parent);

    /// From now on every run of the sweep is checked before it can be queued.
    void setCheck(const QString& executable, const QStringList& extraArguments);

    /// The runs go to that cluster, as one job array; empty: into the queue of this computer.
    void setTarget(const QString& target);

Q_SIGNALS:
    void runsWanted(const std::vector<vergence::RunDraft>& drafts);

private:
    QWidget* makeList();
    QWidget* makeRange();
    const Field& field() const;
    SweepValues values() const;
    void takeField();
    void showSummary();
    void say(const QString& summary, bool canAdd);
    QString runsText() const;
    QString estimate(qsizetype runs) const;

    ConfigSchema m_schema;
    RunDraft m_draft;
    std::vector<double> m_earlierSeconds;
    QString m_target;
    QComboBox *m_field, *m_kind, *m_scale = nullptr;
    QStackedWidget* m_pages;
    QLineEdit *m_list = nullptr, *m_from = nullptr, *m_to = nullptr;
    QSpinBox* m_count = nullptr;
    QLabel *m_help, *m_summary;
    QPushButton* m_add;
    SweepCheck* m_check = nullptr;
};

} // namespace vergence
