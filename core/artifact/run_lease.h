#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>

#include "core/artifact/run_folder.h"
#include "core/base/error.h"

namespace vergence {

/// A worker is gone when it gave no sign of life for so long (s); it gives one every second.
inline constexpr double kSilence = 15;

/// Another process works on the run. Exit code 2.
class RunTaken : public Error {
public:
    explicit RunTaken(const std::string& message) : Error(message, ExitCode::Usage) {}
    ~RunTaken() override;
};

/// The right to work on a run, on whatever computers share its folder: `lease/<number>.json` names
/// process, host and job of the holder, who touches it once a second. Who finds it released, its
/// process dead or silent for kSilence makes the next number, which only one can; a holder that
/// comes back after that finds its own gone. Where the file system knows locks the folder is locked
/// as well, and freed at once when its holder dies. Times are those of the file system, so clocks
/// may differ.
class RunLease {
public:
    /// Throws RunTaken where another worker has it, OutputError where nothing can be written.
    explicit RunLease(const RunFolder& folder);
    ~RunLease(); ///< releases it
    RunLease(const RunLease&) = delete;
    RunLease& operator=(const RunLease&) = delete;

    /// A sign of life. False where another worker has taken over: nothing of the run may be written
    /// any more. Any thread.
    bool renew();

private:
    std::filesystem::path file() const;

    std::filesystem::path m_folder;
    int m_directory = -1;
    std::int64_t m_number = 0;
    std::mutex m_mutex;
    bool m_isHeld = false;
};

/// Seconds since a worker of this run last gave a sign of life, by the file system's clock; nothing
/// where none ever did.
std::optional<double> secondsSinceSign(const RunFolder& folder);

} // namespace vergence
