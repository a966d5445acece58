#pragma once

#include <vector>

#include <QLabel>
#include <QWidget>

#include "core/config/issue.h"

class QHBoxLayout;
class QPushButton;

namespace vergence {

/// Label that acts like a button: by mouse, by Enter and by Space.
class SummaryLabel : public QLabel {
    Q_OBJECT
public:
    explicit SummaryLabel(QWidget* parent);
    void setSentence(const QString& text);

Q_SIGNALS:
    void clicked();

protected:
    void mouseReleaseEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void fitHeight();
};

/// Foot of the form: what is wrong (a click jumps to it, the next click to the next) and the two
/// buttons, with room for a widget of others beside them.
class FormFooter : public QWidget {
    Q_OBJECT
public:
    explicit FormFooter(QWidget* parent);

    void setIssues(const std::vector<ConfigIssue>& issues, int changedCount);
    /// Why a button cannot be pressed however right the settings are; empty: it can.
    void setBlocked(const QString& start, const QString& queue);
    void addWidget(QWidget* widget); ///< left of the buttons
    bool canStart() const;
    bool canQueue() const;

Q_SIGNALS:
    void jumpRequested(const QString& key);
    void startRequested();
    void queueRequested();

protected:
    void changeEvent(QEvent* event) override;

private:
    void jump();
    void restyle();
    void refreshButtons();

    std::vector<ConfigIssue> m_issues;
    std::size_t m_next = 0;
    QString m_startBlock, m_queueBlock;
    QHBoxLayout* m_row;
    SummaryLabel* m_summary;
    QPushButton* m_queue;
    QPushButton* m_start;
};

/// "2 errors: iterations must be at least 1 (found -5). …"
QString summaryText(const std::vector<ConfigIssue>& issues, int changedCount);

} // namespace vergence
