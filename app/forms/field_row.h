#pragma once

#include <QWidget>

#include "app/forms/field_editor.h"

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
    void setChanged(bool changed);
    void setLock(bool locked, const QString& reason);
    /// Sentence under the editor, with the severity by colour and text; empty for none.
    void setProblem(const QString& sentence, bool isError);

    static int labelWidthFor(const Field& field, const QFontMetrics& metrics);

Q_SIGNALS:
    void resetRequested();

protected:
    void changeEvent(QEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    QString help() const;
    void restyle();

    Field m_field;
    QString m_searchText, m_problemText;
    bool m_isChanged = false, m_isLocked = false, m_isError = false;
    QVBoxLayout* m_column;
    QHBoxLayout* m_line;
    QLabel* m_label;
    FieldEditor* m_editor;
    QLabel* m_unit;
    QToolButton* m_dot;
    QLabel* m_lock;
    QLabel* m_problem = nullptr; // made when first needed
};

} // namespace vergence
