#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace vergence {

/// Exit codes of every executable of the studio; the window shows the same causes as cards.
enum class ExitCode {
    Success = 0,
    RunFailed = 1,
    Usage = 2,
    ConfigInvalid = 3,
    PluginUnavailable = 4,
    OutOfMemory = 5,
    InputUnreadable = 6,
    NoDevice = 7,
    OutputUnwritable = 8,
    VerificationFailed = 9,
    TimeLimit = 124,
    Interrupted = 130,
};

/// Root of all failures that the studio reports. The message says what was tried, on what, and what
/// to do.
class Error : public std::runtime_error {
public:
    explicit Error(const std::string& message, ExitCode code = ExitCode::RunFailed);
    ~Error() override; // anchors the type in one library, so that it is caught across modules

    ExitCode exitCode() const { return m_code; }

private:
    ExitCode m_code;
};

/// Reading or writing outside the process failed.
class IoError : public Error {
public:
    using Error::Error;
    ~IoError() override;
};

/// Input data cannot be read or contradict themselves. Exit code 6.
class InputError : public IoError {
public:
    explicit InputError(const std::string& message);
    ~InputError() override;
};

/// Output cannot be written: full disk, rights, vanished folder. Exit code 8.
class OutputError : public IoError {
public:
    explicit OutputError(const std::string& message, bool diskFull = false);
    ~OutputError() override;

    bool diskIsFull() const { return m_diskFull; }

private:
    bool m_diskFull;
};

/// A device is missing (exit code 7), out of memory (exit code 5) or reported an error (exit code
/// 1).
class DeviceError : public Error {
public:
    using Error::Error;
    ~DeviceError() override;
};

/// A number that must be finite is not; names step and series.
class NumericsError : public Error {
public:
    explicit NumericsError(const std::string& message);
    ~NumericsError() override;
};

/// A caller broke a documented precondition.
class ContractError : public Error {
public:
    explicit ContractError(const std::string& message);
    ~ContractError() override;
};

/// Checks an argument of a public function. Throws ContractError with `text` where `condition` is
/// false.
inline void expects(bool condition, std::string_view text)
{
    if (!condition)
        throw ContractError(std::string(text));
}

} // namespace vergence
