#pragma once

#include <filesystem>
#include <string>

#include "app/cli/command.h"
#include "core/cluster/target.h"

namespace vergence::cli {

/// The target of that name; what is wrong with its file goes to stderr. Throws InputError where
/// there is none, and Error (ExitCode::ConfigInvalid) where it cannot be used.
Target usableTarget(const std::string& name);
/// The program that works on its nodes.
std::string programOf(const Target& target, const Session& session);
/// Where its runs get their folders; `wanted` where that is not empty.
std::filesystem::path runsFolderOf(const Target& target, const std::string& wanted = {});

} // namespace vergence::cli
