#include "core/base/error.h"
#include "core/base/log.h"
#include "plugins/live_diffusion/sources/source.h"

namespace vergence::live {

std::unique_ptr<Source> openSource(const SourceSettings& settings)
{
    switch (settings.kind) {
    case SourceKind::Images:
        return imageSource(settings.path, settings.fps);
    case SourceKind::Video:
        return videoSource(settings.path, settings.threads);
    case SourceKind::Camera:
        return cameraSource(settings.camera);
    case SourceKind::Scene:
        break;
    }
    return sceneSource(settings.scene, settings.fps, settings.sceneFrames);
}

OpenedSource openSourceOrOrbits(const SourceSettings& settings)
{
    OpenedSource opened;
    try {
        opened.source = openSource(settings);
    } catch (const IoError& error) {
        opened.message = std::string(error.what()) + " Orbits takes its place.";
        log("live_diffusion").warn("{}", opened.message);
        SceneSettings orbits = settings.scene;
        orbits.kind = SceneKind::Orbits;
        opened.source = sceneSource(orbits, settings.fps);
    }
    return opened;
}

} // namespace vergence::live
