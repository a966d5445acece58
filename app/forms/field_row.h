#pragma once

#include <QWidget>

#include "app/forms/field_editor.h"

class QBoxLayout;
class QHBoxLayout;
class QLabel;
class QToolButton;
class QVBoxLayout;

namespace vergence {

/// One row of the form: label, editor, unit, changed dot, lock; beneath them a sentence while the
/// value is wrong.
class FieldRow : public QWidget {
    Q_OBJECT
public:
    FieldRow(const Field& field, QWidget* parent);

    const Field& field() const { return m_field; }
    FieldEditor& editor() { return *m_editor; }
    const QString& searchText() const
    {
        return m_searchText;
    } ///< title, key and help in lower case

    void setColumns(int labelWidth, int unitWidth);
    /// Keeps the lock's place in every row, so that editors stay in line while some are locked.
    void reserveLock(bool reserved);
    /// The label above the editor, where a list or a path would be cut beside it.
    void setStacked(bool stacked);
    bool isLong() const; ///< may hold a list, a path or a sentence
    void setChanged(bool changed);
    void setLock(bool locked, const QString& reason);
    /// Sentence under the editor, with the severity by colour and text; empty for none.
    void setProblem(const QString& sentence, bool isError);

    static int labelWidthFor(const Field& field, const QFontMetrics& metrics);
    static int frameWidth(); ///< what dot and gaps take of a row

Q_SIGNALS:
    void resetRequested();

protected:
    void changeEvent(QEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    QString help() const;
    void fitLabel();
    QLabel& lock();
    int problemIndent() const;
    void restyle();

    Field m_field;
    QString m_searchText, m_problemText;
    int m_labelWidth = 0;
    bool m_isChanged = false, m_isLocked = false, m_isError = false;
    QVBoxLayout* m_column;
    QHBoxLayout* m_line;
    QBoxLayout* m_pair; // label and editor
    QLabel* m_label;
    FieldEditor* m_editor;
    QLabel* m_unit = nullptr; // where there is one
    QToolButton* m_dot;
    // Made when first needed:
    QLabel* m_lock = nullptr;
    QLabel* m_problem = nullptr;
};

} // namespace vergence
