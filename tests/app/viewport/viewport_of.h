#pragma once

#include "app/viewport/painted_viewport.h"
#include "app/viewport/view_panel.h"

namespace vergence::test {

/// The widget `viewport` that takes mouse and keys; null where OpenGL 3.3 is missing.
inline QWidget* viewportOf(ViewPanel& panel)
{
    return panel.findChild<QWidget*>(QStringLiteral("viewport"));
}

/// What draws the pictures of viewportOf().
inline GlViewport& glOf(ViewPanel& panel)
{
    auto* painted = qobject_cast<PaintedViewport*>(viewportOf(panel));
    return painted != nullptr ? painted->gl() : *qobject_cast<GlViewport*>(viewportOf(panel));
}

} // namespace vergence::test
