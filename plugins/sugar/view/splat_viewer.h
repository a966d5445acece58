#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/run/run_context.h"
#include "core/view/view_input.h"
#include "plugins/sugar/mesh/triangle_mesh.h"
#include "plugins/sugar/train/training_pictures.h"
#include "plugins/sugar/view/display.h"
#include "plugins/sugar/view/line_drawing.h"
#include "plugins/sugar/view/view_camera.h"

namespace vergence::sugar {

/// What can be looked at just now.
struct SplatSource {
    const Gaussians* gaussians = nullptr;
    const DensityStatistics* statistics = nullptr; ///< may be null: no gradient to show
    std::int64_t step = 0;                         ///< the Gaussians change with it
    RasterSettings raster;
    double extent = 1;
    TrainingPictures* pictures = nullptr; ///< may be null: a file without a scene
    const std::vector<bool>* isTest = nullptr;
    const TexturedMesh* mesh = nullptr; ///< may be null; without a texture it shows its colours
    std::vector<ViewControl> further;   ///< controls beside the viewer's own
    bool isTraining = false;            ///< previews are then small, so that training goes on
};

/// Keeps what the viewer chose and publishes the pictures that follow from it: the splats from a
/// free camera, and the render of one view beside its photograph.
class SplatViewer {
public:
    static std::vector<StreamDecl> streams();

    /// First camera and controls.
    void declare(RunContext& context, const SplatSource& source);
    /// Takes over what the viewer moved. True where that changes a picture.
    bool apply(const ViewInput& input, const SplatSource& source);
    void publish(RunContext& context, const SplatSource& source);

private:
    bool wants(const std::string& stream) const
    {
        return m_visible.empty() || m_visible.contains(stream);
    }
    void reset(const SplatSource& source);
    bool applyCamera(const ViewInput& input);
    bool applyPick(const ViewInput& input, const SplatSource& source);
    void focus(RunContext& context, const SplatSource& source);
    bool applyFocus(const ViewInput& input);
    void lookThrough(std::size_t view, const SplatSource& source);
    Camera cameraForSize(int width, int height) const;
    std::pair<int, int> pictureSize(bool isTraining) const;
    std::vector<Frustum> frusta(const SplatSource& source);
    void makeThumbnails(const SplatSource& source);
    const Gaussians& shown(RunContext& context, const SplatSource& source);
    void publishSplats(RunContext& context, const SplatSource& source);
    void publishView(RunContext& context, const SplatSource& source);
    void mixMesh(std::vector<std::uint8_t>& pixels, const Camera& camera,
                 const SplatSource& source) const;
    std::string splatsMeta(const ColourSpan& span, bool isPreview) const;
    void declareControls(RunContext& context, const SplatSource& source) const;

    SceneFrame m_frame;
    std::vector<double> m_camera;      ///< 16 numbers; empty until declare()
    double m_focal = 1.2;              ///< in picture heights
    int m_width = 960, m_height = 640; ///< of the canvas, px
    bool m_isMoving = false;
    std::int64_t m_jump = 0, m_fit = 0, m_pick = -1, m_focusNumber = -1;
    DisplaySettings m_display;
    int m_degree = 3;
    double m_meshShare = 0; ///< of the picture that is the mesh's, 0 to 1
    bool m_showsFrusta = true, m_showsPhotographs = false;
    std::optional<std::size_t> m_view;              ///< active view
    std::optional<std::array<double, 2>> m_focusAt; ///< asked for; fractions of the picture
    int m_shownWidth = 1, m_shownHeight = 1;        ///< of the newest picture, px
    std::set<std::string> m_visible;

    std::unique_ptr<Rasteriser> m_rasteriser;
    double m_secondsPerPixel = 0; ///< of the last picture
    Gaussians m_copy;             ///< altered for showing
    std::int64_t m_copyStep = -1;
    DisplaySettings m_copyFor;
    ColourSpan m_copySpan;
    std::vector<std::vector<std::uint8_t>> m_thumbnails;
    int m_thumbnailWidth = 0, m_thumbnailHeight = 0;
    double m_extent = 1;
};

} // namespace vergence::sugar
