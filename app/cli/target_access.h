#pragma once

#include <filesystem>
#include <string>

#include "app/cli/command.h"
#include "core/cluster/studio_there.h"
#include "core/cluster/target.h"

namespace vergence::cli {

/// The target of that name; what is wrong with its file goes to stderr. Throws InputError where
/// there is none, and Error (ExitCode::ConfigInvalid) where it cannot be used.
Target usableTarget(const std::string& name);
/// The same from a TOML file, `-` for standard input, whatever targets this computer knows.
Target usableTargetOf(const std::string& name, const std::string& file);
/// The program that works on its nodes.
std::string programOf(const Target& target, const Session& session);
/// Where its runs get their folders on this computer, which are copies where the target has a disk
/// of its own; `wanted` where that is not empty.
std::filesystem::path runsFolderOf(const Target& target, const std::string& wanted = {});
/// The studio on the login of a target that isAskedThere(), of the same version as this one;
/// `runs`: see runsFolderOf(). Throws what studioThere() and requireSameVersion() throw.
StudioThere usableStudio(const Target& target, const Session& session,
                         const std::filesystem::path& runs);

} // namespace vergence::cli
