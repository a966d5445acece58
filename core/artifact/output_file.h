#pragma once

#include <cstdio>
#include <filesystem>
#include <string_view>

#include "core/base/file.h"

namespace vergence {

/// A large file written piece by piece that appears under its name when commit() succeeds, flushed
/// to disk.
class OutputFile {
public:
    explicit OutputFile(const std::filesystem::path& target); ///< throws OutputError
    ~OutputFile();
    OutputFile(const OutputFile&) = delete;
    OutputFile& operator=(const OutputFile&) = delete;

    void write(std::string_view bytes); ///< throws OutputError
    void commit();                      ///< throws OutputError

private:
    std::filesystem::path m_target;
    AtomicFile m_file;
    std::FILE* m_stream;
};

/// Throws OutputError for the error number of the system, with diskIsFull() where that is the
/// reason.
[[noreturn]] void throwCannotWrite(const std::filesystem::path& path, int error);

/// Makes the names inside a folder durable. Throws OutputError.
void flushFolder(const std::filesystem::path& folder);

/// A path below a run folder as manifests and bundles spell it: relative, forward slashes, no empty
/// part, "." or "..", no backslash and no control characters.
bool isPlainRelativePath(std::string_view path);

} // namespace vergence
