// What a session keeps of its work, and how it goes on from there.

#include <utility>

#include <nlohmann/json.hpp>

#include "plugins/mc_embedding/study/model_session.h"

namespace vergence::mc_embedding {

void ModelSession::skipTo(RunContext& context, std::size_t measurement, std::size_t first)
{
    // What they reported stands in the metrics already.
    m_isCatchingUp = true;
    bool goesOn = open(context);
    while (goesOn && !isDone() && std::pair(m_measurement, m_first) < std::pair(measurement, first))
        goesOn = takeStored(context) && (isDone() || open(context));
    m_isCatchingUp = false;
}

void ModelSession::save(Stream& stream, std::vector<HostTensor>& tensors,
                        nlohmann::json& state) const
{
    state["measurement"] = m_measurement;
    state["first"] = m_first;
    const ModelStudy& own = m_p.state.models[m_study];
    state["seconds"] = own.seconds;
    state["flop"] = own.flop;
    if (m_chunk && !m_chunk->isDone()) {
        state["chunk_images"] = m_chunkImages;
        state["scores"] = current().scores;
        state["stored_features"] = m_p.config.storeFeatures;
        m_chunk->save(stream, tensors, state["chunk"]);
    }
}

void ModelSession::load(RunContext& context, const std::vector<HostTensor>& tensors,
                        const nlohmann::json& state)
{
    study().seconds = state.at("seconds").get<double>();
    study().flop = state.at("flop").get<double>();
    if (!state.contains("chunk") || isDone() || m_chunk || !open(context) ||
        state.at("measurement") != m_measurement || state.at("first") != m_first)
        return;
    const nlohmann::json& chunk = state.at("chunk");
    const auto layout = nlohmann::json::parse(chunk.at("layout").get<std::string>());
    const auto count = state.at("chunk_images").get<std::size_t>();
    const bool isSame = layout.at("trials") == current().trials &&
                        layout.at("passes") == current().passes &&
                        layout.at("geometry_trials") == current().geometryTrials &&
                        state.at("scores") == current().scores &&
                        state.value("stored_features", "none") == m_p.config.storeFeatures &&
                        m_first + count <= images();
    if (!isSame)
        return;
    if (startChunk(context, count)) {
        m_chunk->load(context.stream(), tensors, chunk);
        skipWhatIsDone();
    }
}

} // namespace vergence::mc_embedding
