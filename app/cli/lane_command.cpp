#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <iostream>
#include <memory>
#include <thread>

#include <unistd.h>

#include <fmt/format.h>

#include "app/cli/command.h"
#include "core/artifact/remote_run.h"
#include "core/artifact/run_lease.h"
#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/cluster/cancel_runs.h"
#include "core/cluster/queued_statuses.h"
#include "core/run/lane.h"
#include "core/run/request_box.h"
#include "core/run/run_state.h"

namespace vergence::cli {

namespace {

constexpr auto kBetweenLooks = std::chrono::milliseconds(250);
constexpr double kBetweenSigns = 1, kBetweenCounts = 2; // s

struct LaneOptions {
    std::string run, place;
    std::vector<std::string> lanes, arguments;
};

volatile std::sig_atomic_t hasToEnd = 0;

void noteEnd(int)
{
    hasToEnd = 1;
}

/// What was ignored from the start (nohup) stays so.
void onSignals(void (*handler)(int))
{
    for (const int signal : {SIGTERM, SIGINT, SIGHUP})
        if (std::signal(signal, handler) == SIG_IGN)
            std::signal(signal, SIG_IGN);
}

/// Places and lanes become names of files.
std::string whyNoFileName(const std::string& word)
{
    const bool isName = !word.empty() && word.front() != '.' && word.front() != '-' &&
                        word.find_first_of("/\n") == std::string::npos;
    return isName ? std::string() : fmt::format("`{}` cannot be the name of a file", word);
}

bool hasOption(const std::vector<std::string>& arguments, const std::string& name)
{
    return std::ranges::any_of(arguments, [&](const std::string& word) {
        return word == name || word.starts_with(name + "=");
    });
}

/// As `vergence run --wait` has it; and who was cancelled before it began stays so.
bool isSettled(const RunStatus& status, const LaneOptions& options)
{
    return status.state == nameOf(RunState::Stopped) ||
           (status.state == nameOf(RunState::Completed) && !hasOption(options.arguments, "--set"));
}

/// Waits while another process works on the run. Null where this one has to end.
std::unique_ptr<RunLease> takeLaneLease(const RunFolder& folder)
{
    while (!hasToEnd) {
        try {
            return std::make_unique<RunLease>(folder);
        } catch (const RunTaken&) {
            if (isRemote(folder))
                throw;
        }
        std::this_thread::sleep_for(kBetweenLooks);
    }
    return nullptr;
}

/// The run's status while it waits.
class WaitingRun {
public:
    explicit WaitingRun(const RunFolder& folder)
        : m_folder(folder),
          m_status(waitingStatus(readStatus(folder)))
    {
        m_status.rings.clear(); // of an earlier worker, maybe of another computer
        m_status.pid = static_cast<int>(::getpid());
        m_status.bootId = currentBootId();
        m_status.host = currentHost();
    }

