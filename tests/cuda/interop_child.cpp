// The viewer's side of tst_interop: another process, as the window is. It draws nothing but reads
// back what the interop module brought into its textures.
//
//   interop_child probe MODULE [UUID]          the module's probe; UUID or reason on stdout
//   interop_child import MODULE UUID           reads "RING SEQUENCE" lines from stdin, imports each
//                                              frame, and prints "equal", or what was wrong
//
// The pixels of frame k are patternByte(k, i), tests/cuda/interop_pattern.h.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <thread>

#include <GL/gl.h>
#include <GL/glext.h>
#include <dlfcn.h>

#include "core/base/error.h"
#include "core/view/frame_channel.h"
#include "core/view/frame_uploader.h"
#include "core/view/texture_format.h"
#include "tests/cuda/egl_context.h"
#include "tests/cuda/interop_pattern.h"

using namespace vergence;

namespace {

template <class Function>
Function entryOf(const char* module, const char* name)
{
    void* library = dlopen(module, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        throw InputError(dlerror());
    return reinterpret_cast<Function>(dlsym(library, name));
}

int probe(const char* module, const char* uuid)
{
    const auto run = entryOf<bool (*)(const char*, char*, int)>(module, "vergenceInteropProbe");
    char answer[512] = "";
    const bool works = run(uuid, answer, sizeof(answer));
    std::cout << answer << std::endl;
    return works ? 0 : 1;
}

/// Textures as the window keeps them: another one for another form.
class Textures {
public:
    explicit Textures(FrameUploader& uploader) : m_uploader(uploader) {}
    ~Textures() { drop(); }
    Textures(const Textures&) = delete;
    Textures& operator=(const Textures&) = delete;

    std::vector<std::byte> bring(const Frame& frame)
    {
        const FrameInfo& info = frame.info;
        const Form form{info.width, info.height, info.layers, static_cast<unsigned>(info.format)};
        if (form != m_form) {
            drop();
            glGenTextures(1, &m_texture);
            m_form = form;
        }
        while (!m_uploader.isReady(frame)) // the window would paint meanwhile
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        m_uploader.upload(frame, m_texture);
        const GLenum target = info.layers > 1 ? GL_TEXTURE_2D_ARRAY : GL_TEXTURE_2D;
        const TextureFormat format = textureFormat(info.format);
        std::vector<std::byte> pixels(info.pixelBytes());
        glBindTexture(target, m_texture);
        glPixelStorei(GL_PACK_ALIGNMENT, 1);
        glGetTexImage(target, 0, format.layout, format.type, pixels.data());
        return pixels;
    }

private:
    using Form = std::array<unsigned, 4>;
    void drop()
    {
        if (m_texture == 0)
            return;
        m_uploader.forget(m_texture);
        glDeleteTextures(1, &m_texture);
    }

    FrameUploader& m_uploader;
    GLuint m_texture = 0;
    Form m_form{};
};

std::string check(const Frame& frame, const std::vector<std::byte>& pixels)
{
    for (std::size_t i = 0; i < pixels.size(); ++i) {
        if (pixels[i] != test::patternByte(frame.info.sequence, i))
            return "frame " + std::to_string(frame.info.sequence) + " differs at byte " +
                   std::to_string(i) + " of " + std::to_string(pixels.size());
    }
    return "equal";
}

int import(const char* module, const char* uuid)
{
    const auto make = entryOf<FrameUploader* (*)(const char*)>(module, "vergenceFrameUploader");
    const std::unique_ptr<FrameUploader> uploader(make(uuid));
    std::string ring;
    std::uint64_t sequence = 0;
    {
        Textures textures(*uploader);
        while (std::cin >> ring >> sequence) {
            const auto frame = FrameRingReader(ring).readNewest(sequence - 1);
            if (!frame || !frame->shared)
                std::cout << "no shared frame " << sequence << std::endl;
            else
                std::cout << check(*frame, textures.bring(*frame)) << std::endl;
        }
    }
    uploader->release();
    return 0;
}

} // namespace

int main(int count, char** arguments)
{
    const std::string verb = count > 1 ? arguments[1] : "";
    const test::EglContext context;
    if (!context.isGood()) {
        std::cout << context.reason() << std::endl;
        return 3;
    }
    try {
        if (verb == "probe" && count >= 3)
            return probe(arguments[2], count > 3 ? arguments[3] : "");
        if (verb == "import" && count == 4)
            return import(arguments[2], arguments[3]);
    } catch (const Error& error) {
        std::cout << error.what() << std::endl;
        return 1;
    }
    return 2;
}
