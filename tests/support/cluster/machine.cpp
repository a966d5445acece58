#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

// Stands for a computer: `vergence-test-machine NAME PROGRAM ARGUMENTS…` runs a program, and all
// that it ever starts belongs to this computer, daemons and orphans too. TERM, or the end of
// whoever started it, switches the computer off: everything on it dies at once. USR1 kills the
// program alone; what it started lives on. The computer goes when nothing is left on it. Its
// programs find NAME for its host name where this user may give it one, as root may outside of most
// containers.

namespace {

namespace fs = std::filesystem;

/// Parent of a process, or 0 where it has gone meanwhile.
pid_t parentOf(const std::string& pid)
{
    std::ifstream file("/proc/" + pid + "/stat"); // "1234 (name, may have any sign) S 1 …"
    std::string text;
    std::getline(file, text, '\0');
    const std::size_t name = text.rfind(") ");
    pid_t parent = 0;
    if (name != std::string::npos && text.size() > name + 4)
        std::from_chars(text.data() + name + 4, text.data() + text.size(), parent);
    return parent;
}

std::vector<pid_t> children()
{
    std::vector<pid_t> found;
    std::error_code code;
    for (const auto& entry : fs::directory_iterator("/proc", code)) {
        const std::string name = entry.path().filename().string();
        if (name.front() >= '1' && name.front() <= '9' && parentOf(name) == ::getpid())
            found.push_back(static_cast<pid_t>(std::stol(name)));
    }
    return found;
}

/// Kills children until there are none: the orphans that they leave are children next time.
void switchOff()
{
    do {
        for (const pid_t child : children())
            ::kill(child, SIGKILL);
    } while (::wait(nullptr) > 0 || errno == EINTR);
}

/// Whether anything is still there.
bool reapsAndGoesOn()
{
    pid_t reaped;
    do
        reaped = ::waitpid(-1, nullptr, WNOHANG);
    while (reaped > 0);
    return reaped == 0;
}

pid_t start(char** command, const sigset_t& signals)
{
    const pid_t pid = ::fork();
    if (pid != 0)
        return pid;
    ::sigprocmask(SIG_UNBLOCK, &signals, nullptr);
    ::execvp(command[0], command);
    std::perror(command[0]);
    std::_Exit(127);
}

} // namespace

int main(int argc, char** argv)
{
    if (argc < 3) {
        std::fprintf(stderr, "Usage: %s NAME PROGRAM [ARGUMENTS]\n", argv[0]);
        return 2;
    }
    if (::unshare(CLONE_NEWUTS) == 0 && ::sethostname(argv[1], std::strlen(argv[1])) != 0)
        std::perror(argv[1]);
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : {SIGCHLD, SIGTERM, SIGUSR1})
        sigaddset(&signals, signal);
    ::sigprocmask(SIG_BLOCK, &signals, nullptr);
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    const pid_t program = start(argv + 2, signals);
    for (int signal = 0; program > 0 && ::sigwait(&signals, &signal) == 0;) {
        if (signal == SIGTERM)
            switchOff();
        else if (signal == SIGUSR1 && parentOf(std::to_string(program)) == ::getpid())
            ::kill(program, SIGKILL);
        if (!reapsAndGoesOn())
            break;
    }
    return 0;
}
