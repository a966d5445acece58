#include "core/compute/nn/patches.h"

namespace vergence {

LinearLayer declarePatches(const Declaration& where, int patch, Index width, bool bias)
{
    LinearLayer layer;
    layer.weight = where.matrix("weight", {width, 3, patch, patch});
    if (bias)
        layer.bias = where.other("bias", {width});
    return layer;
}

Value embedPatches(const ForwardPass& pass, const LinearLayer& projection, Value pixels, int patch)
{
    const Value typed = cast(pass.graph, pixels, pass.parameters.computeType());
    const Value patches = projection(pass, unfoldPatches(pass.graph, typed, patch));
    return pass.at(patches, -1, Site::PatchEmbedding);
}

} // namespace vergence
