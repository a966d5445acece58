#include "plugins/live_diffusion/sources/source.h"

#include "core/base/error.h"

namespace vergence::live {

std::unique_ptr<Source> openSource(const SourceSettings& settings)
{
    const bool isFile = settings.kind == SourceKind::Images || settings.kind == SourceKind::Video;
    if (isFile && settings.path.empty())
        throw InputError("Nothing is named to stream: set path to the video or folder of "
                         "pictures.");
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

} // namespace vergence::live
