#include "plugins/sugar/train/picture_source.h"

#include "core/base/error.h"
#include "plugins/sugar/io/synthetic_scene.h"

namespace vergence::sugar {

namespace {

class Photographed final : public PictureSource {
public:
    Photographed(Scene scene, const PhotographSettings& settings)
        : m_photographs(std::move(scene), settings)
    {
    }

    std::size_t count() const override { return m_photographs.count(); }
    const std::string& name(std::size_t i) const override { return m_photographs.name(i); }
    const std::vector<Camera>& cameras() const override { return m_photographs.cameras(); }
    std::optional<bool> isTest(std::size_t i) const override
    {
        return m_photographs.view(i).isTest;
    }
    std::shared_ptr<const Photograph> get(std::size_t i, int level) override
    {
        return m_photographs.get(i, level);
    }
    void prefetch(const std::vector<std::size_t>& next, int level) override
    {
        m_photographs.prefetch(next, level);
    }
    std::size_t masked() const override { return m_photographs.masked(); }
    const Scene& scene() const override { return m_photographs.scene(); }
    const std::vector<SceneFinding>& findings() const override { return m_photographs.findings(); }
    std::string fingerprint() const override { return m_photographs.fingerprint(); }

private:
    Photographs m_photographs;
};

class NoPictures final : public PictureSource {
public:
    std::size_t count() const override { return 0; }
    const std::string& name(std::size_t) const override
    {
        throw ContractError("There are no pictures.");
    }
    const std::vector<Camera>& cameras() const override { return m_cameras; }
    std::optional<bool> isTest(std::size_t) const override { return std::nullopt; }
    std::shared_ptr<const Photograph> get(std::size_t, int) override
    {
        throw ContractError("There are no pictures.");
    }
    const Scene& scene() const override { return m_scene; }
    const std::vector<SceneFinding>& findings() const override { return m_scene.findings; }
    std::string fingerprint() const override { return "none"; }

private:
    Scene m_scene;
    std::vector<Camera> m_cameras;
};

} // namespace

PictureSource::~PictureSource() = default;

void PictureSource::prefetch(const std::vector<std::size_t>&, int) {}

std::size_t PictureSource::masked() const
{
    return 0;
}

std::unique_ptr<PictureSource> photographedPictures(Scene scene, const PhotographSettings& settings)
{
    return std::make_unique<Photographed>(std::move(scene), settings);
}

std::unique_ptr<PictureSource> builtInPictures(int width, int height, bool gloss,
                                               std::uint64_t seed)
{
    return std::make_unique<Photographed>(syntheticScene({width, height, gloss, seed}),
                                          PhotographSettings{});
}

std::unique_ptr<PictureSource> noPictures()
{
    return std::make_unique<NoPictures>();
}

} // namespace vergence::sugar
