#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace vergence::live {

/// What was found fastest on this computer, kept in a file, so that the next process need not time
/// it again, and by the same algorithms comes to the same bits. A word by a key, both apart by
/// machine: processor, threads, kernels, version of the program. Not thread-safe; several processes
/// may share a file, of two that write the same key at once the later one stays.
class TunedChoices {
public:
    /// Reads `file`; empty: nothing is kept. A file that is missing is empty; so is one that is
    /// damaged, with a line in the log.
    explicit TunedChoices(std::filesystem::path file);

    std::optional<std::string> find(const std::string& machine, const std::string& key) const;
    void set(const std::string& machine, const std::string& key, const std::string& word);
    /// What is set from here on counts in this process alone: it is timed beside other work.
    void stopKeeping() { m_isKept = false; }
    /// Adds what was set since the last time to the file; a line in the log where it cannot be
    /// written, and nothing else.
    void save();

private:
    using Words = std::map<std::string, std::map<std::string, std::string>>; ///< machine, key
    Words read(bool tells) const; ///< `tells`: in the log what is wrong with the file

    std::filesystem::path m_file;
    Words m_words, m_new;
    bool m_isKept = true;
};

} // namespace vergence::live
