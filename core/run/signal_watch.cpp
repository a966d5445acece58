#include "core/run/signal_watch.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <unistd.h>

#include "core/base/error.h"

namespace vergence {

namespace {

// A handler may only write to a pipe, which must therefore be reachable without an object.
std::atomic<int> writeEnd{-1};
std::atomic<int> interruptions{0};

constexpr std::array kWatched{SIGINT, SIGTERM, SIGHUP, SIGXCPU, SIGUSR1, SIGUSR2};

void handle(int signal)
{
    const bool isFromPeople = signal == SIGINT || signal == SIGTERM;
    if (isFromPeople && interruptions.fetch_add(1) > 0)
        ::_exit(128 + signal);
    const int saved = errno;
    const char byte = static_cast<char>(signal);
    [[maybe_unused]] const ssize_t written = ::write(writeEnd, &byte, 1);
    errno = saved;
}

/// Opens the self-pipe and returns its reading end.
int openPipe()
{
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        throw Error("Cannot watch signals: no pipe could be opened.");
    writeEnd = ends[1];
    return ends[0];
}

void setHandler(int signal, void (*handler)(int))
{
    struct sigaction action {};
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    ::sigaction(signal, &action, nullptr);
}

bool isIgnored(int signal)
{
    struct sigaction action {};
    return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

} // namespace

SignalWatch::SignalWatch() : m_notifier(openPipe(), QSocketNotifier::Read)
{
    interruptions = 0;
    connect(&m_notifier, &QSocketNotifier::activated, this, [this] {
        char byte = 0;
        while (::read(static_cast<int>(m_notifier.socket()), &byte, 1) == 1)
            hear(byte);
    });
    setHandler(SIGPIPE, SIG_IGN);
    for (const int signal : kWatched) {
        if (signal != SIGHUP || !isIgnored(signal))
            setHandler(signal, handle);
    }
}

void SignalWatch::hear(int signal)
{
    if (signal == SIGUSR1)
        Q_EMIT timeRunsOut();
    else if (signal == SIGUSR2)
        Q_EMIT checkpointWanted();
    else
        Q_EMIT interrupted(signal);
}

SignalWatch::~SignalWatch()
{
    for (const int signal : kWatched) {
        if (!isIgnored(signal))
            setHandler(signal, SIG_DFL);
    }
    ::close(writeEnd.exchange(-1));
    ::close(static_cast<int>(m_notifier.socket()));
}

} // namespace vergence
