#pragma once

#include <vector>

#include <QComboBox>
#include <QObject>
#include <QSlider>
#include <QToolButton>

#include "app/viewport/mesh/mesh_scene.h"
#include "app/viewport/view_scene.h"

namespace vergence {

/// The fields of the row above the view that belong to meshes: file, shading (`meshShadingCombo`),
/// marks, section plane, measure. Made in the row of a ViewTools, seen in the mode Mesh alone.
class MeshTools : public QObject {
    Q_OBJECT
public:
    MeshTools(ViewScene& scene, MeshScene& meshes, QWidget& row);

private:
    template <class Field>
    Field* add(const char* name, const QString& title);
    QToolButton* addToggle(const char* name, const QString& text, const QString& help,
                           bool MeshSettings::*flag);
    void makeChoices();
    void makeSection();
    void onChoice(QComboBox* combo, void (*change)(MeshSettings&, int));
    void fillFiles();
    void sync(); ///< the widgets follow the settings

    ViewScene& m_scene;
    MeshScene& m_meshes;
    QWidget& m_row;
    std::vector<QWidget*> m_all;
    QComboBox *m_files = nullptr, *m_shading = nullptr, *m_checker = nullptr, *m_section = nullptr,
              *m_up = nullptr;
    QSlider* m_offset = nullptr;
    std::vector<std::pair<QToolButton*, bool MeshSettings::*>> m_toggles;
};

} // namespace vergence
