#pragma once

#include "core/artifact/run_folder.h"

namespace vergence {

/// The right to work on a run: a lock on its folder that the system gives up when its holder dies,
/// however it dies. File systems that know no such locks let everybody in.
class RunLock {
public:
    /// Throws Error (ExitCode::Usage) where another worker has it.
    explicit RunLock(const RunFolder& folder);
    ~RunLock();
    RunLock(const RunLock&) = delete;
    RunLock& operator=(const RunLock&) = delete;

private:
    int m_directory;
};

} // namespace vergence
