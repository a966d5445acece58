#pragma once

#include <QLineEdit>

namespace vergence {

/// Line that keeps what is being typed apart from what holds: Enter and Tab commit, Escape
/// restores, and a text under the cursor is never overwritten from outside.
class CommitEdit : public QLineEdit {
    Q_OBJECT
public:
    explicit CommitEdit(QWidget* parent = nullptr);

    /// The text that holds. While the user is typing, it is only remembered for Escape.
    void setHeldText(const QString& text);
    QString heldText() const { return m_held; }
    bool isDirty() const { return text() != m_held; }
    void commit(); ///< emits committed() where the text has changed

Q_SIGNALS:
    void committed(const QString& text);
    void restored(); ///< Escape took the typed text back

protected:
    /// One step of an arrow key or of the wheel; false where this editor has no steps.
    virtual bool step(bool isUp);

    bool event(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;

private:
    QString m_held;
};

} // namespace vergence
