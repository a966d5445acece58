#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <QTimer>

#include "core/run/messages.h"
#include "core/run/run_client.h"
#include "core/run/run_history.h"
#include "core/run/worker_link.h"
#include "core/run/worker_process.h"
#include "core/view/frame_channel.h"

namespace vergence {

/// What a RunClient does behind its interface: run_client.cpp answers the window,
/// run_client_messages.cpp hears the worker, run_client_follow.cpp watches files and processes,
/// run_client_afar.cpp talks to workers of other computers.
struct RunClient::Impl {
    Impl(RunClient& client, RunFolder runFolder);

    // following
    void follow();
    void schedule();
    void launch();
    void readStatusFile();
    void noticeWorker(const std::string& host, int pid);
    void adopt(const RunStatus& fromFile);
    void tryConnect();

    // a worker of another computer, which no socket reaches (run_client_afar.cpp)
    void followAfar();
    void post(const nlohmann::json& message);
    void watchAfar();
    void hearAfar();
    void lookAfar();
    void judge();
    void judgeChild();
    void readHistory();
    void catchUp();
    void tell(RunHistory::News news);
    void readManifest();

    // ends
    void crashed(int signal, int exitCode);
    void failedUnseen(const WorkerProcess::Ending& ending);
    void lost();
    void endBadly(RunState newState, const std::string& id, const std::string& sentence);
    void setState(RunState newState);
    void raise(const std::string& id, const std::string& sentence);

    // messages
    void hear(const nlohmann::json& message);
    void hearHello(const nlohmann::json& message);
    void hearState(const nlohmann::json& message);
    void hearMetrics(const nlohmann::json& message);
    void hearLog(const nlohmann::json& message);
    void hearTable(const nlohmann::json& table);
    void hearArtifact(const nlohmann::json& message);
    void hearFrame(const nlohmann::json& message);
    void hearLive(const nlohmann::json& message);
    void tellLive();
    void request(const char* type);

    RunClient& q;
    RunFolder folder;
    RunHistory history;
    const std::string sender;  ///< of our requests to a worker of another computer
    bool isAfar = false;       ///< there is one
    double watchedAfarAt = -1; ///< when it was last asked for pictures (steadySeconds())
    std::filesystem::file_time_type heardAfar{}; ///< when its messages were written
    WorkerLink link;
    WorkerProcess process;
    QTimer watch, slices;

    RunState state = RunState::Draft;
    RunStatus status;
    QString phase;
    std::vector<StreamDecl> streams;
    std::vector<ViewControl> controls;
    std::vector<ClosedChoice> closedChoices;
    std::map<std::string, std::string> liveSettings;
    bool isLiveUntold = false; ///< liveSettings came while a change of ours was under way
    std::vector<nlohmann::json> artifacts, tables;
    struct Ring {
        std::string name;
        std::unique_ptr<FrameRingReader> reader;
        std::filesystem::path file; ///< instead of a ring, of a worker of another computer
        std::filesystem::file_time_type written{}; ///< when that was
    };
    std::map<std::string, Ring> rings;
    std::string lastProblem;  ///< a late client is told again what it may know
    bool isExploring = false; ///< the worker shows a finished run; the state stays what it was
    bool isStarting = false;  ///< files are of an earlier worker until the new one has spoken
    WatchRequest watchRequest;
    int startedPid = 0;                 ///< of our own child
    std::pair<std::string, int> worker; ///< host and process of whoever works on the run
    struct Command {
        QString executable;
        QStringList arguments;
    };
    std::optional<Command> pendingStart; ///< waits for the end of an earlier worker
    double lostHeartbeat = -1;           ///< the heartbeat that was judged lost
};

} // namespace vergence
