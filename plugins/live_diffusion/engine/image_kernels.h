#pragma once

#include "core/compute/dtype.h"
#include "core/compute/kernel.h"
#include "core/compute/view.h"

namespace vergence::live {

// Small operations on images and tokens that the engine's core does not have. Types F32, F16, BF16;
// arithmetic in F32.

/// Extents and order of a batch of images.
struct ImageShape {
    Index images = 0, channels = 0, height = 0, width = 0;
    bool channelsLast = true;

    VERGENCE_HD Index pixels() const { return height * width; }
    VERGENCE_HD Index size() const { return images * channels * pixels(); }
    /// Element of a channel of a pixel.
    VERGENCE_HD Index at(Index image, Index channel, Index pixel) const
    {
        return channelsLast ? (image * pixels() + pixel) * channels + channel
                            : (image * channels + channel) * pixels() + pixel;
    }
};

/// y = f(x · scale[c] + shift[image · shiftStride + c]); f is SiLU or nothing.
struct AffineChannels {
    DType type = DType::F32;
    ImageShape shape;
    const void* x = nullptr;
    void* y = nullptr;            ///< may be x
    const float* scale = nullptr; ///< [channels]; null: 1
    const float* shift = nullptr;
    Index shiftStride = 0; ///< 0: the same for all images
    bool silu = false;
};
inline const Kernel<void(const AffineChannels&)> affineChannels{"live.affine_channels"};

/// Up to three planar F32 images [images, channels[i], pixels] → one image in the network's type
/// and order, channels one after the other, zeros behind.
struct ImportImages {
    DType type = DType::F32;
    ImageShape shape; ///< of y
    const float* sources[3] = {nullptr, nullptr, nullptr};
    Index channels[3] = {0, 0, 0};
    void* y = nullptr;
};
inline const Kernel<void(const ImportImages&)> importImages{"live.import"};

/// Channels first … first + count of an image → planar F32 [images, count, pixels].
struct ExportImages {
    DType type = DType::F32;
    ImageShape shape; ///< of x
    Index first = 0, count = 0;
    const void* x = nullptr;
    float* y = nullptr;
};
inline const Kernel<void(const ExportImages&)> exportImages{"live.export"};

/// The four convolutions of a collapsed upsampling side by side → the large image with its bias.
/// x: [images, (h + 1) · (w + 1), 4 · channels] of `shape`'s order, phase (dy, dx) in channels
/// (2 · dy + dx) · C …; pixel (2r + dy, 2s + dx) of y is x(r + dy, s + dx).
struct InterleavePhases {
    DType type = DType::F32;
    ImageShape shape; ///< of y
    const void* x = nullptr;
    const float* bias = nullptr; ///< [channels] + image · biasStride; null: none
    Index biasStride = 0;
    void* y = nullptr;
};
inline const Kernel<void(const InterleavePhases&)> interleavePhases{"live.interleave_phases"};

/// probabilities = softmax(scores + bias) along rows of `columns` keys.
struct SoftmaxRows {
    Index rows = 0, columns = 0;
    const float* scores = nullptr;
    const float* bias = nullptr; ///< [columns] + row / rowsPerBias · columns; null: none
    Index rowsPerBias = 1;
    DType type = DType::F32;       ///< of the probabilities
    void* probabilities = nullptr; ///< may be the scores where they have one type
};
inline const Kernel<void(const SoftmaxRows&)> softmaxRows{"live.softmax_rows"};

/// y[r, i] = x[r, i] · gelu(x[r, width + i]), exact form.
struct GatedGeluRows {
    DType type = DType::F32;
    Index rows = 0, width = 0;
    const void* x = nullptr; ///< [rows, 2 · width]
    void* y = nullptr;       ///< [rows, width]
};
inline const Kernel<void(const GatedGeluRows&)> gatedGelu{"live.gated_gelu"};

/// Operations that a frame needs seldom: one result after the other.
enum class RareKind {
    Tanh,
    MaxPool2,
    UpsampleBilinear2, ///< half-pixel centres, border clamped
    MeanPool,          ///< adaptive
    AddTable,          ///< x + table[pixel, channel]
    Learned,           ///< table[pixel, channel]
    Plane,             ///< scale · x of the image
    Sinusoid,          ///< channels: cosines, sines; frequencies 10000^(−i/half)
};
struct RareImage {
    RareKind kind = RareKind::Tanh;
    DType type = DType::F32;
    ImageShape from, to;
    const void* x = nullptr;
    const float* numbers = nullptr; ///< of Plane and Sinusoid: one per image, F32 in every type
    const float* table = nullptr;
    void* y = nullptr;
    double scale = 1;
};
inline const Kernel<void(const RareImage&)> rareImage{"live.rare"};

} // namespace vergence::live
