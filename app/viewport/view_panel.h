#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <QImage>
#include <QWidget>

#include "app/viewport/mesh/mesh_choice.h"
#include "core/view/frame.h"
#include "core/view/frame_uploader.h"
#include "core/view/view_input.h"

namespace vergence {

class MeshScene;

/// Shows the streams of one run: image, image stack (grid and 3-D), compare with wipe, side by
/// side, blink and difference, diagrams, and the controls a run declares (sliders, pads, toggles,
/// choices); and meshes from files. Owns one OpenGL widget (`viewport`) in which all pictures are
/// drawn; falls back to a painter (`softwareView`) where OpenGL 3.3 is missing.
class ViewPanel : public QWidget {
    Q_OBJECT
public:
    explicit ViewPanel(QWidget* parent = nullptr);
    ~ViewPanel() override;

    void setStreams(const std::vector<StreamDecl>& streams);
    void setControls(const std::vector<ViewControl>& controls);
    /// Mesh files that the mode Mesh offers, the preferred first; see MeshScene.
    void setMeshes(std::vector<MeshChoice> meshes);
    const MeshScene& meshes() const;
    void setFrame(Frame frame); ///< newest frame of frame.info.stream
    void clear();
    std::vector<std::string> visibleStreams() const; ///< others need not be fetched
    void setMessage(const QString& text);            ///< shown while there is nothing to see
    /// While held back nothing is drawn with OpenGL; a message says so.
    void setHeldBack(bool isHeldBack);
    /// UUID of the GPU whose memory the view opens, to be told to the run (RunClient::setWatched);
    /// empty: host pixels. Frames of other devices are left out.
    std::string sharedDevice() const;
    /// The shown frame of a stream with its pixels in host memory, fetched where they lie on a
    /// device; nothing where they cannot be had yet.
    std::optional<Frame> frameWithPixels(const std::string& stream);
    void closeSources();     ///< the run has ended: device memory that was opened of it is closed
    QImage grabView() const; ///< what is on screen, for screenshots and tests
    QString transportName() const; ///< "shared memory", "GPU interop", "software GL"
    int paintCount() const;        ///< frames drawn so far, for tests
    /// For frames in device memory, beside the one through host memory; null for none. One that
    /// fails is given up, with sharedDeviceChanged().
    void setUploader(std::unique_ptr<FrameUploader> uploader);

Q_SIGNALS:
    void viewInputChanged(const vergence::ViewInput& input);
    void visibleStreamsChanged();
    void sharedDeviceChanged();
    void problemFound(const QString& sentence); ///< a mesh that cannot be shown, or lacks something
    void parameterDragged(const QString& key,
                          double value); ///< a diagram's shape with editsKey was moved

private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

} // namespace vergence
