#include "plugins/sugar/surface/poisson.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <optional>
#include <thread>

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/compute/backend.h"
#include "plugins/sugar/mesh/mesh_parts.h"
#include "plugins/sugar/surface/open3d/poisson_message.h"

namespace vergence::sugar {

namespace {

constexpr auto kPoll = std::chrono::milliseconds(20);
constexpr std::size_t kLongestComplaint = 2000;

std::optional<std::filesystem::path> programFile()
{
    for (const auto& folder : moduleFolders()) {
        const auto file = folder / kPoissonProgram;
        if (::access(file.c_str(), X_OK) == 0)
            return file;
    }
    return std::nullopt;
}

/// A file in memory without a name.
class MemoryFile {
public:
    MemoryFile() : m_descriptor(::memfd_create("reconstruction", MFD_CLOEXEC))
    {
        if (m_descriptor < 0)
            throw IoError("No memory for the reconstruction could be had.");
    }
    ~MemoryFile() { ::close(m_descriptor); }
    MemoryFile(const MemoryFile&) = delete;
    MemoryFile& operator=(const MemoryFile&) = delete;

    int descriptor() const { return m_descriptor; }
    std::size_t bytes() const
    {
        struct stat status {};
        ::fstat(m_descriptor, &status);
        return static_cast<std::size_t>(status.st_size);
    }
    template <class T>
    void write(const T* values, std::size_t count)
    {
        const char* from = reinterpret_cast<const char*>(values);
        for (std::size_t left = count * sizeof(T); left > 0;) {
            const ssize_t done = ::write(m_descriptor, from, left);
            if (done <= 0)
                throw IoError("The points cannot be handed to the reconstruction; memory is full.");
            from += done;
            left -= static_cast<std::size_t>(done);
        }
    }
    void rewind() { ::lseek(m_descriptor, 0, SEEK_SET); }
    /// The next values; fewer than asked for where the file ends.
    template <class T>
    std::vector<T> read(std::size_t count)
    {
        std::vector<T> values(count);
        char* to = reinterpret_cast<char*>(values.data());
        std::size_t done = 0;
        while (done < count * sizeof(T)) {
            const ssize_t more = ::read(m_descriptor, to + done, count * sizeof(T) - done);
            if (more <= 0)
                break;
            done += static_cast<std::size_t>(more);
        }
        values.resize(done / sizeof(T));
        return values;
    }

private:
    int m_descriptor;
};

/// The program at work; killed where it is left before its end.
class Solver {
public:
    Solver(const std::filesystem::path& program, const MemoryFile& in, const MemoryFile& out,
           const MemoryFile& complaints)
    {
        posix_spawn_file_actions_t actions;
        ::posix_spawn_file_actions_init(&actions);
        ::posix_spawn_file_actions_adddup2(&actions, in.descriptor(), STDIN_FILENO);
        ::posix_spawn_file_actions_adddup2(&actions, out.descriptor(), STDOUT_FILENO);
        ::posix_spawn_file_actions_adddup2(&actions, complaints.descriptor(), STDERR_FILENO);
        // Threads that wait actively slow each other down where there are fewer cores than threads.
        std::string policy = "OMP_WAIT_POLICY=passive";
        std::vector<char*> environment{policy.data()};
        for (char** entry = environ; *entry; ++entry)
            environment.push_back(*entry);
        environment.push_back(nullptr);
        std::string name = program.string();
        char* const arguments[] = {name.data(), nullptr};
        const int failure = ::posix_spawn(&m_process, name.c_str(), &actions, nullptr, arguments,
                                          environment.data());
        ::posix_spawn_file_actions_destroy(&actions);
        if (failure != 0)
            throw Error(fmt::format("{} cannot be started ({}).", name, std::strerror(failure)));
    }
    ~Solver()
    {
        if (m_process > 0) {
            ::kill(m_process, SIGKILL);
            ::waitpid(m_process, nullptr, 0);
        }
    }
    Solver(const Solver&) = delete;
    Solver& operator=(const Solver&) = delete;

    /// The state that waitpid() reports; none where `stop` said so first.
    std::optional<int> wait(const std::function<bool()>& stop)
    {
        int state = 0;
        while (::waitpid(m_process, &state, WNOHANG) == 0) {
            if (stop && stop())
                return std::nullopt;
            std::this_thread::sleep_for(kPoll);
        }
        m_process = 0;
        return state;
    }

private:
    pid_t m_process = 0;
};

[[noreturn]] void fail(int state, MemoryFile& complaints)
{
    complaints.rewind();
    const std::vector<char> text =
        complaints.read<char>(std::min(complaints.bytes(), kLongestComplaint));
    throw Error(fmt::format(
        "The Poisson reconstruction failed ({}). Try a smaller depth, or another solver. {}",
        WIFSIGNALED(state) ? fmt::format("signal {}", WTERMSIG(state))
                           : fmt::format("exit code {}", WEXITSTATUS(state)),
        std::string(text.begin(), text.end())));
}

Reconstruction readReply(MemoryFile& reply)
{
    reply.rewind();
    const auto header = reply.read<PoissonReply>(1);
    const bool hasHeader = header.size() == 1 && header[0].magic == kPoissonMagic &&
                           header[0].vertices <= reply.bytes() && header[0].faces <= reply.bytes();
    const std::size_t expected =
        hasHeader ? sizeof(PoissonReply) + 16 * header[0].vertices + 12 * header[0].faces : 0;
    if (!hasHeader || reply.bytes() != expected)
        throw Error("The Poisson reconstruction gave an answer that cannot be read.");
    Reconstruction result;
    result.mesh.position = reply.read<float>(3 * header[0].vertices);
    result.mesh.triangle = reply.read<std::uint32_t>(3 * header[0].faces);
    result.density = reply.read<float>(header[0].vertices);
    expectSound(result.mesh);
    return result;
}

} // namespace

bool hasPoisson(std::string* reason)
{
    const bool isThere = programFile().has_value();
    if (!isThere && reason)
        *reason = "This installation was built without Open3D.";
    return isThere;
}

Reconstruction poissonSurface(const SurfacePoints& points, const PoissonSettings& settings,
                              const std::function<bool()>& stop)
{
    expects(settings.depth >= 1 && settings.depth <= 16 && settings.scale > 1,
            "poissonSurface: settings are out of range");
    const auto isFinite = [](float value) { return std::isfinite(value); };
    expects(std::all_of(points.position.begin(), points.position.end(), isFinite) &&
                std::all_of(points.normal.begin(), points.normal.end(), isFinite),
            "poissonSurface: a position or normal is not finite");
    const auto program = programFile();
    if (!program)
        throw Error("Poisson reconstruction needs Open3D, which this installation was built "
                    "without. Choose another solver.");
    if (points.count() < 3)
        return {};
    MemoryFile request, reply, complaints;
    PoissonRequest header;
    header.points = static_cast<std::uint64_t>(points.count());
    header.scale = settings.scale;
    header.depth = settings.depth;
    request.write(&header, 1);
    request.write(points.position.data(), points.position.size());
    request.write(points.normal.data(), points.normal.size());
    request.rewind();
    Solver solver(*program, request, reply, complaints);
    const std::optional<int> state = solver.wait(stop);
    if (!state)
        return {};
    if (*state != 0)
        fail(*state, complaints);
    return readReply(reply);
}

} // namespace vergence::sugar
