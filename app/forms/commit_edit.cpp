#include "app/forms/commit_edit.h"

#include <QKeyEvent>
#include <QWheelEvent>

namespace vergence {

CommitEdit::CommitEdit(QWidget* parent) : QLineEdit(parent)
{
    setFocusPolicy(Qt::StrongFocus);
    setAcceptDrops(false); // a file that is dropped here is meant for the window
}

void CommitEdit::setHeldText(const QString& text)
{
    const bool keepTyped = hasFocus() && isDirty();
    m_held = text;
    if (!keepTyped && this->text() != text) {
        setText(text);
        setCursorPosition(0);
    }
}

void CommitEdit::commit()
{
    if (!isDirty() || isReadOnly())
        return;
    m_held = text();
    Q_EMIT committed(m_held);
}

bool CommitEdit::step(bool)
{
    return false;
}

bool CommitEdit::event(QEvent* event)
{
    // Escape belongs to this line while it holds something to restore, and to nobody's shortcut.
    if (event->type() == QEvent::ShortcutOverride) {
        auto* key = static_cast<QKeyEvent*>(event);
        if (key->key() == Qt::Key_Escape && isDirty()) {
            key->accept();
            return true;
        }
    }
    return QLineEdit::event(event);
}

void CommitEdit::keyPressEvent(QKeyEvent* event)
{
    if (event->key() == Qt::Key_Escape && isDirty()) {
        setText(m_held);
        Q_EMIT restored();
        return;
    }
    if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) {
        commit();
        selectAll();
        return;
    }
    const bool isHistory = event->matches(QKeySequence::Undo) || event->matches(QKeySequence::Redo);
    if (isHistory && !isDirty()) { // nothing typed: the history of the form is meant
        event->ignore();
        return;
    }
    const bool isArrow = event->key() == Qt::Key_Up || event->key() == Qt::Key_Down;
    if (isArrow && !isReadOnly() && step(event->key() == Qt::Key_Up))
        return;
    QLineEdit::keyPressEvent(event);
}

void CommitEdit::focusOutEvent(QFocusEvent* event)
{
    if (event->reason() != Qt::PopupFocusReason)
        commit();
    QLineEdit::focusOutEvent(event);
}

void CommitEdit::wheelEvent(QWheelEvent* event)
{
    const int delta = event->angleDelta().y();
    if (hasFocus() && !isReadOnly() && delta != 0 && step(delta > 0))
        event->accept();
    else
        event->ignore();
}

} // namespace vergence
