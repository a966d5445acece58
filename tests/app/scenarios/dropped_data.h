#pragma once

#include <QDropEvent>
#include <QMimeData>
#include <QUrl>
#include <QWidget>

#include "plugins/sugar/io/synthetic_scene.h"

namespace vergence::test {

/// A COLMAP text model with its photographs: 5 images, 1 camera, 212 points. Line 7 of its
/// images.txt holds the keypoints of the second image.
inline void writeTinyColmap(const std::filesystem::path& folder)
{
    sugar::Scene scene = sugar::syntheticScene({64, 48, false, 1});
    scene.views.resize(5);
    scene.points.resize(212);
    sugar::writeScene(folder, scene, sugar::SceneFormat::ColmapText);
}

/// Drags a file or folder over a widget and lets it go there; whether it was taken.
inline bool dropOn(QWidget& widget, const QString& path)
{
    QMimeData data;
    data.setUrls({QUrl::fromLocalFile(path)});
    const QPoint at = widget.rect().center();
    QDragEnterEvent enter(at, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QCoreApplication::sendEvent(&widget, &enter);
    if (!enter.isAccepted())
        return false;
    QDropEvent drop(at, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QCoreApplication::sendEvent(&widget, &drop);
    return drop.isAccepted();
}

} // namespace vergence::test
