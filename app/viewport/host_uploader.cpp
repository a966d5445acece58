#include "app/viewport/host_uploader.h"

#include <cstring>

#include <QOpenGLContext>
#include <QOpenGLFunctions_3_3_Core>
#include <QOpenGLVersionFunctionsFactory>

#include "core/base/error.h"
#include "core/view/texture_format.h"

namespace vergence {
namespace {

QOpenGLFunctions_3_3_Core& functions()
{
    QOpenGLContext* context = QOpenGLContext::currentContext();
    auto* gl = context == nullptr
                   ? nullptr
                   : QOpenGLVersionFunctionsFactory::get<QOpenGLFunctions_3_3_Core>(context);
    if (gl == nullptr)
        throw DeviceError("A frame cannot be uploaded: no OpenGL 3.3 context is current.");
    return *gl;
}

static_assert(textureFormat(PixelFormat::Rgba8) ==
              TextureFormat{GL_RGBA8, GL_RGBA, GL_UNSIGNED_BYTE});
static_assert(textureFormat(PixelFormat::Rgba16F) ==
              TextureFormat{GL_RGBA16F, GL_RGBA, GL_HALF_FLOAT});
static_assert(textureFormat(PixelFormat::R32F) == TextureFormat{GL_R32F, GL_RED, GL_FLOAT});

bool isSoftwareRenderer(QOpenGLFunctions_3_3_Core& gl)
{
    const auto* renderer = reinterpret_cast<const char*>(gl.glGetString(GL_RENDERER));
    if (renderer == nullptr)
        return false;
    return std::strstr(renderer, "llvmpipe") || std::strstr(renderer, "softpipe") ||
           std::strstr(renderer, "swrast");
}

void fillBuffer(QOpenGLFunctions_3_3_Core& gl, const Frame& frame)
{
    const auto bytes = static_cast<GLsizeiptr>(frame.pixels.size());
    gl.glBufferData(GL_PIXEL_UNPACK_BUFFER, bytes, nullptr, GL_STREAM_DRAW);
    void* target = gl.glMapBufferRange(GL_PIXEL_UNPACK_BUFFER, 0, bytes,
                                       GL_MAP_WRITE_BIT | GL_MAP_INVALIDATE_BUFFER_BIT);
    if (target == nullptr)
        throw DeviceError("OpenGL has no memory for a frame of " + std::to_string(bytes) +
                          " bytes. Close other views or choose a smaller picture.");
    std::memcpy(target, frame.pixels.data(), frame.pixels.size());
    gl.glUnmapBuffer(GL_PIXEL_UNPACK_BUFFER);
}

} // namespace

struct HostUploader::Buffer {
    GLuint id = 0;
};

HostUploader::HostUploader() : m_buffer(std::make_unique<Buffer>()) {}
HostUploader::~HostUploader() = default;

std::string HostUploader::name() const
{
    return m_isSoftware ? "software GL" : "shared memory";
}

void HostUploader::upload(const Frame& frame, unsigned texture)
{
    expects(frame.pixels.size() == frame.info.pixelBytes(), "the frame's pixels fit its size");
    auto& gl = functions();
    m_isSoftware = isSoftwareRenderer(gl);
    if (m_buffer->id == 0)
        gl.glGenBuffers(1, &m_buffer->id);
    gl.glBindBuffer(GL_PIXEL_UNPACK_BUFFER, m_buffer->id);
    if (!frame.pixels.empty())
        fillBuffer(gl, frame);
    gl.glPixelStorei(GL_UNPACK_ALIGNMENT, 1);
    gl.glPixelStorei(GL_UNPACK_ROW_LENGTH, 0);
    const TextureFormat format = textureFormat(frame.info.format);
    const auto width = static_cast<GLsizei>(frame.info.width);
    const auto height = static_cast<GLsizei>(frame.info.height);
    if (frame.info.layers > 1) {
        gl.glBindTexture(GL_TEXTURE_2D_ARRAY, texture);
        gl.glTexImage3D(GL_TEXTURE_2D_ARRAY, 0, format.internal, width, height,
                        static_cast<GLsizei>(frame.info.layers), 0, format.layout, format.type,
                        nullptr);
    } else {
        gl.glBindTexture(GL_TEXTURE_2D, texture);
        gl.glTexImage2D(GL_TEXTURE_2D, 0, format.internal, width, height, 0, format.layout,
                        format.type, nullptr);
    }
    gl.glBindBuffer(GL_PIXEL_UNPACK_BUFFER, 0);
    gl.glPixelStorei(GL_UNPACK_ALIGNMENT, 4); // as QPainter expects it
    if (const GLenum error = gl.glGetError(); error != GL_NO_ERROR)
        throw DeviceError("OpenGL refused a frame of stream '" + frame.info.stream + "' (error " +
                          std::to_string(error) + ").");
}

void HostUploader::release()
{
    if (m_buffer->id == 0)
        return;
    functions().glDeleteBuffers(1, &m_buffer->id);
    m_buffer->id = 0;
}

} // namespace vergence
