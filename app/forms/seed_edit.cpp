#include "app/forms/seed_edit.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QRandomGenerator>
#include <QToolButton>

#include "app/forms/accents.h"
#include "app/forms/sci_edit.h"

namespace vergence {

SeedEdit::SeedEdit(QWidget* parent)
    : QWidget(parent),
      m_line(new SciEdit(SciEdit::Kind::Int, {}, this)),
      m_dice(new QToolButton(this))
{
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(3);
    row->addWidget(m_line, 1);
    row->addWidget(m_dice);
    m_dice->setFocusPolicy(Qt::StrongFocus);
    m_dice->setIcon(signIcon(Sign::Dice, palette().color(QPalette::ButtonText)));
    m_dice->setToolTip(tr("Draw another seed"));
    m_dice->setAccessibleName(m_dice->toolTip());
    setFocusProxy(m_line);
    connect(m_dice, &QToolButton::clicked, this, &SeedEdit::roll);
}

void SeedEdit::setLocked(bool locked)
{
    m_line->setReadOnly(locked);
    m_dice->setEnabled(!locked);
}

void SeedEdit::changeEvent(QEvent* event)
{
    if (event->type() == QEvent::PaletteChange)
        m_dice->setIcon(signIcon(Sign::Dice, palette().color(QPalette::ButtonText)));
    QWidget::changeEvent(event);
}

void SeedEdit::roll()
{
    m_line->setText(QString::number(QRandomGenerator::global()->bounded(0x7fffffff)));
    m_line->commit();
}

} // namespace vergence