    /// Writes only what is new: hundreds may wait. A disk that is full for a while ends none of
    /// them.
    void tell(const std::string& phase)
    {
        if (m_status.phase == phase)
            return;
        RunStatus status = m_status;
        status.phase = phase;
        status.heartbeat = epochSeconds();
        try {
            writeStatus(m_folder, status);
            m_status = status;
        } catch (const OutputError& error) {
            log("cli").warn("The run goes on waiting. {}", error.what());
        }
    }

private:
    RunFolder m_folder;
    RunStatus m_status;
};

std::string textOfPlace(int before)
{
    if (before == 0)
        return "it is next";
    return before == 1 ? "1 run before it" : fmt::format("{} runs before it", before);
}

/// A stop, and no more, can be asked of a run that waits.
void hearRequests(RequestBox& box)
{
    for (const RequestBox::Request& request : box.take()) {
        const std::string type = request.message.at("type");
        if (type == "stop")
            hasToEnd = 1;
        const bool isOfRun =
            type == "pause" || type == "resume" || type == "checkpoint" || type == "set";
        nlohmann::json ack{{"accepted", !isOfRun}};
        if (isOfRun)
            ack["reason"] = "The run waits for its turn; it can be stopped.";
        box.answer(request, ack);
    }
}

void renew(RunLease& lease, const RunFolder& folder)
{
    if (!lease.renew())
        throw Error(fmt::format("This process gave no sign of life for {:.0f} s, and another one "
                                "works on the run {} now.",
                                kSilence, folder.id()));
}

/// The device of the lane; nothing where this process has to end. Looks a while before it takes a
/// lane: who was submitted first may have been slower to come here.
std::optional<std::string> waitForLane(const RunFolder& folder, RunLease& lease, LaneTicket& ticket)
{
    WaitingRun run(folder);
    RequestBox box(folder);
    double counted = 0, renewed = steadySeconds();
    for (;;) {
        const double now = steadySeconds();
        if (counted == 0 || now - counted >= kBetweenCounts) {
            run.tell(textOfPlace(ticket.before()));
            counted = now;
        }
        std::this_thread::sleep_for(kBetweenLooks);
        hearRequests(box);
        if (hasToEnd)
            return std::nullopt;
        if (steadySeconds() - renewed >= kBetweenSigns) {
            renew(lease, folder);
            renewed = steadySeconds();
        }
        if (auto device = ticket.enter()) {
            run.tell("it begins");
            return device;
        }
    }
}

/// Keeps process and lane.
[[noreturn]] void becomeRun(const LaneOptions& options, const std::string& device,
                            const Session& session)
{
    std::vector<std::string> words{session.executable.string(), "run", options.run, "--resume",
                                   "--wait"};
    if (!device.empty() && !hasOption(options.arguments, "--device"))
        words.insert(words.end(), {"--device", device});
    words.insert(words.end(), options.arguments.begin(), options.arguments.end());
    std::vector<char*> arguments;
    for (std::string& word : words)
        arguments.push_back(word.data());
    arguments.push_back(nullptr);
    ::execv(session.executable.c_str(), arguments.data());
    throw Error(fmt::format("{} cannot be started: {}.", session.executable.string(),
                            std::strerror(errno)));
}

int waitAndRun(const LaneOptions& options, const Session& session)
{
    const RunFolder folder = RunFolder::open(options.run);
    onSignals(noteEnd);
    auto lease = takeLaneLease(folder);
    if (!lease)
        return 0;
    if (isSettled(readStatus(folder), options)) {
        std::cout << folder.root.string() << std::endl;
        return 0;
    }
    LaneTicket ticket(laneFolder(), options.place,
                      options.lanes.empty() ? std::vector<std::string>{""} : options.lanes);
    const auto device = waitForLane(folder, *lease, ticket);
    onSignals(SIG_DFL); // from now on a signal ends this process, and none is lost
    if (!device || hasToEnd) {
        markCancelled(folder);
        return 0;
    }
    lease.reset();
    ticket.keepAcrossExec();
    becomeRun(options, *device, session);
}

} // namespace

void addLaneCommand(CLI::App& app, Session& session)
{
    CLI::App* command = addLevel(app, "lane",
                                 "Wait for a lane of this computer, then go on as `vergence run "
                                 "RUN --resume --wait`. Scripts of jobs call it.");
    command->group(""); // not for people
    auto options = std::make_shared<LaneOptions>();
    command->add_option("run", options->run, "Run folder.")->required()->type_name("RUN");
    command
        ->add_option("--place", options->place, "Place in the line; the smallest text goes first.")
        ->required()
        ->check(CLI::Validator(whyNoFileName, "TEXT"));
    addRepeatable(*command, "--lane", options->lanes,
                  "Device of a lane; without one, a lane whose run takes what device it likes.")
        ->check(CLI::Validator(whyNoFileName, "DEVICE"));
    command->add_option("arguments", options->arguments, "Behind `--`: more for `vergence run`.");
    command->callback([options, &session] {
        session.action = [options, &session] { return waitAndRun(*options, session); };
    });
}

} // namespace vergence::cli
