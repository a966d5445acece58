#pragma once

#include <filesystem>
#include <string>

namespace vergence::detail {

/// A file in a runs folder that another computer must find, and one that it must make beside it:
/// both are gone at the end.
class FolderToken {
public:
    /// Makes the folder, too. `host`: as of Shell. Throws InputError where it cannot be written.
    FolderToken(std::string host, const std::filesystem::path& folder);
    ~FolderToken();
    FolderToken(const FolderToken&) = delete;
    FolderToken& operator=(const FolderToken&) = delete;

    const std::filesystem::path& path() const { return m_path; }
    /// "812 GB free"; empty where the computer does not tell.
    const std::string& room() const { return m_room; }

private:
    std::string m_host;
    std::filesystem::path m_path;
    std::string m_room;
};

/// For `sh -c`, with the path of a token behind it: looks for it and makes the other one. Prints
/// lines "sees folder", "writes folder".
extern const char* const kLookForToken;

} // namespace vergence::detail
