#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <QObject>
#include <QSet>
#include <QTimer>

#include "app/shell/run_results.h"
#include "core/view/frame.h"

namespace vergence {

class RunClient;
class ViewPanel;

/// Carries frames from a run to its view: only streams that are visible, at most 60 times a second,
/// and the viewer's input back. The run is told whether anybody watches.
class FramePump : public QObject {
    Q_OBJECT
public:
    FramePump(RunClient& client, ViewPanel& panel, QObject* parent = nullptr);
    /// Streams that the plugin always has, beside those the run declares.
    void setPluginStreams(std::vector<StreamDecl> streams);
    /// Pictures of a run that no worker can show any more, instead of its streams; none: its
    /// streams again.
    void showRecorded(std::vector<RecordedPicture> pictures);
    /// The view is shown or hidden; while hidden nothing is fetched.
    void setVisible(bool visible);
    /// Whether any stream is a picture, which can be compared with that of the start.
    bool hasPictures() const;
    /// Offers the first frame of each visible picture beside its newest one and switches to
    /// comparing them; false where no first frame was seen.
    bool compareWithStart();
    int framesShown() const { return m_framesShown; }
    /// Step of the newest picture on show; nothing before the first, and for recorded ones.
    std::optional<std::int64_t> shownStep() const;
    /// Whether a picture has come since the view was shown.
    bool isFresh() const { return m_isFresh; }

Q_SIGNALS:
    void frameShown();

private:
    void declareSoon();
    void declare();
    void tellVisible();
    void tellWatched();
    void fetch();
    void keepFirst(const std::string& id, const std::string& subject);
    void showStart(const std::string& id);
    void offerStreams();

    std::vector<StreamDecl> allStreams() const;
    std::optional<Frame> newest(const std::string& stream, std::uint64_t seen);

    RunClient& m_client;
    ViewPanel& m_panel;
    QTimer m_timer;
    QTimer m_declaring; ///< an event of its own: many widgets are made
    std::vector<StreamDecl> m_pluginStreams;
    std::vector<RecordedPicture> m_recorded;
    std::map<std::string, std::uint64_t> m_seen;
    QSet<QString> m_dirty;
    /// Of every picture stream and everything that it showed, since the run started.
    std::map<std::string, std::map<std::string, Frame>> m_first;
    std::map<std::string, std::string> m_subjects; ///< on show now, by stream
    std::map<std::string, std::int64_t> m_steps;   ///< of what is on show
    bool m_comparesStart = false;
    bool m_isVisible = false, m_isFresh = false;
    int m_framesShown = 0;
};

} // namespace vergence
