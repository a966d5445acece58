#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/run/run_context.h"
#include "core/view/view_input.h"
#include "plugins/light_field/compute/eye_view.h"
#include "plugins/light_field/device_frames.h"
#include "plugins/light_field/optics_diagram.h"
#include "plugins/light_field/problem.h"

namespace vergence::light_field {

/// What can be looked at just now.
struct ViewSource {
    const SweepItem* item = nullptr;
    std::shared_ptr<Geometry> geometry;
    const ItemTargets* targets = nullptr;
    Tensor planes; ///< [K, R, R, L]
    Tensor views;  ///< [S, W, W, L] of the training states through the display; may be empty
    std::function<Tensor()> weight; ///< makes the column sums [K, R, R]; may be empty
};

/// Keeps what the viewer chose (focus, eye position, planes, pixel) and publishes the pictures that
/// follow from it.
class Viewer {
public:
    static std::vector<StreamDecl> streams();

    /// Controls of an item; `itemLabels` are what the viewer may choose to look at.
    void declare(RunContext& context, const ViewSource& source,
                 const std::vector<std::string>& itemLabels);
    /// Takes over what the viewer moved. Returns whether another item is to be looked at.
    bool apply(const ViewInput& input);
    /// Index into the `itemLabels` that the viewer chose; nothing follows the run.
    std::optional<int> chosenItem() const { return m_chosenItem; }

    /// Everything that is visible, or, after apply(), only what depends on what has moved.
    void publish(RunContext& context, const ViewSource& source);
    void publishMoved(RunContext& context, const ViewSource& source);

private:
    /// What apply() changed since the last publication.
    struct Moved {
        bool eye = false, planesOn = false, planeMode = false, pixel = false, visible = false;
    };

    bool wants(const std::string& stream) const
    {
        return m_visible.empty() || m_visible.contains(stream);
    }
    bool showsNominalState(const ViewSource& source) const;
    bool showsAllPlanes() const;
    EyeState eyeFor(const ViewSource& source) const;
    EyeRenderer& rendererFor(RunContext& context, const ViewSource& source);
    Tensor enabledPlanes(Stream& stream, const ViewSource& source) const;
    void publishEye(RunContext& context, const ViewSource& source);
    Tensor seenView(RunContext& context, const ViewSource& source);
    Tensor seedView(Stream& stream, const ViewSource& source) const;
    void publishPlanes(RunContext& context, const ViewSource& source);
    void publishContributions(RunContext& context, const ViewSource& source);
    void publishOptics(RunContext& context, const ViewSource& source);

    std::optional<double> m_accommodation;
    double m_eyeX = 0, m_eyeY = 0;
    std::vector<bool> m_planesOn;
    std::optional<int> m_chosenItem;
    int m_planeMode = 0;
    std::optional<PixelPosition> m_pixel;
    std::set<std::string> m_visible;             ///< streams that somebody sees; empty means all
    Moved m_moved{true, true, true, true, true}; ///< all at first
    std::shared_ptr<Geometry> m_rendererGeometry;
    std::unique_ptr<EyeRenderer> m_renderer;
    DeviceFrames m_deviceFrames;
};

} // namespace vergence::light_field
