#include "app/viewport/mesh_pane.h"

namespace vergence {

MeshPane::MeshPane(ViewScene& scene, QObject* parent)
    : QObject(parent),
      m_scene(scene),
      m_navigator(scene, ViewMode::Mesh),
      m_interaction(scene, m_meshes)
{
    connect(&scene, &ViewScene::settingsChanged, this,
            [this] { m_meshes.setActive(m_scene.settings().mode == ViewMode::Mesh); });
    connect(&m_meshes, &MeshScene::choicesChanged, this,
            [this] { m_scene.setHasMeshes(!m_meshes.choices().empty()); });
    connect(&m_meshes, &MeshScene::meshChanged, this, [this](bool keepsPlace) {
        if (m_meshes.mesh() && !(keepsPlace && m_up == m_meshes.up()))
            lookHome();
    });
    connect(&m_meshes, &MeshScene::settingsChanged, this, &MeshPane::takeUp);
    connect(&m_navigator, &SceneNavigator::moved, this, [this] {
        if (const auto& camera = m_navigator.camera())
            m_meshes.setCamera({camera->viewToWorld(), camera->focal()});
    });
    connect(&m_navigator, &SceneNavigator::fitRequested, this, &MeshPane::fit);
    connect(&m_navigator, &SceneNavigator::focusRequested, this, &MeshPane::focus);
    connect(&m_navigator, &SceneNavigator::picked, this,
            [this](const QString&, QPointF point) { click(point); });
    connect(&m_interaction, &MeshInteraction::axisRequested, this,
            [this](int index, bool isOpposite) {
                if (const auto mesh = m_meshes.mesh())
                    look(axisPose(*mesh, m_meshes.up(), index, isOpposite, viewport()), false);
            });
}

void MeshPane::attach(QWidget* canvas, QWidget* place)
{
    m_place = place;
    m_navigator.attach(canvas);
    m_interaction.attach(canvas);
}

QString MeshPane::words() const
{
    if (m_meshes.mesh())
        return {};
    if (!m_meshes.message().isEmpty())
        return m_meshes.message();
    return m_meshes.choices().empty()
               ? tr("No mesh yet. It appears here once the run has written one.")
               : tr("Waiting for the mesh.");
}

void MeshPane::look(const ScenePose& pose, bool isHome)
{
    m_navigator.look(pose, isHome);
}

void MeshPane::lookHome()
{
    m_up = m_meshes.up();
    look(homePose(*m_meshes.mesh(), m_up, viewport()), true);
}

void MeshPane::takeUp()
{
    if (m_meshes.mesh() && m_up != m_meshes.up())
        lookHome();
}

void MeshPane::fit()
{
    if (const auto mesh = m_meshes.mesh())
        look(poseAround(*mesh, m_up, m_meshes.camera().axis(2), viewport()), false);
}

void MeshPane::click(QPointF point)
{
    if (!m_meshes.settings().measures)
        return;
    if (const auto hit = m_meshes.pick(point, viewport()))
        m_meshes.addMeasuredPoint(*hit);
}

void MeshPane::focus(QPointF point)
{
    if (const auto hit = m_meshes.pick(point, viewport()))
        look(poseTowards(m_meshes.camera(), *m_meshes.mesh(), m_up, *hit), false);
}

} // namespace vergence
