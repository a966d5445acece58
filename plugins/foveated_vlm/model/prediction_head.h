#pragma once

#include "core/compute/nn/layers.h"

namespace vergence::fvlm {

struct HeadSettings;

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
    PredictionHead(const Declaration& where, const HeadSettings& settings, Index stateWidth);

    /// latents [n, h, w, C] → what the passes share: features [n, h, w, W], or the latents
    /// themselves where the kind has nothing to share.
    Value encode(const ForwardPass& pass, Value latents) const;
    /// states [n, H], features of encode() → prediction [n, h, w, C]
    Value predict(const ForwardPass& pass, Value states, Value features) const;

private:
    struct Convolution {
        int weight = -1, bias = -1; ///< [out, in, 3, 3], [out]
    };
    Convolution declareConvolution(const Declaration& where, Index in, Index out) const;
    Value convolve(const ForwardPass& pass, const Convolution& layer, Value x,
                   Activation activation) const;
    Value decode(const ForwardPass& pass, Value x) const;
    Value predictFilm(const ForwardPass& pass, Value states, Value features) const;
    Value predictMlp(const ForwardPass& pass, Value states, Value latents) const;
    Value predictAttention(const ForwardPass& pass, Value states, Value features) const;

    void declareFilm(const Declaration& where, const HeadSettings& settings, Index stateWidth);
    void declareMlp(const Declaration& where, const HeadSettings& settings, Index stateWidth);
    void declareAttention(const Declaration& where, const HeadSettings& settings, Index stateWidth);

    enum class Kind { Film, Mlp, CrossAttention } m_kind;
    Index m_height, m_width;
    std::vector<Index> m_channels;
    std::vector<LinearLayer> m_layers;
    std::vector<NormLayer> m_norms;
    std::vector<Convolution> m_encoder, m_decoder;
    int m_positions = -1; ///< [1, h·w, W]
};

} // namespace vergence::fvlm
