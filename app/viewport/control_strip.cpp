#include "app/viewport/control_strip.h"

#include <algorithm>

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QToolButton>
#include <QVBoxLayout>

#include "app/viewport/control_pad.h"
#include "app/viewport/control_slider.h"
#include "app/viewport/flow_layout.h"

namespace vergence {
namespace {

constexpr int kLegendLines = 2;                   ///< more would be higher than the pad
constexpr int kChoiceWidth = 180;                 ///< at most, pixels
constexpr int kTextWidth = 240;                   ///< pixels
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

std::vector<double> states(const QWidget& group)
{
    std::vector<double> values;
    for (const QToolButton* button : group.findChildren<QToolButton*>())
        values.push_back(button->isChecked() ? 1 : 0);
    return values;
}

/// What the filled and the hollow marks stand for, a line each.
QString legendOf(const ViewControl& control)
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

void describe(QWidget& widget, const ViewControl& control)
{
    widget.setObjectName(nameOf(control));
    widget.setAccessibleName(titleOf(control));
    QStringList lines{QString::fromStdString(control.help), legendOf(control)};
    lines.removeAll(QString());
    widget.setToolTip(lines.join(QLatin1Char('\n')));
}

/// `title` in front of `field`.
QWidget* labelled(QWidget* field, const ViewControl& control, QWidget* parent)
{
    auto* group = new QWidget(parent);
    auto* layout = new QHBoxLayout(group);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(5);
    auto* label = new QLabel(titleOf(control), group);
    label->setBuddy(field);
    label->setToolTip(QString::fromStdString(control.help));
    layout->addWidget(label);
    layout->addWidget(field);
    return group;
}

QLabel* smallLabel(const QString& text, QWidget* parent)
{
    auto* label = new QLabel(text, parent);
    QFont font = label->font();
    font.setPointSizeF(std::max(7.0, font.pointSizeF() * 0.85));
    label->setFont(font);
    return label;
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
    columns->setContentsMargins(8, 3, 8, 1);
    columns->setSpacing(12);
    auto* rows = new QVBoxLayout;
    rows->setSpacing(2);
    columns->addLayout(rows, 1);
    auto* sliders = new FlowLayout(nullptr, 12);
    auto* others = new FlowLayout(nullptr, 10);
    rows->addLayout(sliders);
    rows->addLayout(others);
    rows->addStretch(1);
    m_groups.clear();
    for (const ViewControl& control : controls) {
        QWidget*& group = m_groups[control.id];
        if (control.kind == ViewControl::Kind::Pad)
            columns->addWidget(group = makePad(control), 0, Qt::AlignTop);
        else if (control.kind == ViewControl::Kind::Slider)
            sliders->addWidget(group = labelled(makeSlider(control), control, m_body));
        else if (control.kind == ViewControl::Kind::Toggles)
            others->addWidget(group = labelled(makeToggles(control), control, m_body));
        else if (control.kind == ViewControl::Kind::Text)
            others->addWidget(group = labelled(makeText(control), control, m_body));
        else
            others->addWidget(group = labelled(makeChoice(control), control, m_body));
    }
    showGroups();
    m_isEmpty = controls.empty();
    setVisible(!m_isEmpty && !m_isCollapsed);
    Q_EMIT controlsChanged();
}

void ControlStrip::showFor(const std::vector<std::string>& streams)
{
    m_streams = streams;
    showGroups();
}

void ControlStrip::showGroups()
{
    for (const auto& [id, group] : m_groups) {
        const std::size_t slash = id.find('/');
        const auto isItsOwn = [&id, slash](const std::string& stream) {
            return stream.starts_with(id.substr(0, slash));
        };
        group->setVisible(slash == std::string::npos || std::ranges::any_of(m_streams, isItsOwn));
    }
}

void ControlStrip::setCollapsed(bool collapsed)
{
    m_isCollapsed = collapsed;
    setVisible(!m_isEmpty && !m_isCollapsed);
}

QWidget* ControlStrip::makeSlider(const ViewControl& control)
{
    auto* row = new QWidget(m_body);
    auto* layout = new QHBoxLayout(row);
    layout->setContentsMargins(0, 0, 0, 0);
    auto* slider = new ControlSlider(control, row);
    describe(*slider, control);
    row->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    row->setFocusProxy(slider);
    auto* value = new QLabel(withUnit(slider->realValue(), control), row);
    value->setMinimumWidth(value->fontMetrics().horizontalAdvance(withUnit(-2.222, control)));
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
    auto* value = smallLabel({}, column);
    const auto show = [value, control](QPointF at) {
        value->setText(
            QStringLiteral("x %1\ny %2").arg(withUnit(at.x(), control), withUnit(at.y(), control)));
    };
    value->setMinimumWidth(
        value->fontMetrics().horizontalAdvance(QStringLiteral("x ") + withUnit(-2.222, control)));
    show(pad->value());
    connect(pad, &ControlPad::valueChanged, this, [this, show, id = control.id](QPointF at) {
        show(at);
        Q_EMIT valueChanged(id, {at.x(), at.y()});
    });
    text->setSpacing(0);
    text->addWidget(title);
    text->addWidget(value);
    if (!control.marks.empty() && legendOf(control).count(QLatin1Char('\n')) < kLegendLines)
        text->addWidget(smallLabel(legendOf(control), column));
    text->addStretch();
    layout->addLayout(text);
    layout->addWidget(pad, 0, Qt::AlignTop);
    return column;
}

QWidget* ControlStrip::makeToggles(const ViewControl& control)
{
    auto* group = new QWidget(m_body);
    describe(*group, control);
    group->setProperty(kToggleGroup, QString::fromStdString(control.id));
    // The style's own pressed look is too faint to tell which planes shine.
    group->setStyleSheet(QStringLiteral(
        "QToolButton { border: 1px solid palette(mid); border-radius: 3px; padding: 1px 5px; }"
        "QToolButton:checked { background: palette(highlight); color: palette(highlighted-text); }"
        "QToolButton:focus { border: 2px solid palette(window-text); padding: 0px 4px; }"));
    auto* layout = new FlowLayout(group, 2);
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
        layout->addWidget(button);
    }
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
    combo->setMaximumWidth(kChoiceWidth);
    connect(combo, &QComboBox::currentIndexChanged, this, [this, id = control.id](int index) {
        Q_EMIT valueChanged(id, {static_cast<double>(index)});
    });
    return combo;
}

QWidget* ControlStrip::makeText(const ViewControl& control)
{
    auto* line = new QLineEdit(QString::fromStdString(control.text), m_body);
    describe(*line, control);
    line->setFixedWidth(kTextWidth);
    connect(line, &QLineEdit::returnPressed, this,
            [this, line, id = control.id] { Q_EMIT textChanged(id, line->text().toStdString()); });
    return line;
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

bool ControlStrip::choose(const std::string& id, int index)
{
    auto* combo = findChild<QComboBox*>(QStringLiteral("controls/") + QString::fromStdString(id));
    if (combo == nullptr || index < 0 || index >= combo->count())
        return false;
    combo->setCurrentIndex(index);
    return true;
}

void ControlStrip::togglePlay()
{
    if (auto* slider = findChild<ControlSlider*>())
        slider->setPlaying(!slider->isPlaying());
}

} // namespace vergence
