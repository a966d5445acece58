#include "core/run/worker.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <optional>

#include <sys/ioctl.h>
#include <unistd.h>

#include <QCoreApplication>
#include <QEventLoop>
#include <QTimer>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/run/messages.h"
#include "core/run/progress_line.h"
#include "core/run/remote_view.h"
#include "core/run/request_answer.h"
#include "core/run/request_box.h"
#include "core/run/signal_watch.h"
#include "core/run/system_recorder.h"
#include "core/run/worker_log.h"
#include "core/run/worker_server.h"

namespace vergence {

namespace {

constexpr int kPollMilliseconds = 50; // 20 Hz
constexpr int kBeatMilliseconds = 1000;
constexpr int kDrawEvery = 4;  // polls per redraw of the progress line
constexpr int kServeEvery = 5; // polls per look of viewers on other computers
constexpr int kFarewellMilliseconds = 1000;
constexpr const char* kWipe = "\r\033[K"; ///< to the start of the terminal's line, and empty it

/// The main thread of a worker: everything that is not the run itself.
class Worker {
public:
    Worker(RunController& controller, const WorkerOptions& options)
        : m_controller(controller),
          m_options(options),
          m_system(controller, controller.device().uuid),
          m_showsLine(options.showsProgress && !options.jsonLines && ::isatty(STDERR_FILENO) != 0)
    {
        if (options.servesSocket)
            m_server = std::make_unique<WorkerServer>(controller);
        if (controller.settings().exploresOnly)
            return; // the run's folder is that of its worker
        m_box.emplace(controller.settings().folder);
        m_remoteView.emplace(controller);
    }

    int run();

private:
    void poll();
    void sendFrames();
    void beat();
    void serveBox();
    void hear(const RequestBox::Request& request);
    void serveViewersAfar();
    void interrupted(int signal);
    void killAfter(double seconds);
    void draw();
    std::string socketName() const { return m_server ? m_server->socketName() : std::string(); }

    RunController& m_controller;
    WorkerOptions m_options;
    SystemRecorder m_system;
    std::optional<RequestBox> m_box; ///< from and for other computers
    std::optional<RemoteView> m_remoteView;
    std::unique_ptr<WorkerServer> m_server;
    SignalWatch m_signals;
    QEventLoop m_loop;
    ProgressLine m_line;
    bool m_showsLine;
    int m_polls = 0;
};

int Worker::run()
{
    adoptWorkerLog(m_controller.settings().folder);
    QObject::connect(&m_signals, &SignalWatch::interrupted, &m_loop,
                     [this](int signal) { interrupted(signal); });
    QObject::connect(&m_signals, &SignalWatch::timeRunsOut, &m_loop, [this] {
        m_controller.requestTimeUp("The time of the job is nearly up; the run saves and stops. "
                                   "Resume it to go on.");
    });
    QObject::connect(&m_signals, &SignalWatch::checkpointWanted, &m_loop,
                     [this] { m_controller.requestCheckpoint(); });
    if (m_server)
        QObject::connect(m_server.get(), &WorkerServer::killAfterRequested, &m_loop,
                         [this](double seconds) { killAfter(seconds); });
    QTimer pollTimer, beatTimer;
    QObject::connect(&pollTimer, &QTimer::timeout, &m_loop, [this] { poll(); });
    QObject::connect(&beatTimer, &QTimer::timeout, &m_loop, [this] { beat(); });
    m_controller.setFrameListener([this] {
        QMetaObject::invokeMethod(
            &m_loop, [this] { sendFrames(); }, Qt::QueuedConnection);
    });
    if (m_showsLine)
        setLogPrefix(kWipe);
    m_controller.start();
    m_controller.beat(socketName());
    pollTimer.start(kPollMilliseconds);
    beatTimer.start(kBeatMilliseconds);
    m_loop.exec();
    if (m_server)
        m_server->drain(kFarewellMilliseconds);
    m_server.reset();
    m_controller.beat({});
    if (m_showsLine) {
        setLogPrefix({});
        std::fputc('\n', stderr);
    }
    return static_cast<int>(m_controller.exitCode());
}

void Worker::poll()
{
    const bool isOver =
        m_controller.isFinished(); // asked first, so that nothing said before the end is missed
    const std::vector<nlohmann::json> messages = m_controller.poll();
    if (m_server)
        m_server->broadcast(messages);
    if (m_options.jsonLines) {
        for (const nlohmann::json& message : messages) {
            const std::string line = serialise(message);
            std::fwrite(line.data(), 1, line.size(), stdout);
        }
        std::fflush(stdout);
    }
    if (m_polls % kServeEvery == 0)
        serveViewersAfar();
    if (m_showsLine) {
        m_line.hear(messages);
        if (isOver || m_polls % kDrawEvery == 0)
            draw();
    }
    ++m_polls;
    if (isOver)
        m_loop.quit();
}

/// Pictures do not wait for the batch: a slider in the window moves them.
void Worker::sendFrames()
{
    if (m_server)
        m_server->broadcast(m_controller.pollFrames());
}

void Worker::beat()
{
    m_system.sample();
    serveBox();
    m_controller.beat(socketName());
}

/// Requests from other computers.
void Worker::serveBox()
{
    if (!m_box)
        return;
    for (const RequestBox::Request& request : m_box->take())
        hear(request);
}

void Worker::hear(const RequestBox::Request& request)
{
    const auto& type = request.message.at("type").get_ref<const std::string&>();
    if (type == "kill_after")
        killAfter(request.message.at("seconds").get<double>());
    else if (type == "watch")
        m_remoteView->setWatched(watchFromJson(request.message).isWatching, steadySeconds());
    m_box->answer(request, answerTo(request.message, m_controller));
}

void Worker::serveViewersAfar()
{
    if (!m_remoteView)
        return;
    const double now = steadySeconds();
    if (m_remoteView->isWatched(now))
        serveBox(); // more often than each second
    if (m_server)
        m_server->setWatchedFromAfar(m_remoteView->isWatched(now));
    m_remoteView->publish(now);
}

void Worker::interrupted(int signal)
{
    log("run").info("Interrupted: the run saves and stops. Once more ends it at once.");
    m_controller.requestStop(static_cast<ExitCode>(128 + signal));
}

void Worker::killAfter(double seconds)
{
    constexpr double kLongest = 3600;
    m_controller.requestStop();
    QTimer::singleShot(static_cast<int>(std::clamp(seconds, 0.0, kLongest) * 1000), &m_loop, [] {
        log("run").error("The run did not stop in time and is ended.");
        ::_exit(128 + SIGKILL);
    });
}

void Worker::draw()
{
    winsize size{};
    const int columns =
        ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col - 1 : 79;
    std::fprintf(stderr, "%s%s", kWipe, m_line.text(steadySeconds(), columns).c_str());
    std::fflush(stderr);
}

} // namespace

int runWorker(RunController& controller, const WorkerOptions& options)
{
    expects(QCoreApplication::instance() != nullptr, "runWorker: needs a QCoreApplication");
    return Worker(controller, options).run();
}

} // namespace vergence
