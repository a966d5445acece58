#pragma once

#include <filesystem>
#include <string>

namespace vergence::detail {

/// Makes the loader look in `folders` ("$ORIGIN/../lib"), before all other places, for what a
/// program or library (ELF of 64 bits) loads, and for what that loads in turn: DT_RPATH in the
/// place of what the file says now. False, and the file stays as it is, where it says nothing or
/// something shorter. Text that is empty always fits: the loader looks where it does by itself.
/// Throws InputError where the file is no such one, OutputError.
bool setLibraryPath(const std::filesystem::path& file, const std::string& folders);

} // namespace vergence::detail
