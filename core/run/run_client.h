#pragma once

#include <memory>
#include <optional>

#include <QObject>
#include <QString>
#include <QStringList>

#include <nlohmann/json.hpp>

#include "core/artifact/run_folder.h"
#include "core/config/closed_choice.h"
#include "core/metrics/metric_store.h"
#include "core/run/run_state.h"
#include "core/view/frame.h"
#include "core/view/view_input.h"

namespace vergence {

/// Follows one run from the window: starts or re-attaches to its worker, mirrors its state, sends
/// requests. The run folder is the truth: without a live socket it reads the files. All on the
/// thread it lives on; never blocks.
class RunClient : public QObject {
    Q_OBJECT
public:
    explicit RunClient(RunFolder folder, QObject* parent = nullptr);
    ~RunClient() override;

    /// Starts `vergence` (path of the executable) with `arguments`, detached from the window: the
    /// run survives it. `arguments` as the user would type them, with --run-dir naming this folder.
    void start(const QString& executable, const QStringList& arguments);
    /// Reads the folder and connects if a worker lives; emits stateChanged.
    void attach();

    const RunFolder& folder() const;
    RunState state() const;
    const RunStatus& status() const;
    const MetricStore& metrics() const;
    std::vector<StreamDecl> streams() const;
    std::vector<ViewControl> controls() const;
    const std::vector<ClosedChoice>& closedChoices() const; ///< of the worker that is connected
    /// The live settings as the run has them, as in a TOML file; empty before a worker told them.
    const std::map<std::string, std::string>& liveSettings() const;
    const std::vector<nlohmann::json>& artifacts() const; ///< {"path", "role", "title", "bytes"}
    const std::vector<nlohmann::json>& tables() const;
    QString phase() const;
    /// Newest frame of a stream if newer than `seen`.
    std::optional<Frame> frame(const std::string& stream, std::uint64_t seen);
    bool isConnected() const;

    void pause();
    void resume();
    void stop();
    void checkpoint();
    void kill(); ///< SIGKILL
    /// Of a lost or crashed run: from now on it counts as stopped, on disk too.
    void markStopped();
    void setLive(const std::string& key, const std::string& tomlValue);
    void setView(const ViewInput& input); ///< coalesced: at most one message under way
    /// Tells the worker whether somebody looks, and the UUID of the GPU whose memory the viewer can
    /// open (FrameUploader::sharedDevice); empty asks for host pixels.
    void setWatched(bool watched, const std::string& sharedDevice = {});

Q_SIGNALS:
    void stateChanged(vergence::RunState state);
    void progressChanged();
    void metricsAppended();
    /// The series were dropped and come anew from the files: pointers to them are void.
    void metricsRestarted();
    void frameArrived(const QString& stream);
    void framesRestarted(const QString& stream); ///< another worker counts them from 1 again
    void connectionLost();                       ///< the worker ended, or is out of reach
    void viewDeclared();                         ///< controls or streams changed
    void choicesClosed();                        ///< closedChoices() changed
    /// The worker told liveSettings(), and has answered all that setLive() asked for.
    void liveSettingsTold();
    void liveSettingRefused(const QString& key); ///< it stays what liveSettings() says
    void artifactsChanged();
    void tableChanged(const QString& id);
    void logArrived(const QString& time, const QString& level, const QString& area,
                    const QString& text);
    void problemRaised(const QString& id, const QString& sentence);
    void requestWaiting(const QString& request); ///< no acknowledgement within 2 s
    void requestAcknowledged(const QString& request, double milliseconds); ///< since it was made

private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

} // namespace vergence
