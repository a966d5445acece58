#include "app/viewport/control_strip.h"

#include <algorithm>

#include <QComboBox>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QToolButton>
#include <QVBoxLayout>

#include "app/viewport/control_pad.h"
#include "app/viewport/control_slider.h"

namespace vergence {
namespace {

constexpr int kTogglesPerRow = 16;
constexpr char kToggleGroup[] = "togglesOfStrip"; ///< property that finds a group of toggles

QString nameOf(const ViewControl& control)
{
    return QStringLiteral("controls/") + QString::fromStdString(control.id);
}

QString titleOf(const ViewControl& control)
{
    return QString::fromStdString(control.title.empty() ? control.id : control.title);
}

QString withUnit(double value, const ViewControl& control)
{
    const QString number = QString::number(value, 'g', 4);
    return control.unit.empty() ? number
                                : number + QChar(0x202f) + QString::fromStdString(control.unit);
}

void describe(QWidget& widget, const ViewControl& control)
{
    widget.setObjectName(nameOf(control));
    widget.setAccessibleName(titleOf(control));
    widget.setToolTip(QString::fromStdString(control.help));
}

std::vector<double> states(const QWidget& group)
{
    std::vector<double> values;
    for (const QToolButton* button : group.findChildren<QToolButton*>())
        values.push_back(button->isChecked() ? 1 : 0);
    return values;
}

QString padLegend(const ViewControl& control)
{
    QStringList labels;
    for (const ViewControl::Mark& mark : control.marks)
        if (const auto label = QString::fromStdString(mark.label); !labels.contains(label))
            labels << label;
    QStringList lines;
    for (const QString& label : labels)
        lines << (lines.isEmpty() ? QStringLiteral("● ") : QStringLiteral("○ ")) + label;
    return lines.join(QLatin1Char('\n'));
}

} // namespace

ControlStrip::ControlStrip(QWidget* parent) : QWidget(parent)
{
    setObjectName(QStringLiteral("viewControls"));
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    hide();
}

void ControlStrip::setControls(const std::vector<ViewControl>& controls)
{
    delete m_body;
    m_body = new QWidget(this);
    layout()->addWidget(m_body);
    auto* columns = new QHBoxLayout(m_body);
    columns->setContentsMargins(8, 4, 8, 4);
    columns->setSpacing(16);
    auto* rows = new QGridLayout;
    columns->addLayout(rows, 1);
    rows->setColumnStretch(1, 1);
    for (const ViewControl& control : controls) {
        if (control.kind == ViewControl::Kind::Pad) {
            columns->addWidget(makePad(control));
            continue;
        }
        QWidget* widget = control.kind == ViewControl::Kind::Slider    ? makeSlider(control)
                          : control.kind == ViewControl::Kind::Toggles ? makeToggles(control)
                                                                       : makeChoice(control);
        const int row = rows->rowCount();
        auto* label = new QLabel(titleOf(control), m_body);
        label->setBuddy(widget);
        label->setToolTip(QString::fromStdString(control.help));
        rows->addWidget(label, row, 0);
        rows->addWidget(widget, row, 1);
    }
    rows->setRowStretch(rows->rowCount(), 1);
    setVisible(!controls.empty());
}

QWidget* ControlStrip::makeSlider(const ViewControl& control)
{
    auto* row = new QWidget(m_body);
    auto* layout = new QHBoxLayout(row);
    layout->setContentsMargins(0, 0, 0, 0);
    auto* slider = new ControlSlider(control, row);
    describe(*slider, control);
    row->setFocusProxy(slider);
    auto* value = new QLabel(withUnit(slider->realValue(), control), row);
    value->setMinimumWidth(value->fontMetrics().horizontalAdvance(QStringLiteral("−0.000 mm")));
    value->setTextInteractionFlags(Qt::TextSelectableByMouse);
    auto* play = new QToolButton(row);
    play->setObjectName(nameOf(control) + QStringLiteral("/play"));
    play->setCheckable(true);
    play->setAutoRaise(true);
    play->setText(QStringLiteral("▶"));
    play->setAccessibleName(tr("Play %1").arg(titleOf(control)));
    play->setToolTip(tr("Move back and forth over the range (Space)"));
    connect(play, &QToolButton::toggled, slider, &ControlSlider::setPlaying);
    connect(slider, &ControlSlider::playingChanged, play, [play](bool playing) {
        play->setChecked(playing);
        play->setText(playing ? QStringLiteral("❚❚") : QStringLiteral("▶"));
    });
    connect(slider, &ControlSlider::realValueChanged, this, [this, value, control](double number) {
        value->setText(withUnit(number, control));
        Q_EMIT valueChanged(control.id, {number});
    });
    layout->addWidget(slider, 1);
    layout->addWidget(value);
    layout->addWidget(play);
    return row;
}

QWidget* ControlStrip::makePad(const ViewControl& control)
{
    auto* column = new QWidget(m_body);
    auto* layout = new QHBoxLayout(column);
    layout->setContentsMargins(0, 0, 0, 0);
    auto* text = new QVBoxLayout;
    auto* pad = new ControlPad(control, column);
    describe(*pad, control);
    auto* title = new QLabel(titleOf(control), column);
    title->setBuddy(pad);
    auto* value = new QLabel(column);
    auto* legend = new QLabel(padLegend(control), column);
    const auto show = [value, control](QPointF at) {
        value->setText(
            QStringLiteral("x %1\ny %2").arg(withUnit(at.x(), control), withUnit(at.y(), control)));
    };
    value->setMinimumWidth(value->fontMetrics().horizontalAdvance(QStringLiteral("x −0.000 mm")));
    show(pad->value());
    connect(pad, &ControlPad::valueChanged, this, [this, show, id = control.id](QPointF at) {
        show(at);
        Q_EMIT valueChanged(id, {at.x(), at.y()});
    });
    text->addWidget(title);
    text->addWidget(value);
    text->addWidget(legend);
    text->addStretch();
    layout->addLayout(text);
    layout->addWidget(pad);
    return column;
}

QWidget* ControlStrip::makeToggles(const ViewControl& control)
{
    auto* group = new QWidget(m_body);
    describe(*group, control);
    group->setProperty(kToggleGroup, QString::fromStdString(control.id));
    // The style's own pressed look is too faint to tell which planes shine.
    group->setStyleSheet(QStringLiteral(
        "QToolButton { border: 1px solid palette(mid); border-radius: 3px; padding: 2px 7px; }"
        "QToolButton:checked { background: palette(highlight); color: palette(highlighted-text); }"
        "QToolButton:focus { border: 2px solid palette(window-text); padding: 1px 6px; }"));
    auto* layout = new QGridLayout(group);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(2);
    const int count = static_cast<int>(std::max(control.labels.size(), control.value.size()));
    for (int i = 0; i < count; ++i) {
        auto* button = new QToolButton(group);
        const QString label = i < static_cast<int>(control.labels.size())
                                  ? QString::fromStdString(control.labels[i])
                                  : QString::number(i + 1);
        button->setObjectName(nameOf(control) + QLatin1Char('/') + QString::number(i));
        button->setText(label);
        button->setCheckable(true);
        button->setChecked(i >= static_cast<int>(control.value.size()) || control.value[i] != 0);
        button->setAccessibleName(titleOf(control) + QLatin1Char(' ') + label);
        button->setToolTip(
            i < 9 ? tr("%1 on or off; key %2 shows it alone, 0 shows all").arg(label).arg(i + 1)
                  : tr("%1 on or off").arg(label));
        connect(button, &QToolButton::clicked, this,
                [this, group, id = control.id] { Q_EMIT valueChanged(id, states(*group)); });
        layout->addWidget(button, i / kTogglesPerRow, i % kTogglesPerRow);
    }
    layout->setColumnStretch(kTogglesPerRow, 1);
    return group;
}

QWidget* ControlStrip::makeChoice(const ViewControl& control)
{
    auto* combo = new QComboBox(m_body);
    describe(*combo, control);
    for (const std::string& label : control.labels)
        combo->addItem(QString::fromStdString(label));
    combo->setCurrentIndex(control.value.empty() ? 0 : static_cast<int>(control.value.front()));
    combo->setSizePolicy(QSizePolicy::Maximum, QSizePolicy::Fixed);
    connect(combo, &QComboBox::currentIndexChanged, this, [this, id = control.id](int index) {
        Q_EMIT valueChanged(id, {static_cast<double>(index)});
    });
    return combo;
}

void ControlStrip::setToggles(const std::vector<bool>& wanted)
{
    for (QWidget* group : findChildren<QWidget*>()) {
        if (!group->property(kToggleGroup).isValid())
            continue;
        const auto buttons = group->findChildren<QToolButton*>();
        for (int i = 0; i < buttons.size(); ++i)
            buttons[i]->setChecked(wanted.empty() ||
                                   (i < static_cast<int>(wanted.size()) && wanted[i]));
        Q_EMIT valueChanged(group->property(kToggleGroup).toString().toStdString(), states(*group));
        return;
    }
}

bool ControlStrip::hasToggles() const
{
    return std::ranges::any_of(findChildren<QWidget*>(), [](const QWidget* widget) {
        return widget->property(kToggleGroup).isValid();
    });
}

void ControlStrip::solo(int index)
{
    std::vector<bool> wanted(static_cast<std::size_t>(index) + 1, false);
    wanted.back() = true;
    setToggles(wanted);
}

void ControlStrip::showAll()
{
    setToggles({});
}

void ControlStrip::togglePlay()
{
    if (auto* slider = findChild<ControlSlider*>())
        slider->setPlaying(!slider->isPlaying());
}

} // namespace vergence
