#include "core/run/request_answer.h"

#include "core/run/messages.h"

namespace vergence {

namespace {

const char* refusalFor(const std::string& request)
{
    if (request == "pause")
        return "Only a running run can pause.";
    if (request == "resume")
        return "Only a paused run can resume.";
    if (request == "stop")
        return "The run is ending already.";
    return "A checkpoint is possible while a run is running or paused.";
}

} // namespace

nlohmann::json answerTo(const nlohmann::json& request, RunController& controller)
{
    const auto& type = request.at("type").get_ref<const std::string&>();
    const auto decide = [&](bool accepted) -> nlohmann::json {
        if (accepted)
            return {{"accepted", true}};
        return {{"accepted", false}, {"reason", refusalFor(type)}};
    };
    if (type == "pause")
        return decide(controller.requestPause());
    if (type == "resume")
        return decide(controller.requestResume());
    if (type == "stop")
        return decide(controller.requestStop());
    if (type == "checkpoint")
        return decide(controller.requestCheckpoint());
    if (type == "set") {
        const auto refusal = controller.setLive(request.at("key").get<std::string>(),
                                                request.at("value").get<std::string>());
        if (refusal)
            return {{"accepted", false}, {"reason", *refusal}};
    } else if (type == "view") {
        controller.setView(viewFromJson(request));
    }
    return {{"accepted", true}};
}

} // namespace vergence
