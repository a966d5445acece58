#pragma once

#include <memory>

#include "plugins/sugar/pipeline/stage.h"
#include "plugins/sugar/texture/baking.h"

namespace vergence::sugar {

/// S8 and S9: repairs the mesh as asked for, then paints it. Repairs come first, because the
/// picture is packed by triangles.
class TextureStage final : public Stage {
public:
    const char* id() const override { return "S8"; }
    const char* title() const override { return "Texture"; }
    std::vector<std::string> keys() const override;
    std::int64_t totalSteps(const Workspace& workspace) const override;
    bool start(RunContext& context, Workspace& workspace) override;
    bool step(RunContext& context, Workspace& workspace) override;
    bool isDone() const override;
    void save(RunContext& context, Checkpoint& checkpoint) const override;
    void load(RunContext& context, Workspace& workspace, const Checkpoint& checkpoint) override;
    void finish(RunContext& context, Workspace& workspace) override;
    void writeResults(RunContext& context, const Workspace& workspace) const override;
    void release() override;
    std::vector<HostTensor> pack(const Workspace& workspace) const override;
    void unpack(Workspace& workspace, const SafetensorsFile& file) const override;

private:
    void repair(const Workspace& workspace);
    bool pack(RunContext& context, const Workspace& workspace);
    void beginPage(const Workspace& workspace);
    bool paint(RunContext& context, const Workspace& workspace, std::int64_t unit);
    BakeView view(const Workspace& workspace, std::size_t number);

    TriangleMesh m_mesh;
    TextureAtlas m_atlas;
    std::vector<Image> m_pages;            ///< those that are painted
    double m_seenShare = 0;                ///< sum over them
    std::unique_ptr<TextureBaker> m_baker; ///< of the page at work
    std::unique_ptr<Rasteriser> m_rasteriser;
    Gaussians m_gaussians; ///< that colours come from
    std::vector<std::size_t> m_pictures;
    Stream* m_stream = nullptr; ///< of the step that is under way
    std::int64_t m_done = 0, m_total = 0, m_replay = 0;
};

} // namespace vergence::sugar
