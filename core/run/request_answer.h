#pragma once

#include <nlohmann/json.hpp>

#include "core/run/run_controller.h"

namespace vergence {

/// Does what a request asks of a run, whoever asks and however it came: pause, resume, stop,
/// checkpoint, set, view. Its acknowledgement: {"accepted"} and, where refused, {"reason"}. Other
/// requests are accepted and mean nothing here.
nlohmann::json answerTo(const nlohmann::json& request, RunController& controller);

} // namespace vergence
