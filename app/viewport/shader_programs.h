#pragma once

#include <compare>
#include <map>
#include <memory>

#include <QOpenGLShaderProgram>

namespace vergence {

/// What a picture shader is made for. The kinds are constants in its source, so that each program
/// holds only what it draws: one that could do everything takes a software driver some 150 ms to
/// compile, and the window stands still meanwhile.
struct ShaderKey {
    struct Picture {
        bool isLayered = false;
        int kind = 0; ///< 0 colour in sRGB, 1 linear colour, 2 one number per pixel
        auto operator<=>(const Picture&) const = default;
    };

    bool isPlane = false;   ///< of the 3-D stack
    int operation = 0;      ///< 0 picture a, 1 absolute difference to b, 2 signed difference
    bool isExposed = false; ///< an exposure applies to colours in sRGB
    Picture a, b;
    auto operator<=>(const ShaderKey&) const = default;
};

/// Texture unit of the colour maps; those of the pictures are below it.
inline constexpr int kMapUnit = 4;

/// Programs by what they are made for, built when they are first asked for. Lives as long as one
/// context.
class ShaderPrograms {
public:
    /// Throws DeviceError where it does not build.
    QOpenGLShaderProgram& find(const ShaderKey& key);
    bool isBuilt(const ShaderKey& key) const { return m_programs.contains(key); }

private:
    std::map<ShaderKey, std::unique_ptr<QOpenGLShaderProgram>> m_programs;
};

} // namespace vergence
