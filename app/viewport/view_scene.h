#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <QObject>
#include <QSizeF>

#include "app/viewport/frame_values.h"
#include "app/viewport/orbit_camera.h"
#include "app/viewport/pane_layout.h"
#include "core/view/frame.h"

namespace vergence {

enum class ViewMode { Image, Compare, StackGrid, Stack3d, Splats, Mesh, Diagram };
enum class CompareMode { Wipe, Side, Blink, Difference, ThreeUp };

struct CompareSettings {
    std::string a, b;
    std::string third; ///< third pane of ThreeUp; empty shows the difference of A and B
    CompareMode mode = CompareMode::Wipe;
    double wipe = 0.5;     ///< fraction of the view's width that shows A
    double gain = 1;       ///< factor on differences
    bool isSigned = false; ///< difference of luminance with its sign instead of amounts per channel
    bool showsB = false;   ///< A and B are exchanged, while Space is held
};

/// Everything the user chose in the view.
struct ViewSettings {
    ViewMode mode = ViewMode::Image;
    std::string stream; ///< shown in every mode but Compare
    int layer = 0;
    CompareSettings compare;
    Tone tone;
    ImageTransform transform;
    OrbitCamera camera;
    double opacity = 0.8;
    double depthStretch = 1.6; ///< length of the depth axis; the widest plane is 1 wide
};

/// One plane of the 3-D stack in world units.
struct StackPlane {
    int layer = 0;
    QVector3D centre;
    QSizeF halfSize;
};

/// What is to be drawn: streams, their newest frames and the user's choices. Knows no widget; both
/// painters read it.
class ViewScene : public QObject {
    Q_OBJECT
public:
    /// Shows the first image, or the first drawing or scene where the streams begin with one, until
    /// the user chooses otherwise.
    void setStreams(const std::vector<StreamDecl>& streams);
    const std::vector<StreamDecl>& streams() const { return m_streams; }
    /// Whether there are meshes to be looked at, whatever the streams are.
    void setHasMeshes(bool hasMeshes);
    void setFrame(Frame frame); ///< throws ContractError for a frame that contradicts itself
    /// The pixels of a frame that lies in device memory, fetched from there; nothing where another
    /// frame has come since.
    void setPixels(const std::string& stream, std::uint64_t revision,
                   std::vector<std::byte> pixels);
    /// The run has ended, and its device memory with it.
    void closeSources();
    /// Streams that have a frame.
    std::vector<std::string> streamsWithFrames() const;
    void clear();

    const ViewSettings& settings() const { return m_settings; }
    /// Changes the settings by `edit(ViewSettings&)`, keeps them consistent with the streams and
    /// announces the change.
    template <class Edit>
    void edit(Edit&& edit)
    {
        ViewSettings next = m_settings;
        edit(next);
        const bool chooses = next.mode != m_settings.mode || next.stream != m_settings.stream;
        apply(std::move(next));
        if (chooses) {
            m_isChosen = true;
            m_chosenMode = m_settings.mode;
            m_chosenStream = m_settings.stream;
        }
    }

    /// Modes that the streams allow, in the order of the enumeration.
    std::vector<ViewMode> modes() const;
    /// Streams that may be chosen in a mode.
    std::vector<StreamDecl> streamsFor(ViewMode mode) const;
    /// Streams of the same compare group, including `stream`.
    std::vector<StreamDecl> comparable(const std::string& stream) const;
    std::vector<std::string> visibleStreams() const;
    const StreamDecl* stream(const std::string& id) const;
    std::shared_ptr<const ShownFrame> frame(const std::string& stream) const;
    bool hasPicture() const; ///< at least one visible stream has a frame
    /// Pixels are magnified smoothly: as the user likes, and scenes always, whose pictures are
    /// smaller while the viewer moves.
    bool isSmooth() const
    {
        return m_settings.tone.isSmooth || m_settings.mode == ViewMode::Splats;
    }

    /// Flat pictures to draw; empty in Stack3d and Diagram.
    std::vector<Pane> panes(QSizeF viewport) const;
    /// Planes of the 3-D stack, farthest from the camera first.
    std::vector<StackPlane> planes() const;
    /// Pane whose clip holds the point.
    std::optional<Pane> paneAt(QPointF point, QSizeF viewport) const;
    int layerFor(const std::string& stream) const; ///< the chosen layer as far as the stream has it

Q_SIGNALS:
    void changed(); ///< draw again
    void settingsChanged();
    void streamsChanged();
    void visibleStreamsChanged();

private:
    void apply(ViewSettings next);
    void restoreChoice();
    void repair(ViewSettings& settings) const;
    std::vector<Pane> comparePanes(QSizeF viewport) const;
    std::vector<Pane> gridPanes(QSizeF viewport) const;

    std::vector<StreamDecl> m_streams;
    std::map<std::string, std::shared_ptr<const ShownFrame>> m_frames;
    std::uint64_t m_revision = 0;
    bool m_hasMeshes = false;
    bool m_isChosen = false; ///< the user left the default mode or stream
    /// What the user chose; it comes back with the streams that it needs.
    ViewMode m_chosenMode = ViewMode::Image;
    std::string m_chosenStream;
    ViewSettings m_settings;
};

} // namespace vergence
