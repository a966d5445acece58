#pragma once

#include <map>
#include <optional>

#include <nlohmann/json_fwd.hpp>

#include "core/view/diagram.h"
#include "plugins/foveated_vlm/view/evaluation_record.h"

namespace vergence::fvlm {

/// Right answers over the number of visual tokens that a model has without gaze, beside those of
/// one token with gaze.
struct TokenCurve {
    std::map<int, EvaluationRecord> controls; ///< by their visual tokens a frame
    std::optional<EvaluationRecord> gaze;

    bool isEmpty() const { return controls.size() < 2 || !gaze; }
};

/// Shares of right answers with their intervals; that of the gaze is a line across.
Diagram tokenChart(const TokenCurve& curve);
/// The same for RunContext::table(), with the nats of an answer.
nlohmann::json tokenTable(const TokenCurve& curve);

} // namespace vergence::fvlm
