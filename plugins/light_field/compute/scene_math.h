#pragma once

#include "core/compute/host_device.h"

namespace vergence::light_field {

enum class PrimitiveKind : int { Sphere, Cube };
enum class Texture : int { Plain, CheckerSeed, CheckerEqualAngle, LetterA, LetterB, LetterC };

/// A sphere (size = radius) or an axis-aligned cube (size = edge length). Lengths in mm.
struct Primitive {
    PrimitiveKind kind = PrimitiveKind::Sphere;
    Texture texture = Texture::Plain;
    double center[3] = {0, 0, 0};
    double size = 1;
    float color[3] = {1, 1, 1}; ///< linear light
    double textureScale = 1;    ///< cell size s, number of cells n, or repetitions of a letter
};

/// A scene as kernels see it.
struct SceneView {
    const Primitive* primitives = nullptr;
    int count = 0;
    const float* color = nullptr;        ///< [height, width, 3] of the height field, or null
    const float* inverseDepth = nullptr; ///< [height, width], 1/mm; 0 = nothing there
    int width = 0, height = 0;
    double slopeExtent = 0;
    double inverseNear = 0, inverseFar = 0; ///< range of the height field, 1/mm
    float background[3] = {0, 0, 0};
    bool lambert = false;
};

} // namespace vergence::light_field
