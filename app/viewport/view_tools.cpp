#include "app/viewport/view_tools.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include <QHBoxLayout>
#include <QSignalBlocker>

#include "app/viewport/flow_layout.h"

namespace vergence {
namespace {

constexpr int kSpacing = 5; ///< pixels between widgets

QString titleOf(ViewMode mode)
{
    switch (mode) {
    case ViewMode::Image:
        return ViewTools::tr("Image");
    case ViewMode::Compare:
        return ViewTools::tr("Compare");
    case ViewMode::StackGrid:
        return ViewTools::tr("Grid");
    case ViewMode::Stack3d:
        return ViewTools::tr("Stack in 3-D");
    case ViewMode::Splats:
        return ViewTools::tr("3-D scene");
    case ViewMode::Mesh:
        return ViewTools::tr("Mesh");
    case ViewMode::Diagram:
        break;
    }
    return ViewTools::tr("Diagram");
}

QHBoxLayout* rowLayout(QWidget* row)
{
    auto* layout = new QHBoxLayout(row);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(kSpacing);
    return layout;
}

void addLabelled(QLayout* layout, const QString& title, QWidget* field)
{
    auto* label = new QLabel(title, field->parentWidget());
    label->setBuddy(field);
    layout->addWidget(label);
    layout->addWidget(field);
}

void select(QComboBox* combo, const QVariant& value)
{
    const QSignalBlocker blocker(combo);
    combo->setCurrentIndex(combo->findData(value));
}

std::string dataOf(const QComboBox* combo)
{
    return combo->currentData().toString().toStdString();
}

} // namespace

ViewTools::ViewTools(ViewScene& scene, QWidget* parent) : QWidget(parent), m_scene(scene)
{
    auto* row = new FlowLayout(this, kSpacing);
    row->setContentsMargins(6, 2, 6, 2);
    m_mode = makeCombo("viewModeCombo", tr("View"), this);
    connect(m_mode, &QComboBox::activated, this, [this] {
        m_scene.edit([&](ViewSettings& s) {
            s.mode = static_cast<ViewMode>(m_mode->currentData().toInt());
        });
    });
    m_stream = makeCombo("streamCombo", tr("Picture"), this);
    connect(m_stream, &QComboBox::activated, this,
            [this] { m_scene.edit([&](ViewSettings& s) { s.stream = dataOf(m_stream); }); });
    m_streamPage = makeStreamPage();
    m_comparePage = makeComparePage();
    m_stackPage = makeStackPage();
    makeCompareFields();
    makeToneFields();
    m_zoomRow = makeZoomRow();
    for (QWidget* widget : std::initializer_list<QWidget*>{
             m_mode, m_stream, m_streamPage, m_comparePage, m_compareMode, m_third, m_difference,
             m_gain, m_wipe, m_stackPage, m_exposure, m_filter, m_map, m_range, m_zoomRow})
        row->addWidget(widget);
    row->setAlignment(m_zoomRow, Qt::AlignRight);
    connect(&scene, &ViewScene::streamsChanged, this, &ViewTools::rebuild);
    connect(&scene, &ViewScene::settingsChanged, this, &ViewTools::sync);
    rebuild();
    sync();
}

QComboBox* ViewTools::makeCombo(const char* name, const QString& title, QWidget* parent)
{
    auto* combo = new QComboBox(parent);
    combo->setObjectName(QLatin1String(name));
    combo->setAccessibleName(title);
    combo->setToolTip(title);
    combo->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    combo->setMinimumContentsLength(4);
    combo->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    combo->setMinimumWidth(60);
    return combo;
}

QSlider* ViewTools::makeSlider(const char* name, const QString& title, QWidget* parent)
{
    auto* slider = new QSlider(Qt::Horizontal, parent);
    slider->setObjectName(QLatin1String(name));
    slider->setAccessibleName(title);
    slider->setToolTip(title);
    slider->setRange(0, 100);
    slider->setPageStep(10);
    slider->setMinimumWidth(70);
    slider->setMaximumWidth(180);
    slider->setFocusPolicy(Qt::StrongFocus);
    return slider;
}

QWidget* ViewTools::makeStreamPage()
{
    auto* page = new QWidget(this);
    page->setObjectName(QStringLiteral("imageView"));
    auto* layout = rowLayout(page);
    m_layer = new QSpinBox(page);
    m_layer->setObjectName(QStringLiteral("layerSpin"));
    m_layer->setAccessibleName(tr("Layer"));
    m_layer->setToolTip(tr("Layer of the stack; keys [ and ] step"));
    connect(m_layer, &QSpinBox::valueChanged, this,
            [this](int value) { m_scene.edit([&](ViewSettings& s) { s.layer = value - 1; }); });
    addLabelled(layout, tr("Layer"), m_layer);
    return page;
}

void ViewTools::onChoice(QComboBox* combo, CompareChange change)
{
    connect(combo, &QComboBox::activated, this, [this, combo, change] {
        m_scene.edit([&](ViewSettings& s) { change(s.compare, combo->currentData()); });
    });
}

QWidget* ViewTools::makeComparePage()
{
    auto* page = new QWidget(this);
    page->setObjectName(QStringLiteral("compareView"));
    auto* layout = rowLayout(page);
    m_a = makeCombo("compareA", tr("Picture A"), page);
    m_b = makeCombo("compareB", tr("Picture B"), page);
    addLabelled(layout, tr("A"), m_a);
    addLabelled(layout, tr("B"), m_b);
    onChoice(m_a, [](CompareSettings& c, const QVariant& v) { c.a = v.toString().toStdString(); });
    onChoice(m_b, [](CompareSettings& c, const QVariant& v) { c.b = v.toString().toStdString(); });
    return page;
}

void ViewTools::makeCompareFields()
{
    m_third = makeCombo("compareThird", tr("Third picture"), this);
    m_compareMode =
        makeCombo("compareMode", tr("Way to compare; hold Space to exchange A and B"), this);
    m_compareMode->addItem(tr("Wipe"), static_cast<int>(CompareMode::Wipe));
    m_compareMode->addItem(tr("Side by side"), static_cast<int>(CompareMode::Side));
    m_compareMode->addItem(tr("Blink (hold Space)"), static_cast<int>(CompareMode::Blink));
    m_compareMode->addItem(tr("Difference"), static_cast<int>(CompareMode::Difference));
    m_compareMode->addItem(tr("Three-up"), static_cast<int>(CompareMode::ThreeUp));
    m_gain = makeCombo("compareGain", tr("Gain of the difference"), this);
    for (const int gain : {1, 2, 4, 8, 16, 32})
        m_gain->addItem(QStringLiteral("×%1").arg(gain), gain);
    m_difference = makeCombo("compareDifference", tr("Kind of difference"), this);
    m_difference->addItem(tr("Amount"), false);
    m_difference->addItem(tr("Signed"), true);
    m_wipe = makeSlider("wipeSlider", tr("Share of the width that shows A"), this);
    onChoice(m_third,
             [](CompareSettings& c, const QVariant& v) { c.third = v.toString().toStdString(); });
    onChoice(m_compareMode, [](CompareSettings& c, const QVariant& v) {
        c.mode = static_cast<CompareMode>(v.toInt());
    });
    onChoice(m_gain, [](CompareSettings& c, const QVariant& v) { c.gain = v.toDouble(); });
    onChoice(m_difference, [](CompareSettings& c, const QVariant& v) { c.isSigned = v.toBool(); });
    connect(m_wipe, &QSlider::valueChanged, this, [this](int value) {
        m_scene.edit([&](ViewSettings& s) { s.compare.wipe = value / 100.0; });
    });
}

QWidget* ViewTools::makeStackPage()
{
    auto* page = new QWidget(this);
    page->setObjectName(QStringLiteral("stack3d"));
    auto* layout = rowLayout(page);
    m_opacity = makeSlider("opacitySlider", tr("Opacity of the planes"), page);
    m_stretch = makeSlider("depthStretchSlider", tr("Length of the depth axis"), page);
    m_stretch->setRange(20, 600);
    connect(m_opacity, &QSlider::valueChanged, this, [this](int value) {
        m_scene.edit([&](ViewSettings& s) { s.opacity = value / 100.0; });
    });
    connect(m_stretch, &QSlider::valueChanged, this, [this](int value) {
        m_scene.edit([&](ViewSettings& s) { s.depthStretch = value / 100.0; });
    });
    addLabelled(layout, tr("Opacity"), m_opacity);
    addLabelled(layout, tr("Depth"), m_stretch);
    return page;
}

void ViewTools::makeToneFields()
{
    m_exposure = new QDoubleSpinBox(this);
    m_exposure->setObjectName(QStringLiteral("exposureSpin"));
    m_exposure->setAccessibleName(tr("Exposure in stops"));
    m_exposure->setRange(-10, 10);
    m_exposure->setSingleStep(0.5);
    m_exposure->setDecimals(1);
    m_exposure->setSuffix(tr(" EV"));
    m_exposure->setToolTip(tr("Exposure: factor 2 per stop on light or on numbers"));
    connect(m_exposure, &QDoubleSpinBox::valueChanged, this, [this](double value) {
        m_scene.edit([&](ViewSettings& s) { s.tone.exposure = value; });
    });
    m_filter = makeCombo("filterCombo", tr("Magnification"), this);
    m_filter->addItem(tr("Pixels"), false);
    m_filter->addItem(tr("Smooth"), true);
    m_map = makeCombo("colourMapCombo", tr("Colours of numbers"), this);
    m_map->addItem(tr("Auto colours"), static_cast<int>(Tone::Map::Automatic));
    m_map->addItem(tr("Grey"), static_cast<int>(Tone::Map::Grey));
    m_map->addItem(tr("Signed"), static_cast<int>(Tone::Map::Diverging));
    m_map->addItem(tr("Magnitude"), static_cast<int>(Tone::Map::Magnitude));
    m_range = makeCombo("rangeCombo", tr("Numbers at the ends of the colours"), this);
    m_range->addItem(tr("Full range"), static_cast<int>(Tone::Range::Frame));
    m_range->addItem(tr("± 0.25"), static_cast<int>(Tone::Range::Quarter));
    m_range->addItem(tr("± 1"), static_cast<int>(Tone::Range::Unit));
    const auto onChoice = [this](QComboBox* combo, auto change) {
        connect(combo, &QComboBox::activated, this, [this, combo, change] {
            m_scene.edit([&](ViewSettings& s) { change(s.tone, combo->currentData()); });
        });
    };
    onChoice(m_filter, [](Tone& t, const QVariant& v) { t.isSmooth = v.toBool(); });
    onChoice(m_map, [](Tone& t, const QVariant& v) { t.map = static_cast<Tone::Map>(v.toInt()); });
    onChoice(m_range,
             [](Tone& t, const QVariant& v) { t.range = static_cast<Tone::Range>(v.toInt()); });
}

QWidget* ViewTools::makeZoomRow()
{
    auto* row = new QWidget(this);
    auto* layout = rowLayout(row);
    m_zoom = new QLabel(row);
    m_zoom->setObjectName(QStringLiteral("zoomLabel"));
    m_zoom->setToolTip(tr("Zoom; 1 × shows the whole picture"));
    m_zoom->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    m_zoom->setMinimumWidth(m_zoom->fontMetrics().horizontalAdvance(QStringLiteral("0.000 ×")));
    layout->addWidget(m_zoom);
    m_fit = new QToolButton(row);
    m_fit->setObjectName(QStringLiteral("fitButton"));
    m_fit->setText(tr("Fit"));
    connect(m_fit, &QToolButton::clicked, this, &ViewTools::fitRequested);
    m_oneToOne = new QToolButton(row);
    m_oneToOne->setObjectName(QStringLiteral("oneToOneButton"));
    m_oneToOne->setText(tr("1:1"));
    m_oneToOne->setToolTip(tr("One picture pixel on one screen pixel"));
    connect(m_oneToOne, &QToolButton::clicked, this, &ViewTools::oneToOneRequested);
    layout->addWidget(m_fit);
    layout->addWidget(m_oneToOne);
    return row;
}

void ViewTools::fillStreams(QComboBox* combo, const std::vector<StreamDecl>& streams,
                            const std::string& current)
{
    const QSignalBlocker blocker(combo);
    QStringList wanted, present;
    for (const StreamDecl& stream : streams)
        wanted << QString::fromStdString(stream.id);
    for (int i = 0; i < combo->count(); ++i)
        present << combo->itemData(i).toString();
    present.removeAll(QString()); // the entry that stands for the difference
    if (wanted == present) {
        combo->setCurrentIndex(combo->findData(QString::fromStdString(current)));
        return;
    }
    combo->clear();
    for (const StreamDecl& stream : streams) {
        combo->addItem(QString::fromStdString(stream.title.empty() ? stream.id : stream.title),
                       QString::fromStdString(stream.id));
        combo->setItemData(combo->count() - 1, QString::fromStdString(stream.help),
                           Qt::ToolTipRole);
    }
    combo->setCurrentIndex(combo->findData(QString::fromStdString(current)));
}

void ViewTools::rebuild()
{
    const QSignalBlocker blocker(m_mode);
    m_mode->clear();
    for (const ViewMode mode : m_scene.modes())
        m_mode->addItem(titleOf(mode), static_cast<int>(mode));
    setVisible(m_mode->count() > 0);
}

void ViewTools::sync()
{
    const ViewSettings& s = m_scene.settings();
    const bool isCompare = s.mode == ViewMode::Compare;
    const bool is3d = s.mode == ViewMode::Stack3d, isScene = s.mode == ViewMode::Splats;
    const bool isMesh = s.mode == ViewMode::Mesh;
    const bool isFlat = s.mode == ViewMode::Image || isCompare || s.mode == ViewMode::StackGrid;
    select(m_mode, static_cast<int>(s.mode));
    m_comparePage->setVisible(isCompare);
    m_stackPage->setVisible(is3d);
    m_streamPage->setObjectName(s.mode == ViewMode::StackGrid ? QStringLiteral("stackGrid")
                                                              : QStringLiteral("imageView"));
    m_stream->setVisible(!isCompare && !isMesh);
    fillStreams(m_stream, m_scene.streamsFor(s.mode), s.stream);
    const auto shown = m_scene.frame(s.stream);
    const bool hasLayers = shown && shown->layers() > 1;
    m_streamPage->setVisible(hasLayers && isFlat && !isCompare);
    const QSignalBlocker layerBlocker(m_layer);
    m_layer->setRange(1, hasLayers ? shown->layers() : 1);
    m_layer->setValue(s.layer + 1);

    const CompareSettings& compare = s.compare;
    fillStreams(m_a, m_scene.streamsFor(ViewMode::Compare), compare.a);
    fillStreams(m_b, m_scene.comparable(compare.a), compare.b);
    fillStreams(m_third, m_scene.comparable(compare.a), compare.third);
    if (m_third->findData(QString()) < 0) {
        const QSignalBlocker blocker(m_third);
        m_third->insertItem(0, tr("A − B"), QString());
    }
    select(m_third, QString::fromStdString(compare.third));
    select(m_compareMode, static_cast<int>(compare.mode));
    select(m_gain, static_cast<int>(compare.gain));
    select(m_difference, compare.isSigned);
    const bool isThree = compare.mode == CompareMode::ThreeUp;
    const bool hasDifference =
        compare.mode == CompareMode::Difference || (isThree && compare.third.empty());
    m_compareMode->setVisible(isCompare);
    m_third->setVisible(isCompare && isThree);
    m_gain->setVisible(isCompare && hasDifference);
    m_difference->setVisible(isCompare && hasDifference);
    m_wipe->setVisible(isCompare && compare.mode == CompareMode::Wipe);
    const QSignalBlocker wipeBlocker(m_wipe), opacityBlocker(m_opacity), stretchBlocker(m_stretch);
    m_wipe->setValue(static_cast<int>(std::lround(compare.wipe * 100)));
    m_opacity->setValue(static_cast<int>(std::lround(s.opacity * 100)));
    m_stretch->setValue(static_cast<int>(std::lround(s.depthStretch * 100)));

    const QSignalBlocker exposureBlocker(m_exposure);
    m_exposure->setValue(s.tone.exposure);
    select(m_filter, s.tone.isSmooth);
    select(m_map, static_cast<int>(s.tone.map));
    select(m_range, static_cast<int>(s.tone.range));
    const auto visible = m_scene.visibleStreams();
    const bool hasNumbers = std::ranges::any_of(visible, [this](const std::string& id) {
        const auto frame = m_scene.frame(id);
        return frame && frame->isScalar();
    });
    for (QComboBox* widget : {m_map, m_range})
        widget->setVisible(hasNumbers);
    m_filter->setVisible(isFlat);
    m_oneToOne->setVisible(isFlat);
    m_zoom->setVisible(isFlat);
    m_zoom->setText(tr("%1 ×").arg(s.transform.zoom, 0, 'g', 3));
    m_exposure->setVisible(isFlat || is3d || isScene);
    m_zoomRow->setVisible(isFlat || is3d || isScene || isMesh);
    m_fit->setToolTip(isMesh    ? tr("Show the whole mesh (F)")
                      : isScene ? tr("Show the whole scene (F)")
                                : tr("Show the whole picture (F)"));
    // At once, the inner row first, so that the picture does not jump a frame later.
    m_zoomRow->layout()->activate();
    layout()->activate();
}

} // namespace vergence
