#pragma once

#include <QObject>
#include <QWidget>

#include "app/viewport/mesh/mesh_scene.h"
#include "app/viewport/mesh_interaction.h"
#include "app/viewport/scene_navigator.h"
#include "app/viewport/view_scene.h"

namespace vergence {

/// The mode Mesh of a ViewPanel: the mesh with its camera, keys and clicks, tied together.
class MeshPane : public QObject {
    Q_OBJECT
public:
    explicit MeshPane(ViewScene& scene, QObject* parent = nullptr);

    MeshScene& meshes() { return m_meshes; }
    const MeshScene& meshes() const { return m_meshes; }
    /// The widget that shows the mesh, and the one whose size it takes once it is seen.
    void attach(QWidget* canvas, QWidget* place);
    /// What is written instead of the mesh; empty where it can be drawn.
    QString words() const;
    void fit(); ///< the whole mesh in view, direction kept

private:
    void look(const ScenePose& pose, bool isHome);
    void lookHome();
    void takeUp();
    void click(QPointF point);
    void focus(QPointF point);
    QSizeF viewport() const { return m_place->size(); }

    ViewScene& m_scene;
    MeshScene m_meshes;
    SceneNavigator m_navigator;
    MeshInteraction m_interaction;
    QWidget* m_place = nullptr;
    QVector3D m_up; ///< that the camera was made with
};

} // namespace vergence
