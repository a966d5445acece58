#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/artifact/artifact_store.h"
#include "core/config/closed_choice.h"
#include "core/metrics/metric_sink.h"
#include "core/view/frame.h"
#include "core/view/view_input.h"

namespace vergence {

// Between the types of core and the members of protocol messages. The readers take what
// parseMessage accepted; entries of lists that make no sense (a control without id) are left out.

/// Points as [step, wall seconds, name, value]; values that are not finite as "nan", "inf", "-inf".
nlohmann::json pointsToJson(const MetricPoint* points, std::size_t count);
std::vector<MetricPoint> pointsFromJson(const nlohmann::json& points);

nlohmann::json controlsToJson(const std::vector<ViewControl>& controls);
std::vector<ViewControl> controlsFromJson(const nlohmann::json& controls);
nlohmann::json choicesToJson(const std::vector<ClosedChoice>& choices);
std::vector<ClosedChoice> choicesFromJson(const nlohmann::json& choices);
nlohmann::json streamsToJson(const std::vector<StreamDecl>& streams);
std::vector<StreamDecl> streamsFromJson(const nlohmann::json& streams);

/// Members "sequence", "values", "texts".
nlohmann::json viewToJson(const ViewInput& input);
ViewInput viewFromJson(const nlohmann::json& message);

/// Whether a client looks at the pictures of a run, and how it can take them.
struct WatchRequest {
    bool isWatching = false;
    /// UUID of the GPU whose memory the client opens (its probe has succeeded there); empty for a
    /// client that takes host pixels alone.
    std::string sharedDevice{};
    bool operator==(const WatchRequest&) const = default;
};
/// Members "watched" and, where it is not empty, "shared_device".
nlohmann::json watchToJson(const WatchRequest& request);
WatchRequest watchFromJson(const nlohmann::json& message);

/// {"path", "role", "title", "bytes"}.
nlohmann::json artifactToJson(const Artifact& artifact);

/// Replaces the entry of a list with the same `key`, or appends.
void upsert(std::vector<nlohmann::json>& list, const nlohmann::json& entry, const char* key);

} // namespace vergence
