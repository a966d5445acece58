#include "app/charts/chart_toolbar.h"

#include <QComboBox>
#include <QDoubleSpinBox>
#include <QLabel>
#include <QMenu>
#include <QSlider>
#include <QToolButton>

#include <algorithm>

namespace vergence {
namespace {

constexpr int kSliderSteps = 999; // thousandths: 0 to 0.999

} // namespace

ChartToolbar::ChartToolbar(QWidget* parent)
    : QToolBar(parent),
      m_axis(new QComboBox(this)),
      m_reference(new QComboBox(this)),
      m_slider(new QSlider(Qt::Horizontal, this)),
      m_weight(new QDoubleSpinBox(this))
{
    setObjectName(QStringLiteral("chartToolbar"));
    setToolButtonStyle(Qt::ToolButtonTextOnly);
    setMovable(false);
    m_axis->setObjectName(QStringLiteral("chartAxis"));
    m_axis->setAccessibleName(tr("X axis"));
    m_axis->setToolTip(tr("X axis: step of the run or time since it started"));
    m_axis->setFocusPolicy(Qt::StrongFocus);
    m_axis->addItems({tr("Step"), tr("Time")});
    addWidget(m_axis);
    connect(m_axis, &QComboBox::currentIndexChanged, this, [this](int index) {
        m_settings.axis = index == 0 ? XAxis::Step : XAxis::Wall;
        Q_EMIT settingsChanged();
    });
    addSmoothing();
    addSwitch("chartLogY", tr("Log Y"), tr("Logarithmic Y axis (L)"), &ChartSettings::isLogY);
    m_logY = actions().back();
    addSwitch("chartOutliers", tr("Trim outliers"),
              tr("Ignore the highest and the lowest 5 % when the Y axis is fitted"),
              &ChartSettings::ignoreOutliers);
    addSwitch("chartLink", tr("Link"), tr("Show the cross-hair in all charts at once"),
              &ChartSettings::isLinked);
    addSwitch("chartFollow", tr("Follow"), tr("A zoomed view moves on with the newest point"),
              &ChartSettings::isFollowing);
    m_follow = actions().back();
    addSeparator();
    m_back = addAction(QStringLiteral("◀"), this, &ChartToolbar::backRequested);
    m_forward = addAction(QStringLiteral("▶"), this, &ChartToolbar::forwardRequested);
    QAction* fit = addAction(tr("Fit"), this, &ChartToolbar::fitRequested);
    m_back->setObjectName(QStringLiteral("chartBack"));
    m_forward->setObjectName(QStringLiteral("chartForward"));
    fit->setObjectName(QStringLiteral("chartFit"));
    m_back->setToolTip(tr("Previous zoom (Alt+Left)"));
    m_forward->setToolTip(tr("Next zoom (Alt+Right)"));
    fit->setToolTip(tr("Show everything (Home)"));
    setZoomSteps(false, false);

    auto* columns = new QComboBox(this);
    columns->setObjectName(QStringLiteral("chartColumns"));
    columns->setAccessibleName(tr("Columns of charts"));
    columns->setToolTip(tr("Columns of charts; Auto takes as many as fit"));
    columns->setFocusPolicy(Qt::StrongFocus);
    columns->addItem(tr("Auto columns"), 0);
    for (int count = 1; count <= 3; ++count)
        columns->addItem(count == 1 ? tr("1 column") : tr("%1 columns").arg(count), count);
    columns->setCurrentIndex(m_settings.columns);
    addWidget(columns);
    connect(columns, &QComboBox::currentIndexChanged, this, [this](int index) {
        m_settings.columns = index;
        Q_EMIT columnsChanged(m_settings.columns);
    });
    addReference();
    addExport();
    for (QToolButton* button : findChildren<QToolButton*>())
        if (button->focusPolicy() == Qt::NoFocus && button->defaultAction() != nullptr)
            button->setFocusPolicy(Qt::TabFocus);
}

void ChartToolbar::addSmoothing()
{
    auto* label = new QLabel(tr(" Smooth "), this);
    label->setBuddy(m_slider);
    addWidget(label);
    m_slider->setObjectName(QStringLiteral("chartSmoothing"));
    m_slider->setAccessibleName(tr("Smoothing"));
    m_slider->setToolTip(tr("Exponential average: 0 shows the numbers as they are"));
    m_slider->setRange(0, kSliderSteps);
    m_slider->setFixedWidth(90);
    addWidget(m_slider);
    m_weight->setObjectName(QStringLiteral("chartSmoothingValue"));
    m_weight->setAccessibleName(tr("Smoothing weight"));
    m_weight->setLocale(QLocale::c());
    m_weight->setDecimals(3);
    m_weight->setRange(0, kSliderSteps / 1000.0);
    m_weight->setSingleStep(0.01);
    m_weight->setKeyboardTracking(false);
    addWidget(m_weight);
    connect(m_slider, &QSlider::valueChanged, this,
            [this](int value) { m_weight->setValue(value / 1000.0); });
    connect(m_weight, &QDoubleSpinBox::valueChanged, this, [this](double weight) {
        const QSignalBlocker quiet(m_slider);
        m_slider->setValue(qRound(weight * 1000));
        m_settings.smoothing = weight;
        Q_EMIT settingsChanged();
    });
}

void ChartToolbar::addSwitch(const char* name, const QString& text, const QString& help,
                             bool ChartSettings::*member)
{
    QAction* action = addAction(text);
    action->setObjectName(QString::fromLatin1(name));
    action->setToolTip(help);
    action->setCheckable(true);
    action->setChecked(m_settings.*member);
    connect(action, &QAction::toggled, this, [this, member](bool on) {
        m_settings.*member = on;
        Q_EMIT settingsChanged();
    });
}

void ChartToolbar::addReference()
{
    m_reference->setObjectName(QStringLiteral("chartReference"));
    m_reference->setAccessibleName(tr("Reference run"));
    m_reference->setToolTip(tr("Show how far all curves are from those of one run"));
    m_reference->setFocusPolicy(Qt::StrongFocus);
    m_reference->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    m_reference->setMinimumContentsLength(12);
    m_referenceAction = addWidget(m_reference);
    setRuns({});
    connect(m_reference, &QComboBox::currentIndexChanged, this, [this] {
        m_settings.reference = m_reference->currentData().toString();
        Q_EMIT settingsChanged();
    });
}

void ChartToolbar::setRuns(const std::vector<std::pair<QString, QString>>& runs)
{
    const QSignalBlocker quiet(m_reference);
    m_reference->clear();
    m_reference->addItem(tr("No reference"), QString());
    for (const auto& [id, name] : runs)
        m_reference->addItem(tr("Δ to %1").arg(name), id);
    const int index = std::max(0, m_reference->findData(m_settings.reference));
    m_reference->setCurrentIndex(index);
    m_settings.reference = m_reference->itemData(index).toString();
    m_referenceAction->setVisible(runs.size() > 1 || index > 0);
}

void ChartToolbar::addExport()
{
    auto* button = new QToolButton(this);
    button->setObjectName(QStringLiteral("chartExport"));
    button->setText(tr("Export"));
    button->setToolTip(tr("Save charts as pictures or numbers"));
    button->setFocusPolicy(Qt::TabFocus);
    button->setPopupMode(QToolButton::InstantPopup);
    auto* menu = new QMenu(button);
    button->setMenu(menu);
    const auto add = [&](const QString& text, const QString& format, bool ofAll) {
        QAction* action = menu->addAction(
            text, this, [this, format, ofAll] { Q_EMIT exportRequested(format, ofAll); });
        action->setObjectName(QStringLiteral("chartExport/") + format +
                              (ofAll ? QStringLiteral("/all") : QString()));
    };
    menu->addSection(tr("The chart used last"));
    add(tr("PNG…"), QStringLiteral("png"), false);
    add(tr("SVG…"), QStringLiteral("svg"), false);
    add(tr("CSV…"), QStringLiteral("csv"), false);
    add(tr("JSON…"), QStringLiteral("json"), false);
    add(tr("Copy table"), QStringLiteral("copy"), false);
    menu->addSection(tr("All charts"));
    add(tr("PNG…"), QStringLiteral("png"), true);
    add(tr("CSV…"), QStringLiteral("csv"), true);
    add(tr("JSON…"), QStringLiteral("json"), true);
    addWidget(button);
}

void ChartToolbar::setZoomSteps(bool canGoBack, bool canGoForward)
{
    m_back->setEnabled(canGoBack);
    m_forward->setEnabled(canGoForward);
}

void ChartToolbar::toggleLogY()
{
    m_logY->toggle();
}

void ChartToolbar::setFollowing(bool on)
{
    m_follow->setChecked(on);
}

} // namespace vergence
