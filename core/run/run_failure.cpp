#include "core/run/run_failure.h"

#include <new>

#include <fmt/format.h>

namespace vergence {

namespace {

std::string doing(const std::string& phase)
{
    return phase.empty() ? std::string() : fmt::format(" while \"{}\"", phase);
}

} // namespace

const char* problemIdOf(ExitCode code)
{
    switch (code) {
    case ExitCode::ConfigInvalid:
        return "E-CONFIG";
    case ExitCode::PluginUnavailable:
        return "E-PLUGIN";
    case ExitCode::OutOfMemory:
        return "E-OOM";
    case ExitCode::InputUnreadable:
        return "E-DATA";
    case ExitCode::NoDevice:
        return "E-NOGPU";
    case ExitCode::OutputUnwritable:
        return "E-OUTPUT";
    default:
        return "E-RUN";
    }
}

RunFailure describeFailure(const std::exception_ptr& error, std::int64_t step,
                           const std::string& phase)
{
    try {
        std::rethrow_exception(error);
    } catch (const NumericsError& numerics) {
        return {numerics.exitCode(), "E-NUMERICS", numerics.what()};
    } catch (const OutputError& output) {
        return {output.exitCode(), output.diskIsFull() ? "E-DISK" : "E-OUTPUT", output.what()};
    } catch (const Error& known) {
        return {known.exitCode(), problemIdOf(known.exitCode()), known.what()};
    } catch (const std::bad_alloc&) {
        return {ExitCode::OutOfMemory, "E-OOM",
                fmt::format("The computer ran out of memory at step {}{}. Use smaller inputs or "
                            "close other programs.",
                            step, doing(phase))};
    } catch (const std::exception& other) {
        return {ExitCode::RunFailed, "E-RUN",
                fmt::format("The run failed at step {}{}: {}", step, doing(phase), other.what())};
    } catch (...) {
        return {ExitCode::RunFailed, "E-RUN",
                fmt::format("The run failed at step {}{} with an error of unknown type.", step,
                            doing(phase))};
    }
}

} // namespace vergence
