#include <charconv>
#include <mutex>
#include <string>
#include <string_view>

#include "tests/support/cuda_emulation/engine/device_memory.h"
#include "tests/support/cuda_emulation/engine/findings.h"
#include "tests/support/cuda_emulation/engine/settings.h"
#include "tests/support/cuda_emulation/engine/streams.h"

namespace vergence::emulation {

namespace {

/// VERGENCE_EMULATED_FAILURE: the n-th call of a function ends with an error.
struct PlannedFailure {
    std::string setting; ///< as it was when it was read
    std::string function;
    long number = 0, calls = 0;
    int error = 0;
};

template <class Number>
bool readNumber(std::string_view text, Number& number)
{
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size() && number > 0;
}

PlannedFailure planned(const std::string& setting)
{
    PlannedFailure failure;
    failure.setting = setting;
    const std::string_view text = setting;
    const std::size_t first = text.find(':'), second = text.find(':', first + 1);
    if (first != std::string_view::npos && second != std::string_view::npos && first > 0 &&
        readNumber(text.substr(first + 1, second - first - 1), failure.number) &&
        readNumber(text.substr(second + 1), failure.error)) {
        failure.function = text.substr(0, first);
    } else if (!setting.empty()) {
        report("setting", "VERGENCE_EMULATED_FAILURE",
               "'" + setting + "' is not <call>:<number>:<error>");
    }
    return failure;
}

} // namespace

std::optional<int> injectedFailure(const char* call)
{
    const std::lock_guard guard(deviceLock());
    static PlannedFailure failure;
    if (failure.setting != settings().failure)
        failure = planned(settings().failure);
    if (failure.function != call || ++failure.calls != failure.number)
        return std::nullopt;
    return failure.error;
}

} // namespace vergence::emulation
