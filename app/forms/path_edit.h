#pragma once

#include <QWidget>

class QLabel;
class QToolButton;

namespace vergence {

class CommitEdit;

/// Line for a file or folder with a mark that says whether it exists, a button to choose one, and
/// room to drop one.
class PathEdit : public QWidget {
    Q_OBJECT
public:
    explicit PathEdit(const QString& title, QWidget* parent = nullptr);

    CommitEdit* line() const { return m_line; }
    void setLocked(bool locked);
    /// The path is one of another computer: nothing here can be chosen, and whether it exists is
    /// not known.
    void setElsewhere(bool elsewhere);

protected:
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    void browse();
    void put(const QString& path);
    void refreshMark();

    QString m_title;
    CommitEdit* m_line;
    QLabel* m_mark;
    QToolButton* m_browse;
};

} // namespace vergence
