#include "core/run/signal_watch.h"

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
std::atomic<int> signalCount{0};

void handle(int signal)
{
    if (signalCount.fetch_add(1) > 0)
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

} // namespace

SignalWatch::SignalWatch() : m_notifier(openPipe(), QSocketNotifier::Read)
{
    signalCount = 0;
    connect(&m_notifier, &QSocketNotifier::activated, this, [this] {
        char byte = 0;
        while (::read(static_cast<int>(m_notifier.socket()), &byte, 1) == 1)
            Q_EMIT interrupted(byte);
    });
    setHandler(SIGPIPE, SIG_IGN);
    setHandler(SIGINT, handle);
    setHandler(SIGTERM, handle);
}

SignalWatch::~SignalWatch()
{
    setHandler(SIGINT, SIG_DFL);
    setHandler(SIGTERM, SIG_DFL);
    ::close(writeEnd.exchange(-1));
    ::close(static_cast<int>(m_notifier.socket()));
}

} // namespace vergence
