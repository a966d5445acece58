#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "core/compute/dense/plan_cache.h"
#include "core/compute/device.h"

namespace vergence {

/// Which algorithm of a library was the fastest for a problem on a kind of card, kept in the user's
/// cache: another process takes the same ones, without timing, and so comes to the same bits. A
/// choice is a word of the library's owner. Thread-safe; several processes may share a file. What
/// is damaged or foreign is left out and written anew; what cannot be written counts for this
/// process alone, with a line in the log.
class TuningFile {
public:
    /// The file of a library in one version, "cuBLASLt 130100", on cards like this one.
    TuningFile(const DeviceInfo& card, const std::string& library);

    std::optional<std::string> find(const PlanKey& problem);
    /// Returns the choice that counts from here on: that of the process that was first. One that
    /// the library `refused` gives way.
    std::string keep(const PlanKey& problem, const std::string& choice, const std::string& refused);

    const std::filesystem::path& path() const { return m_path; } ///< empty: there is none

private:
    using Choices = std::map<std::string, std::string>; ///< by problem

    Choices read() const;
    void write() const;
    void tellOnce(const std::string& sentence);

    std::string m_title; ///< first line of the file
    std::filesystem::path m_path;
    std::mutex m_mutex;
    Choices m_choices;
    bool m_hasTold = false;
};

} // namespace vergence
