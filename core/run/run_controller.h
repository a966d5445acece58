#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/artifact/run_folder.h"
#include "core/base/error.h"
#include "core/compute/device.h"
#include "core/config/config.h"
#include "core/metrics/metric_sink.h"
#include "core/run/run.h"
#include "core/run/run_state.h"
#include "core/view/frame_publisher.h"

namespace vergence {

struct RunSettings {
    RunFolder folder;
    std::string plugin, pluginVersion, preset;
    nlohmann::json pluginInfo;        ///< for the manifest
    std::vector<StreamDecl> streams;  ///< what the plugin declares; a run may add its own
    std::vector<std::string> command; ///< the command line, for the manifest
    bool resumes = false;             ///< load the newest checkpoint
    bool exploresOnly = false;        ///< load, serve view input, step no more
    double lingerSeconds = 0; ///< after the end go on serving view input while a client watches
    double checkpointSeconds = 60;    ///< between automatic checkpoints; also every checkpointSteps
    std::int64_t checkpointSteps = 0; ///< 0: by time only
    int keepCheckpoints = 3;
    double timeLimitSeconds = 0; ///< 0: none; reaching it checkpoints and ends with code 124
    double previewIntervalSeconds = 0.1;
    /// Called once a second and before status and checkpoints are written. Does not return where
    /// another process has taken over the run. Any thread; may be empty.
    std::function<void()> confirmLease;
};

/// Owns the run thread and the state machine, writes the run folder (status, events, metrics, log,
/// manifest, checkpoints). Public functions are thread-safe; what happened is fetched by poll()
/// from one thread (the worker's main thread).
class RunController {
public:
    RunController(std::unique_ptr<Run> run, Config config, std::shared_ptr<Device> device,
                  RunSettings settings);
    ~RunController(); ///< stops and joins

    void start();
    bool requestPause();
    bool requestResume();
    /// `code` is what the process will exit with; ends lingering and exploring too.
    bool requestStop(ExitCode code = ExitCode::Success);
    /// Stops with code 124, and says `why` where the run was not over.
    void requestTimeUp(const std::string& why);
    bool requestCheckpoint();
    /// Live fields only; a refusal says why.
    std::optional<std::string> setLive(const std::string& key, const std::string& tomlValue);
    void setView(const ViewInput& input);
    void setWatched(bool watched);
    /// Whether every viewer can open the memory of this run's device, so that frames need not go
    /// through the host. Ending it publishes the pictures anew: a viewer that failed to open one
    /// misses none. Nothing on a device without memory to share.
    void setWantsShared(bool wants);
    /// A number of the worker's own ("system/…") at the current step.
    void record(const std::string& name, double value);
    /// For "resources" of the manifest; of each number the largest is kept.
    void addResources(const nlohmann::json& resources);

    const RunSettings& settings() const;
    const DeviceInfo& device() const;
    RunState state() const;
    std::int64_t step() const;
    std::int64_t totalSteps() const;
    bool isPrepared() const;   ///< the run came as far as its steps
    bool isFinished() const;   ///< the run thread has ended
    ExitCode exitCode() const; ///< valid once finished

    /// Protocol messages (core/run/protocol.h) since the last call; also flushes metrics.csv,
    /// events.jsonl and log.jsonl.
    std::vector<nlohmann::json> poll();
    /// Only what is new of the frames: they go out at once, at the viewer's pace. From the polling
    /// thread.
    std::vector<nlohmann::json> pollFrames();
    /// The newest frame of each stream whose sequence is above that in `seen`, where it lies in
    /// host memory.
    std::vector<Frame> newestFrames(const std::map<std::string, std::uint64_t>& seen);
    /// Called from the run thread when frames wait for pollFrames(). Before start().
    void setFrameListener(std::function<void()> listener);
    /// What a client that attaches late must hear first: hello, state, controls, streams,
    /// artifacts, tables.
    std::vector<nlohmann::json> snapshot() const;
    /// Writes status.json; called once a second by the worker. While exploring, explore.json
    /// instead.
    void beat(const std::string& socketName);

private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

} // namespace vergence
