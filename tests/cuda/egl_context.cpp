#include "tests/cuda/egl_context.h"

#include <array>
#include <cstring>
#include <vector>

#include <EGL/eglext.h>
#include <GL/gl.h>

namespace vergence::test {

namespace {

/// One display per device, those of NVIDIA first; the default display last.
std::vector<EGLDisplay> displays()
{
    std::vector<EGLDisplay> nvidia, others;
    const auto queryDevices =
        reinterpret_cast<PFNEGLQUERYDEVICESEXTPROC>(eglGetProcAddress("eglQueryDevicesEXT"));
    const auto queryString = reinterpret_cast<PFNEGLQUERYDEVICESTRINGEXTPROC>(
        eglGetProcAddress("eglQueryDeviceStringEXT"));
    const auto platformDisplay = reinterpret_cast<PFNEGLGETPLATFORMDISPLAYEXTPROC>(
        eglGetProcAddress("eglGetPlatformDisplayEXT"));
    std::array<EGLDeviceEXT, 16> devices{};
    EGLint count = 0;
    if (queryDevices && queryString && platformDisplay &&
        queryDevices(static_cast<EGLint>(devices.size()), devices.data(), &count)) {
        for (EGLint i = 0; i < count; ++i) {
            const char* extensions = queryString(devices[i], EGL_EXTENSIONS);
            const bool isNvidia = extensions && std::strstr(extensions, "EGL_NV_device_cuda");
            (isNvidia ? nvidia : others)
                .push_back(platformDisplay(EGL_PLATFORM_DEVICE_EXT, devices[i], nullptr));
        }
    }
    nvidia.insert(nvidia.end(), others.begin(), others.end());
    nvidia.push_back(eglGetDisplay(EGL_DEFAULT_DISPLAY));
    return nvidia;
}

} // namespace

EglContext::EglContext()
{
    for (EGLDisplay display : displays()) {
        if (display != EGL_NO_DISPLAY && open(display))
            return;
    }
}

EglContext::~EglContext()
{
    close();
}

bool EglContext::open(EGLDisplay display)
{
    if (!eglInitialize(display, nullptr, nullptr)) {
        m_reason = "EGL could not be initialised";
        return false;
    }
    m_display = display;
    constexpr std::array<EGLint, 5> wanted{EGL_RENDERABLE_TYPE, EGL_OPENGL_BIT, EGL_SURFACE_TYPE,
                                           EGL_PBUFFER_BIT, EGL_NONE};
    constexpr std::array<EGLint, 7> attributes{EGL_CONTEXT_MAJOR_VERSION,
                                               3,
                                               EGL_CONTEXT_MINOR_VERSION,
                                               3,
                                               EGL_CONTEXT_OPENGL_PROFILE_MASK,
                                               EGL_CONTEXT_OPENGL_CORE_PROFILE_BIT,
                                               EGL_NONE};
    EGLConfig config = nullptr;
    EGLint count = 0;
    eglBindAPI(EGL_OPENGL_API);
    if (eglChooseConfig(display, wanted.data(), &config, 1, &count) && count > 0)
        m_context = eglCreateContext(display, config, EGL_NO_CONTEXT, attributes.data());
    if (m_context != EGL_NO_CONTEXT &&
        eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, m_context))
        return true;
    m_reason = "EGL made no OpenGL 3.3 context without a surface";
    close();
    return false;
}

void EglContext::close()
{
    if (m_context != EGL_NO_CONTEXT) {
        eglMakeCurrent(m_display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
        eglDestroyContext(m_display, m_context);
    }
    if (m_display != EGL_NO_DISPLAY)
        eglTerminate(m_display);
    m_context = EGL_NO_CONTEXT;
    m_display = EGL_NO_DISPLAY;
}

} // namespace vergence::test
