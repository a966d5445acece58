#include "app/viewport/shader_programs.h"

#include <QFile>

#include "core/base/error.h"

namespace vergence {
namespace {

QByteArray source(const QString& name)
{
    QFile file(QStringLiteral(":/shaders/") + name);
    file.open(QIODevice::ReadOnly);
    return file.readAll();
}

QByteArray constants(const ShaderKey& key)
{
    const std::pair<const char*, int> values[] = {
        {"IS_LAYERED_A", key.a.isLayered},
        {"IS_LAYERED_B", key.b.isLayered},
        {"KIND_A", key.a.kind},
        {"KIND_B", key.b.kind},
        {"IS_TONED", key.isExposed},
        {"OPERATION", key.operation},
    };
    QByteArray text("#version 330 core\n");
    for (const auto& [name, value] : values)
        text += QByteArray("#define ") + name + ' ' + QByteArray::number(value) + '\n';
    return text;
}

std::unique_ptr<QOpenGLShaderProgram> build(const ShaderKey& key)
{
    const QString name = key.isPlane ? QStringLiteral("stack") : QStringLiteral("image");
    auto program = std::make_unique<QOpenGLShaderProgram>();
    const bool isBuilt =
        program->addShaderFromSourceCode(QOpenGLShader::Vertex,
                                         source(name + QStringLiteral(".vert"))) &&
        program->addShaderFromSourceCode(QOpenGLShader::Fragment,
                                         constants(key) + source(QStringLiteral("colour.glsl")) +
                                             source(name + QStringLiteral(".frag"))) &&
        program->link();
    if (!isBuilt)
        throw DeviceError("The shader '" + name.toStdString() +
                          "' cannot be built: " + program->log().toStdString());
    // Samplers of different types may never share a unit, so each has its own for good.
    program->bind();
    program->setUniformValue("uImageA", 0);
    program->setUniformValue("uStackA", 1);
    program->setUniformValue("uImageB", 2);
    program->setUniformValue("uStackB", 3);
    program->setUniformValue("uMaps", kMapUnit);
    program->release();
    return program;
}

} // namespace

QOpenGLShaderProgram& ShaderPrograms::find(const ShaderKey& key)
{
    auto found = m_programs.find(key);
    if (found == m_programs.end())
        found = m_programs.emplace(key, build(key)).first;
    return *found->second;
}

} // namespace vergence
