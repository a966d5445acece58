#pragma once

#include <QComboBox>
#include <QCoreApplication>
#include <QMouseEvent>

namespace vergence::test {

/// As a person chooses an entry.
inline void choose(QComboBox& combo, const QString& text)
{
    combo.setCurrentIndex(combo.findText(text));
    Q_EMIT combo.activated(combo.currentIndex());
}

/// The pointer moves with the left button held.
inline void moveTo(QWidget& canvas, QPoint to)
{
    QMouseEvent event(QEvent::MouseMove, to, canvas.mapToGlobal(to), Qt::NoButton, Qt::LeftButton,
                      Qt::NoModifier);
    QCoreApplication::sendEvent(&canvas, &event);
}

} // namespace vergence::test
