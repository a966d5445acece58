// Any bytes: either a scene whose views have cameras and rotations, or an InputError.
#include <cmath>
#include <cstdlib>

#include "core/base/error.h"
#include "plugins/sugar/io/scene_readers.h"

using namespace vergence;
using namespace vergence::sugar;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    const auto measure = [](const std::filesystem::path&) {
        return std::optional(ImageHeader{40, 30});
    };
    try {
        const TransformsFile file = parseTransforms({reinterpret_cast<const char*>(data), size},
                                                    "/nowhere/transforms.json", measure);
        for (const SourceView& view : file.scene.views) {
            const SourceCamera& camera =
                file.scene.cameras.at(static_cast<std::size_t>(view.camera));
            if (camera.width < 1 || camera.height < 1 || !std::isfinite(camera.fy()))
                std::abort();
            for (const double value : view.rotation) {
                if (!(std::abs(value) <= 1 + 1e-9))
                    std::abort();
            }
        }
    } catch (const InputError&) {
    }
    return 0;
}
