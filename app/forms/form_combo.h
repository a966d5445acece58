#pragma once

#include <QComboBox>
#include <QKeyEvent>
#include <QWheelEvent>

namespace vergence {

/// A combo box in a form: the wheel changes it only while it has the focus, and keys with Ctrl go
/// on to the form, whose shortcuts they are; Qt's own would take them for a search of its entries.
class FormCombo : public QComboBox {
public:
    explicit FormCombo(QWidget* parent = nullptr) : QComboBox(parent)
    {
        setFocusPolicy(Qt::StrongFocus); // by default the wheel brings the focus
    }

protected:
    void keyPressEvent(QKeyEvent* event) override
    {
        if (event->modifiers().testFlag(Qt::ControlModifier))
            event->ignore();
        else
            QComboBox::keyPressEvent(event);
    }
    void wheelEvent(QWheelEvent* event) override
    {
        if (hasFocus())
            QComboBox::wheelEvent(event);
        else
            event->ignore();
    }
};

} // namespace vergence
