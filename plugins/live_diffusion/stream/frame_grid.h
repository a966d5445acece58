#pragma once

#include <span>
#include <vector>

#include "core/artifact/image.h"
#include "plugins/live_diffusion/engine/frame_network.h"

namespace vergence::live {

/// Pictures of any size to the planes [3p², gridHeight, gridWidth] of a network and back:
/// out[c·p² + dy·p + dx, Y, X] = in[c, Y·p + dy, X·p + dx], values v / 127.5 − 1.
class FrameGrid {
public:
    /// `stream`: of a CPU device, outlives this; null: all on the calling thread.
    explicit FrameGrid(const FrameShape& shape, Stream* stream = nullptr)
        : m_shape(shape),
          m_stream(stream)
    {
    }

    const FrameShape& shape() const { return m_shape; }
    /// Cuts the largest centred window of the frame's aspect and scales it by a triangle filter,
    /// wider where the picture shrinks. Overwrites `values` [3p², gridHeight, gridWidth].
    /// `picture`: 1, 3 or 4 channels, at least 1 × 1 px; ContractError otherwise.
    void toValues(const Image& picture, std::span<float> values);
    /// Clamped and rounded, RGB. `picture` keeps its memory where its size is right.
    void toPicture(std::span<const float> values, Image& picture) const;

private:
    struct Tap {
        int first = 0, count = 0;
        std::size_t weight = 0; ///< of the first, in m_weights of the axis
    };
    struct Axis {
        std::vector<Tap> taps; ///< one per target pixel
        std::vector<float> weights;
    };
    void prepare(int width, int height);
    static Axis axisOf(int source, double from, double length, int target);
    void squeezeRows(const Image& picture);
    void mixRow(Index y);
    void scatterRow(Index y, std::span<float> values) const;

    FrameShape m_shape;
    Stream* m_stream;
    int m_sourceWidth = 0, m_sourceHeight = 0;
    Axis m_columns, m_rows;
    std::vector<float> m_lines;  ///< rows of the source at the target's width, RGB
    std::vector<float> m_fitted; ///< the frame, RGB
};

} // namespace vergence::live
