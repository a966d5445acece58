#pragma once

#include <algorithm>

#include <QComboBox>
#include <QKeyEvent>
#include <QStyle>
#include <QStyleOptionComboBox>
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

    /// So much room is enough, however long the entries are. The size policy of that kind would
    /// make the list of entries at once, not when it is opened: that took a seventh of a form's
    /// time.
    void setLeastCharacters(int count) { m_leastCharacters = count; }
    QSize sizeHint() const override
    {
        return m_leastCharacters > 0 ? leastSize() : QComboBox::sizeHint();
    }
    QSize minimumSizeHint() const override
    {
        return m_leastCharacters > 0 ? leastSize() : QComboBox::minimumSizeHint();
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

private:
    QSize leastSize() const
    {
        QStyleOptionComboBox option;
        initStyleOption(&option);
        const QFontMetrics metrics = fontMetrics();
        const QSize text(m_leastCharacters * metrics.horizontalAdvance(u'X'),
                         std::max(metrics.height(), 14) + 2); // as QComboBox reckons
        return style()->sizeFromContents(QStyle::CT_ComboBox, &option, text, this);
    }

    int m_leastCharacters = 0;
};

} // namespace vergence
