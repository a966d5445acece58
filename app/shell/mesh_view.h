#pragma once

#include <QWidget>

#include "app/viewport/view_panel.h"

namespace vergence {

/// One tab: a mesh file that belongs to no run.
class MeshView : public QWidget {
    Q_OBJECT
public:
    explicit MeshView(const QString& path, QWidget* parent = nullptr);

    const QString& path() const { return m_path; }
    ViewPanel& panel() { return *m_panel; }
    void reload(); ///< where the file has changed

private:
    QString m_path;
    ViewPanel* m_panel;
};

} // namespace vergence
