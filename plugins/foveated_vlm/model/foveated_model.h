#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "plugins/foveated_vlm/model/model_settings.h"
#include "plugins/foveated_vlm/model/prediction_head.h"

namespace vergence::fvlm {

/// All parameters of the foveated model under the names of its checkpoints: "encoder.dino.…",
/// "encoder.query_input_proj.weight", "encoder.output_proj.…", "dino_to_llm.…", "llm_to_query.…",
/// "q_static", "q_init", "llm.…", "pred_head.…", "z_vae_init", "coarse_token", "fine_token",
/// "no_text_token", "video_end_token". Neither copied nor moved.
///
/// Groups, in this order (rates of an optimiser): vit, vit_others, connector, connector_others,
/// llm, llm_others. Matrices and kernels decay; the `_others` (biases, norms, scales, queries,
/// tokens, positions, embeddings) only where the settings say decaysAll.
class FoveatedModel {
public:
    static constexpr int kGroups = 6;

    /// master F32 or F64; compute the same, or BF16 beside F32. Values are 0 until initialise() or
    /// weights are loaded. Throws ContractError for extents that do not fit each other.
    FoveatedModel(std::shared_ptr<Device> device, const ModelSettings& settings,
                  DType master = DType::F32, DType compute = DType::F32);
    FoveatedModel(const FoveatedModel&) = delete;
    FoveatedModel& operator=(const FoveatedModel&) = delete;

    void
    allocate(Stream& stream); ///< called by the constructor's caller once, before anything else
    /// Random values; `isStopped` as in ParameterSet::initialise().
    void initialise(Stream& stream, std::uint64_t seed,
                    const std::function<bool()>& isStopped = {});
    /// For frames of rows × columns patches; before the first forward pass.
    void prepare(Stream& stream, Index rows, Index columns);

    const ModelSettings& settings() const { return m_settings; }
    ParameterSet& parameters() { return m_parameters; }
    const ParameterSet& parameters() const { return m_parameters; }

    const GazeEncoder& encoder() const { return *m_encoder; }
    const LlamaModel& language() const { return *m_language; }
    /// Throws ContractError for captions, which have none.
    const PredictionHead& head() const;

    // Parameters of the connector.

    const LinearLayer& dinoToLlm() const { return m_dinoToLlm; }   ///< [H, D]
    const LinearLayer& llmToQuery() const { return m_llmToQuery; } ///< [Q, H]
    int staticQuery() const { return m_staticQuery; }              ///< [staticQueries, Q]
    int firstQuery() const { return m_firstQuery; }                ///< [1, Q]
    int firstLatent() const { return m_firstLatent; } ///< [1, 4, h, w]; −1 for captions
    /// Rows of H in front of all tables of LearnedToken, by its number; −1 where the model has not.
    const std::vector<int>& learnedTokens() const { return m_learnedTokens; }

    /// Numbers in the parameters of a part, the tied head once.
    struct Counts {
        Index vit = 0, connector = 0, llm = 0; ///< connector with head and learned tokens
        Index all() const { return vit + connector + llm; }
    };
    Counts counts() const;

private:
    void declareGroups();
    void declareConnector();
    void declareTokens();

    ModelSettings m_settings;
    ParameterSet m_parameters;
    std::vector<int> m_groups;
    std::unique_ptr<GazeEncoder> m_encoder;
    std::unique_ptr<LlamaModel> m_language;
    std::unique_ptr<PredictionHead> m_head;
    LinearLayer m_dinoToLlm, m_llmToQuery;
    int m_staticQuery = -1, m_firstQuery = -1, m_firstLatent = -1;
    std::vector<int> m_learnedTokens;
};

/// Learned rows that a sequence may hold.
enum LearnedToken : int { CoarseToken, FineToken, NoTextToken, VideoEndToken, LearnedTokenCount };

} // namespace vergence::fvlm
