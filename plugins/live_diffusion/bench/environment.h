#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace vergence {
class Device;
}

namespace vergence::live {

/// Where a measurement was taken: time, build, system, processor with its instruction set, memory,
/// device, driver, versions of libraries, threads, the load of others, and those variables of the
/// environment that change speed or arithmetic. What cannot be found out is left out, never
/// guessed. The device's UUID is hashed.
nlohmann::json captureEnvironment(Device& device);

/// Text at a JSON pointer ("/device/name") of an environment or configuration, as written by
/// anyone; empty where there is none.
std::string textAt(const nlohmann::json& json, const char* pointer);

/// "NVIDIA H200, driver 550.54" or "AMD EPYC 7B13 (2 threads), x86-64-v4": one line for lists.
std::string environmentBadge(const nlohmann::json& environment);

} // namespace vergence::live
