#pragma once

#include <string>

#include <EGL/egl.h>

namespace vergence::test {

/// An OpenGL 3.3 core context without a display, current on this thread until the end. Of all
/// devices that EGL offers it takes the first one that draws with NVIDIA's driver, and any other
/// where there is none.
class EglContext {
public:
    EglContext();
    ~EglContext();
    EglContext(const EglContext&) = delete;
    EglContext& operator=(const EglContext&) = delete;

    bool isGood() const { return m_context != EGL_NO_CONTEXT; }
    /// Why there is none.
    const std::string& reason() const { return m_reason; }

private:
    bool open(EGLDisplay display);
    void close();

    EGLDisplay m_display = EGL_NO_DISPLAY;
    EGLContext m_context = EGL_NO_CONTEXT;
    std::string m_reason = "EGL offers no device";
};

} // namespace vergence::test
