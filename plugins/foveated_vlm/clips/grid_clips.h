#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plugins/foveated_vlm/clips/clip_source.h"
#include "plugins/foveated_vlm/clips/grid_names.h"
#include "plugins/foveated_vlm/clips/grid_question.h"

namespace vergence::fvlm {

inline constexpr int kGridAnswers = 8; ///< different contents, whatever they are

struct GridSettings {
    GridContent content = GridContent::Colour;
    int side = 4;   ///< cells along an edge
    int size = 32;  ///< of the square canvas, px
    int frames = 1; ///< per clip; those of Colour and Letter are equal
    std::uint64_t seed = 42;
    Index count = 4096;
    std::uint64_t firstId = 0; ///< id of clip 0; the others follow
};

/// All that is drawn of one clip, and which cell is asked for. Rows from the top.
struct GridScene {
    std::vector<int> contents; ///< [side · side] into gridAnswers()
    std::vector<int> frames;   ///< [side · side] Sign: where it is seen
    GridPlace asked;
};

/// Pixels of a cell: [left, right) × [top, bottom).
struct CellBox {
    int left = 0, top = 0, right = 0, bottom = 0;
};

/// Pictures of a grid whose cells are asked for one by one: who looks once at everything has to
/// keep all cells, who knows the question before looking needs one. Every number is a function of
/// seed and clip id, as of the other drawn clips.
class GridClips : public ClipSource {
public:
    /// Throws ContractError for settings out of range.
    explicit GridClips(const GridSettings& settings);

    Index count() const override { return m_settings.count; }
    int height() const override { return m_settings.size; }
    int width() const override { return m_settings.size; }
    ClipInfo info(Index clip) const override;
    void read(Index clip, std::span<std::uint8_t> out) const override;
    std::string digest() const override;
    std::span<const std::uint8_t> mapped() const override { return {}; }

    GridScene scene(Index clip) const;
    /// The clip's text where this cell is asked for.
    ClipText textFor(Index clip, GridPlace place) const;
    CellBox boxOf(GridPlace place) const;
    const GridSettings& settings() const { return m_settings; }

private:
    std::uint64_t idOf(Index clip) const { return m_settings.firstId + std::uint64_t(clip); }

    GridSettings m_settings;
};

/// "red" and seven other colours, or eight letters.
const std::vector<std::string>& gridAnswers(GridContent content);

} // namespace vergence::fvlm
