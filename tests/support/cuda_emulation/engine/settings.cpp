#include "tests/support/cuda_emulation/engine/settings.h"

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace vergence::emulation {

namespace {

std::string textOfVariable(const char* name)
{
    const char* value = std::getenv(name);
    return value ? value : "";
}

/// A number that is no number would quietly test something else than was wanted: the process ends.
template <class Number>
void readNumber(const char* name, Number& number)
{
    const std::string text = textOfVariable(name);
    if (text.empty())
        return;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || number < 0) {
        std::fprintf(stderr, "%s is '%s', which is no number from 0 on\n", name, text.c_str());
        std::_Exit(2);
    }
}

Settings fromEnvironment()
{
    Settings settings;
    readNumber("VERGENCE_EMULATED_SEED", settings.seed);
    readNumber("VERGENCE_EMULATED_DEVICES", settings.devices);
    readNumber("VERGENCE_EMULATED_BYTES", settings.bytesPerDevice);
    readNumber("VERGENCE_EMULATED_CAPABILITY", settings.capability);
    if (int driver = -1; readNumber("VERGENCE_EMULATED_DRIVER", driver), driver >= 0)
        settings.driver = driver;
    int isMig = 0;
    readNumber("VERGENCE_EMULATED_MIG", isMig);
    settings.isMig = isMig != 0;
    if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES"))
        settings.visible = visible;
    settings.failure = textOfVariable("VERGENCE_EMULATED_FAILURE");
    settings.reportFile = textOfVariable("VERGENCE_EMULATED_REPORT");
    settings.countersFile = textOfVariable("VERGENCE_EMULATED_COUNTERS");
    settings.contextsFile = textOfVariable("VERGENCE_EMULATED_CONTEXTS");
    return settings;
}

} // namespace

Settings& settings()
{
    static auto* all = new Settings(fromEnvironment()); // read until the process has ended
    return *all;
}

std::size_t shuffledBelow(std::size_t count)
{
    static unsigned seed = 0;
    static std::uint64_t state = 0;
    if (state == 0 || seed != settings().seed) {
        seed = settings().seed;
        state = 0x9e3779b97f4a7c15u * (std::uint64_t{seed} + 1);
    }
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    const std::uint64_t number = (state * 0x2545f4914f6cdd1du) >> 32;
    return count >> 32 == 0 ? static_cast<std::size_t>(number * count >> 32) : state % count;
}

} // namespace vergence::emulation
