#include "app/shell/mesh_view.h"

#include <QVBoxLayout>

#include "app/shell/mesh_artifacts.h"

namespace vergence {

MeshView::MeshView(const QString& path, QWidget* parent) : QWidget(parent), m_path(path)
{
    m_panel = new ViewPanel(this);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->addWidget(m_panel);
    // Later, so that whoever opens the tab hears what is wrong with the file.
    QMetaObject::invokeMethod(this, &MeshView::reload, Qt::QueuedConnection);
}

void MeshView::reload()
{
    m_panel->setMeshes({meshChoice(m_path, {})});
}

} // namespace vergence
