#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace vergence::detail {

/// One call of rsync over OpenSSH between a folder here and one of a login.
struct RsyncCall {
    std::string login;
    std::filesystem::path here, there; ///< whole paths of folders
    bool sends = false;                ///< from here to there; else from there to here
    std::vector<std::string> names;    ///< what is copied, below those folders
    std::vector<std::string> options;  ///< further ones of rsync: filters
};

struct RsyncEnd {
    std::vector<std::string> copied; ///< files and folders that were new, below the folders
    bool hadGone = false; ///< something that was to be copied, or its place, is not there
};

/// Whole files appear under their names, or none. What has gone while it was copied is no failure.
/// Throws InputError where the other side is not reached, has no rsync, cannot be read or takes
/// nothing, OutputError where nothing can be written here.
RsyncEnd callRsync(const RsyncCall& call);

/// `name` as itself in a pattern of rsync that has a wildcard elsewhere.
std::string rsyncLiteral(const std::string& name);

} // namespace vergence::detail
