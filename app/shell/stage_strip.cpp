#include "app/shell/stage_strip.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>

#include "app/style/theme.h"

namespace vergence {

StageStrip::StageStrip(QWidget* parent) : QWidget(parent)
{
    setObjectName("stageStrip");
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(2, 2, 2, 2);
    row->setSpacing(10);
    for (QLabel*& label : m_labels) {
        label = new QLabel(this);
        row->addWidget(label);
    }
    row->addStretch();
    showStage();
}

void StageStrip::setStage(Stage stage)
{
    m_stage = stage;
    showStage();
}

void StageStrip::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange)
        showStage();
}

void StageStrip::showStage()
{
    const QString names[] = {tr("Data"), tr("Setup"), tr("Run"), tr("Look"), tr("Export")};
    const int now = static_cast<int>(m_stage);
    for (int i = 0; i < 5; ++i) {
        const QString text = tr("%1 %2").arg(i + 1).arg(names[i]);
        const QColor colour =
            i == now ? palette().color(QPalette::WindowText) : mutedColour(palette());
        m_labels[i]->setText(
            i == now ? QString("<b style='color:%1'>%2</b>").arg(colour.name(), text)
                     : QString("<span style='color:%1'>%2</span>").arg(colour.name(), text));
    }
    setAccessibleName(tr("Stage %1 of 5: %2").arg(now + 1).arg(names[now]));
}

} // namespace vergence
