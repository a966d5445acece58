#pragma once

#include <vector>

#include "plugins/foveated_vlm/model/uniform_layers.h"

namespace vergence::fvlm {

struct HeadSettings;
enum class HeadKind;

/// Predicts the latent of a frame from a state of the language model and the latent of the frame
/// before. Latents lie channels innermost here: [n, h, w, C].
///
/// Film: (γ, β) from the state; decoder(γ ⊙ encoder(latent) + β), 3×3 convolutions with erf-GELU
/// between. Mlp: state and latent side by side through three linear layers, GELU and LayerNorm
/// between. CrossAttention: every place asks, with a query from state and place, the encoded latent
/// (4 heads); the answers are decoded as in Film.
class PredictionHead {
public:
    /// Declares "h_to_film.0" … under `where`; uniform start values ±1/√fan_in.
    PredictionHead(const UniformDeclaration& where, const HeadSettings& settings, Index stateWidth);

    /// latents [n, h, w, C] → what the passes share: features [n, h, w, W], or the latents
    /// themselves where the kind has nothing to share.
    Value encode(const ForwardPass& pass, Value latents) const;
    /// states [n, H], features of encode() → prediction [n, h, w, C]
    Value predict(const ForwardPass& pass, Value states, Value features) const;

private:
    void declareFilm(const UniformDeclaration& where, const HeadSettings& settings,
                     Index stateWidth);
    void declareMlp(const UniformDeclaration& where, const HeadSettings& settings,
                    Index stateWidth);
    void declareAttention(const UniformDeclaration& where, Index stateWidth);
    void declareDecoder(const UniformDeclaration& where);

    Value convolve(const ForwardPass& pass, const LinearLayer& layer, Value x,
                   Activation activation) const;
    Value chain(const ForwardPass& pass, const std::vector<LinearLayer>& layers, Value x) const;
    Value predictFilm(const ForwardPass& pass, Value states, Value features) const;
    Value predictMlp(const ForwardPass& pass, Value states, Value latents) const;
    Value predictAttention(const ForwardPass& pass, Value states, Value features) const;

    HeadKind m_kind;
    Index m_height, m_width;
    std::vector<Index> m_channels; ///< of latents first
    std::vector<LinearLayer> m_layers;
    std::vector<NormLayer> m_norms;
    std::vector<LinearLayer> m_encoder, m_decoder; ///< convolutions
    int m_positions = -1;                          ///< [1, h·w, W]
};

} // namespace vergence::fvlm
