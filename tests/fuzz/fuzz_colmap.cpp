// The first byte chooses the file, the others are its content: either a model or an InputError.
#include <cstdlib>

#include "core/base/error.h"
#include "plugins/sugar/io/colmap.h"

using namespace vergence;
using namespace vergence::sugar;

namespace {

/// No line may be too damaged to be left out.
void leaveOutDamaged(std::string_view text)
{
    try {
        std::vector<DamagedLine> damaged;
        parseColmapImages(text, "images.txt", &damaged);
        parseColmapPoints(text, "points3D.txt", &damaged);
    } catch (const LineError&) {
        std::abort();
    }
}

void parse(int which, std::span<const std::byte> bytes)
{
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    switch (which) {
    case 0:
        for (const SourceCamera& camera : parseColmapCameras(bytes, "cameras.bin")) {
            if (!faultOf(camera).empty())
                std::abort();
            camera.undistort(0.1, -0.2);
        }
        break;
    case 1:
        parseColmapImages(bytes, "images.bin");
        break;
    case 2:
        parseColmapPoints(bytes, "points3D.bin");
        break;
    case 3:
        parseColmapCameras(text, "cameras.txt");
        break;
    case 4:
        parseColmapImages(text, "images.txt");
        break;
    case 5:
        parseColmapPoints(text, "points3D.txt");
        break;
    default:
        leaveOutDamaged(text);
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    if (size == 0)
        return 0;
    try {
        parse(data[0] % 7, std::as_bytes(std::span(data + 1, size - 1)));
    } catch (const InputError&) {
    }
    return 0;
}
