#pragma once

#include <memory>
#include <string>
#include <vector>

#include <QOpenGLContext>
#include <QOpenGLFunctions_3_3_Core>
#include <QOpenGLVersionFunctionsFactory>

#include "core/base/error.h"
#include "core/view/frame_uploader.h"
#include "core/view/texture_format.h"
#include "tests/support/fake_card.h"

namespace vergence::test {

/// What a FakeImporter was asked for, and how it is to behave. Outlives it.
struct ImporterLog {
    std::vector<unsigned> uploaded, forgotten; ///< texture names
    int closed = 0, released = 0;
    bool fails = false;  ///< the next upload throws
    bool isReady = true; ///< the run has finished writing
};

/// Stands for the uploader of the interop module: opens the memory of a FakeCard.
class FakeImporter final : public FrameUploader {
public:
    FakeImporter(const FakeCard& card, ImporterLog& log) : m_card(card), m_log(log) {}

    std::string name() const override { return "GPU interop"; }
    std::string sharedDevice() const override { return FakeCard::kUuid; }
    bool isReady(const Frame&) override { return m_log.isReady; }
    void upload(const Frame& frame, unsigned texture) override
    {
        const FrameInfo& info = frame.info;
        const auto pixels = m_card.read(frame.shared.value(), info.pixelBytes());
        if (m_log.fails || !pixels)
            throw DeviceError("the card is gone");
        auto& gl = *QOpenGLVersionFunctionsFactory::get<QOpenGLFunctions_3_3_Core>(
            QOpenGLContext::currentContext());
        const TextureFormat format = textureFormat(info.format);
        const auto width = static_cast<GLsizei>(info.width),
                   height = static_cast<GLsizei>(info.height),
                   layers = static_cast<GLsizei>(info.layers);
        const unsigned target = layers > 1 ? GL_TEXTURE_2D_ARRAY : GL_TEXTURE_2D;
        gl.glBindTexture(target, texture);
        gl.glPixelStorei(GL_UNPACK_ALIGNMENT, 1);
        if (layers > 1)
            gl.glTexImage3D(target, 0, format.internal, width, height, layers, 0, format.layout,
                            format.type, pixels->data());
        else
            gl.glTexImage2D(target, 0, format.internal, width, height, 0, format.layout,
                            format.type, pixels->data());
        gl.glPixelStorei(GL_UNPACK_ALIGNMENT, 4);
        m_log.uploaded.push_back(texture);
    }
    void forget(unsigned texture) override { m_log.forgotten.push_back(texture); }
    void closeSources() override { ++m_log.closed; }
    void release() override { ++m_log.released; }

private:
    const FakeCard& m_card;
    ImporterLog& m_log;
};

} // namespace vergence::test
