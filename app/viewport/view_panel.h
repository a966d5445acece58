#pragma once

#include <memory>
#include <string>
#include <vector>

#include <QImage>
#include <QWidget>

#include "core/view/frame.h"
#include "core/view/frame_uploader.h"
#include "core/view/view_input.h"

namespace vergence {

/// Shows the streams of one run: image, image stack (grid and 3-D), compare with wipe, side by
/// side, blink and difference, diagrams, and the controls a run declares (sliders, pads, toggles,
/// choices). Owns one OpenGL widget (`viewport`) in which all pictures are drawn; falls back to a
/// painter (`softwareView`) where OpenGL 3.3 is missing.
class ViewPanel : public QWidget {
    Q_OBJECT
public:
    explicit ViewPanel(QWidget* parent = nullptr);
    ~ViewPanel() override;

    void setStreams(const std::vector<StreamDecl>& streams);
    void setControls(const std::vector<ViewControl>& controls);
    void setFrame(Frame frame); ///< newest frame of frame.info.stream
    void clear();
    std::vector<std::string> visibleStreams() const; ///< others need not be fetched
    void setMessage(const QString& text);            ///< shown while there is nothing to see
    QImage grabView() const;       ///< what is on screen, for screenshots and tests
    QString transportName() const; ///< "shared memory", "GPU interop", "software GL"
    int paintCount() const;        ///< frames drawn so far, for tests
    void
    setUploader(std::unique_ptr<FrameUploader> uploader); ///< replaces the one through host memory

Q_SIGNALS:
    void viewInputChanged(const vergence::ViewInput& input);
    void visibleStreamsChanged();
    void parameterDragged(const QString& key,
                          double value); ///< a diagram's shape with editsKey was moved

private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

} // namespace vergence
