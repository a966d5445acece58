#include "app/viewport/mesh_tools.h"

#include <cmath>

#include <QLayout>
#include <QSignalBlocker>
#include <QStandardItemModel>

namespace vergence {
namespace {

constexpr int kSectionSteps = 500;

/// One number for axis and side: 0 for none, then 1 x, -1 -x, 2 y …
int sectionData(const MeshSettings& settings)
{
    return (settings.sectionAxis + 1) * (settings.isSectionFlipped ? -1 : 1);
}

} // namespace

MeshTools::MeshTools(ViewScene& scene, MeshScene& meshes, QWidget& row)
    : QObject(&row),
      m_scene(scene),
      m_meshes(meshes),
      m_row(row)
{
    makeChoices();
    addToggle("meshWireButton", tr("Wire"), tr("Edges of all triangles (Z)"),
              &MeshSettings::hasWireframe);
    addToggle("meshBackButton", tr("Backs"),
              tr("Violet where the back of a face is seen, as through a hole (B)"),
              &MeshSettings::tintsBackFaces);
    addToggle("meshEdgesButton", tr("Edges"),
              tr("Marks boundary edges, and dashed those of three and more faces (N)"),
              &MeshSettings::marksEdges);
    addToggle("meshGroupsButton", tr("Parts"),
              tr("A tint for each part of the file, or for each piece where there is one part (P)"),
              &MeshSettings::tintsGroups);
    makeSection();
    addToggle("meshMeasureButton", tr("Measure"),
              tr("Two clicks on the mesh show their distance (M); Esc ends"),
              &MeshSettings::measures);
    m_up = add<QComboBox>("meshUpCombo", tr("Direction that points up in the view"));
    m_up->addItem(tr("Up: file"), 0);
    const QString axes[] = {"x", "y", "z"};
    for (int axis = 1; axis <= 3; ++axis)
        for (const int sign : {1, -1})
            m_up->addItem(tr("Up: %1%2").arg(sign > 0 ? "+" : "−", axes[axis - 1]), sign * axis);
    onChoice(m_up, [](MeshSettings& s, int value) { s.upAxis = value; });
    connect(&scene, &ViewScene::settingsChanged, this, &MeshTools::sync);
    connect(&meshes, &MeshScene::settingsChanged, this, &MeshTools::sync);
    connect(&meshes, &MeshScene::choicesChanged, this, [this] {
        fillFiles();
        sync();
    });
    sync();
}

template <class Field>
Field* MeshTools::add(const char* name, const QString& title)
{
    auto* field = new Field(&m_row);
    field->setObjectName(QLatin1String(name));
    field->setAccessibleName(title);
    field->setToolTip(title);
    m_row.layout()->addWidget(field);
    m_all.push_back(field);
    return field;
}

void MeshTools::onChoice(QComboBox* combo, void (*change)(MeshSettings&, int))
{
    combo->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    connect(combo, &QComboBox::activated, this, [this, combo, change] {
        m_meshes.edit([&](MeshSettings& s) { change(s, combo->currentData().toInt()); });
        sync();
    });
}

QToolButton* MeshTools::addToggle(const char* name, const QString& text, const QString& help,
                                  bool MeshSettings::*flag)
{
    auto* button = add<QToolButton>(name, help);
    button->setText(text);
    button->setCheckable(true);
    button->setAutoRaise(true); // so that it is framed while it is on, in dark colours too
    connect(button, &QToolButton::toggled, this,
            [this, flag](bool isOn) { m_meshes.edit([&](MeshSettings& s) { s.*flag = isOn; }); });
    m_toggles.emplace_back(button, flag);
    return button;
}

void MeshTools::makeChoices()
{
    m_files = add<QComboBox>("meshCombo", tr("Mesh of the run"));
    m_files->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    connect(m_files, &QComboBox::activated, this, [this] {
        m_meshes.choose(m_meshes.choices()[static_cast<std::size_t>(m_files->currentIndex())].path);
    });
    m_shading = add<QComboBox>("meshShadingCombo", tr("Shading (1 to 8)"));
    for (const QString& title : {tr("Smooth"), tr("Flat"), tr("Texture"), tr("Vertex colours"),
                                 tr("Normals"), tr("Matcap"), tr("UV checker"), tr("UV layout")})
        m_shading->addItem(title, m_shading->count());
    onChoice(m_shading,
             [](MeshSettings& s, int value) { s.shading = static_cast<MeshShading>(value); });
    m_checker = add<QComboBox>("meshCheckerCombo", tr("Squares of the checker along the texture"));
    for (const int cells : {8, 32, 128, 512})
        m_checker->addItem(tr("%1 squares").arg(cells), cells);
    m_checker->addItem(tr("Texels"), 0);
    onChoice(m_checker, [](MeshSettings& s, int value) { s.checkerCells = value; });
}

void MeshTools::makeSection()
{
    m_section = add<QComboBox>("meshSectionCombo", tr("Cut the mesh open (C)"));
    m_section->addItem(tr("No cut"), 0);
    const QString axes[] = {"x", "y", "z"};
    for (int axis = 1; axis <= 3; ++axis)
        for (const int sign : {1, -1})
            m_section->addItem(tr("Cut %1%2").arg(sign > 0 ? "" : "−", axes[axis - 1]),
                               sign * axis);
    onChoice(m_section, [](MeshSettings& s, int value) {
        s.sectionAxis = std::abs(value) - 1;
        s.isSectionFlipped = value < 0;
    });
    m_offset = add<QSlider>("meshSectionSlider", tr("Place of the cut ([ and ])"));
    m_offset->setOrientation(Qt::Horizontal);
    m_offset->setRange(0, kSectionSteps);
    m_offset->setMinimumWidth(70);
    m_offset->setMaximumWidth(180);
    m_offset->setFocusPolicy(Qt::StrongFocus);
    connect(m_offset, &QSlider::valueChanged, this, [this](int value) {
        m_meshes.edit(
            [&](MeshSettings& s) { s.sectionOffset = static_cast<double>(value) / kSectionSteps; });
    });
}

void MeshTools::fillFiles()
{
    const QSignalBlocker blocker(m_files);
    m_files->clear();
    for (const MeshChoice& choice : m_meshes.choices()) {
        m_files->addItem(choice.title);
        m_files->setItemData(m_files->count() - 1, QString::fromStdString(choice.path.string()),
                             Qt::ToolTipRole);
        if (choice.path == m_meshes.chosen())
            m_files->setCurrentIndex(m_files->count() - 1);
    }
}

void MeshTools::sync()
{
    const bool isMesh = m_scene.settings().mode == ViewMode::Mesh;
    const MeshSettings& settings = m_meshes.settings();
    const bool isLayout = settings.shading == MeshShading::UvLayout;
    for (QWidget* field : m_all)
        field->setVisible(isMesh && !isLayout);
    m_files->setVisible(isMesh && m_files->count() > 1);
    m_shading->setVisible(isMesh);
    m_checker->setVisible(isMesh && settings.shading == MeshShading::Checker);
    m_offset->setVisible(isMesh && !isLayout && settings.sectionAxis >= 0);
    auto* rows = qobject_cast<QStandardItemModel*>(m_shading->model());
    for (int i = 0; i < m_shading->count(); ++i)
        rows->item(i)->setEnabled(m_meshes.isUsable(static_cast<MeshShading>(i)));
    m_shading->setCurrentIndex(static_cast<int>(settings.shading));
    m_checker->setCurrentIndex(m_checker->findData(settings.checkerCells));
    m_section->setCurrentIndex(m_section->findData(sectionData(settings)));
    m_up->setCurrentIndex(m_up->findData(settings.upAxis));
    for (const auto& [button, flag] : m_toggles) {
        const QSignalBlocker blocker(button);
        button->setChecked(settings.*flag);
    }
    const QSignalBlocker blocker(m_offset);
    m_offset->setValue(static_cast<int>(std::lround(settings.sectionOffset * kSectionSteps)));
    m_row.layout()->activate();
}

} // namespace vergence
