#include "plugins/foveated_vlm/model/foveated_model.h"

namespace vergence::fvlm {

namespace {
enum Group { Vit, VitOthers, Connector, ConnectorOthers, Llm, LlmOthers };
} // namespace

FoveatedModel::FoveatedModel(std::shared_ptr<Device> device, const ModelSettings& settings,
                             DType master, DType compute)
    : m_settings(settings),
      m_parameters(std::move(device), master, compute),
      m_learnedTokens(LearnedTokenCount, -1)
{
    expects(settings.query.width > 0 && settings.staticQueries > 0,
            "FoveatedModel: a query needs a width, and a look one query or more");
    declareGroups();
    const LayerGroups connector{Connector, ConnectorOthers};
    const Declaration vit(m_parameters, {Vit, VitOthers, -1}, "encoder.dino.");
    // Part of model files, read by no pass.
    vit.below("embeddings").table("mask_token", {1, settings.vit.width}, 0);
    m_encoder = std::make_unique<GazeEncoder>(vit, Declaration(m_parameters, connector, "encoder."),
                                              settings.vit, settings.query, settings.savings);
    declareConnector();
    m_language = std::make_unique<LlamaModel>(
        Declaration(m_parameters, {Llm, LlmOthers, -1}, "llm."), settings.llm);
    if (settings.hasLatents()) {
        m_head = std::make_unique<PredictionHead>(
            UniformDeclaration(m_parameters, connector, "pred_head."), settings.head,
            settings.llm.width);
        declareTokens();
    }
}

void FoveatedModel::declareGroups()
{
    const auto add = [&](const char* name, bool decays, bool frozen) {
        m_parameters.addGroup(
            {name, decays || m_settings.decaysAll ? m_settings.weightDecay : 0, frozen});
    };
    add("vit", true, m_settings.freezesVit);
    add("vit_others", false, m_settings.freezesVit);
    add("connector", true, false);
    add("connector_others", false, false);
    add("llm", true, m_settings.freezesLlm);
    add("llm_others", false, m_settings.freezesLlm);
}

void FoveatedModel::declareConnector()
{
    const Index visual = m_settings.vit.width, language = m_settings.llm.width;
    const Index query = m_settings.query.width;
    const UniformDeclaration uniform(m_parameters, {Connector, ConnectorOthers});
    m_dinoToLlm = uniform.linear("dino_to_llm", visual, language);
    m_llmToQuery = uniform.linear("llm_to_query", language, query);
    const InitialValue normal{0, m_settings.query.deviation};
    m_staticQuery =
        m_parameters.add("q_static", {m_settings.staticQueries, query}, ConnectorOthers, normal);
    m_firstQuery = m_parameters.add("q_init", {1, query}, ConnectorOthers, normal);
}

void FoveatedModel::declareTokens()
{
    const HeadSettings& head = m_settings.head;
    m_firstLatent = m_parameters.add(
        "z_vae_init", {1, head.widths.front(), head.height, head.width}, ConnectorOthers);
    const auto token = [&](LearnedToken which, const char* name, double deviation) {
        m_learnedTokens[which] =
            m_parameters.add(name, {1, 1, m_settings.llm.width}, ConnectorOthers, {0, deviation});
    };
    const double deviation = m_settings.seedAsRun ? 1 : 0.14;
    token(CoarseToken, "coarse_token", deviation);
    token(FineToken, "fine_token", deviation);
    if (m_settings.seedAsRun)
        return;
    token(NoTextToken, "no_text_token", deviation);
    token(VideoEndToken, "video_end_token", deviation);
}

void FoveatedModel::allocate(Stream& stream)
{
    m_parameters.allocate(stream);
}

void FoveatedModel::initialise(Stream& stream, std::uint64_t seed,
                               const std::function<bool()>& isStopped)
{
    m_parameters.initialise(stream, seed, isStopped);
}

void FoveatedModel::prepare(Stream& stream, Index rows, Index columns)
{
    m_encoder->prepare(stream, m_parameters, rows, columns);
}

const PredictionHead& FoveatedModel::head() const
{
    expects(m_head != nullptr, "FoveatedModel: a model of captions predicts no latents");
    return *m_head;
}

FoveatedModel::Counts FoveatedModel::counts() const
{
    Counts counts;
    for (int i = 0; i < m_parameters.count(); ++i) {
        const Parameter& parameter = m_parameters[i];
        Index& part = parameter.group <= VitOthers         ? counts.vit
                      : parameter.group <= ConnectorOthers ? counts.connector
                                                           : counts.llm;
        part += elementCount(parameter.shape);
    }
    return counts;
}

} // namespace vergence::fvlm
