#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/artifact/run_folder.h"

namespace vergence {

/// Requests to a worker whose socket cannot be reached, because it works on another computer: files
/// in `requests` of the run folder, one per request (a message of protocol.h), and the worker's
/// acknowledgement beside it.

/// Of a viewer. `sender`: unlike that of any other viewer. Throws OutputError.
void postRequest(const RunFolder& folder, const std::string& sender, const nlohmann::json& request);
/// Acknowledgements that have come for this sender; each once.
std::vector<nlohmann::json> takeAnswers(const RunFolder& folder, const std::string& sender);

/// A worker's end.
class RequestBox {
public:
    /// What lies there was meant for an earlier worker, and goes.
    explicit RequestBox(const RunFolder& folder);

    struct Request {
        std::string name; ///< of its file
        nlohmann::json message;
    };
    /// In the order in which they were made; each once. Damaged ones are logged and go.
    std::vector<Request> take();
    /// `ack`: {"accepted", "reason"}.
    void answer(const Request& request, nlohmann::json ack);

private:
    std::filesystem::path m_folder;
};

} // namespace vergence
