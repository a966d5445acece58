#include "plugins/live_diffusion/onnx/export_values.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/error.h"

namespace vergence::live {

namespace {

/// Names that the files use where the program has others.
std::string fileName(const std::string& name)
{
    static const std::map<std::string, std::string> kNames{
        {"memory", "mem"}, {"memory_bias", "mem_bias"}, {"prediction", "pred"}};
    const auto found = kNames.find(name);
    return found == kNames.end() ? name : found->second;
}

} // namespace

ExportValues::ExportValues(const Program& program, const WeightSource& weights,
                           const OnnxOptions& options)
    : m_program(program),
      m_weights(weights),
      m_options(options),
      m_build(m_model),
      m_known(program.values.size())
{
}

OnnxDims ExportValues::dimsOf(int id, Form form) const
{
    const ProgramValue& v = value(id);
    const std::int64_t b = m_options.batch;
    switch (form) {
    case Form::Image:
        return {b, v.channels, v.height, v.width};
    case Form::Row:
        return {b, v.channels};
    case Form::Tokens:
        break;
    }
    return v.mayBeShared ? OnnxDims{v.pixels(), v.channels} : OnnxDims{b, v.pixels(), v.channels};
}

void ExportValues::set(int id, Form form, std::string name, OnnxType type)
{
    known(id).names[form] = std::move(name);
    known(id).type = type;
}

std::string ExportValues::as(int id, Form form)
{
    Known& here = known(id);
    if (const auto found = here.names.find(form); found != here.names.end())
        return found->second;
    const ProgramValue& v = value(id);
    expects(!v.mayBeShared, "ONNX: " + v.name + " has one form only");
    const char* const suffix = form == Form::Image    ? "image"
                               : form == Form::Tokens ? "tokens"
                                                      : "row";
    const std::string name = fmt::format("{}/{}", v.name, suffix);
    std::string made;
    if (form == Form::Tokens && has(id, Form::Image)) {
        made = m_build.reshape(name + ".flat", here.names[Form::Image],
                               {m_options.batch, v.channels, v.pixels()});
        made = m_build.transpose(name, made, {0, 2, 1});
    } else if (form == Form::Image && has(id, Form::Tokens)) {
        made = m_build.transpose(name + ".turned", here.names[Form::Tokens], {0, 2, 1});
        made = m_build.reshape(name, made, dimsOf(id, form));
    } else {
        expects(v.pixels() == 1, "ONNX: " + v.name + " is no vector");
        made = m_build.reshape(name, here.names.begin()->second, dimsOf(id, form));
    }
    return here.names[form] = made;
}

ExportValues::Form ExportValues::formOf(int id)
{
    return has(id, Form::Image) ? Form::Image : has(id, Form::Tokens) ? Form::Tokens : Form::Row;
}

std::string ExportValues::narrowed(int id)
{
    Known& here = known(id);
    const std::string image = as(id, Form::Image);
    if (here.type == m_options.type)
        return image;
    if (here.narrow.empty())
        here.narrow = cast(value(id).name + "/narrow", image, m_options.type);
    return here.narrow;
}

std::string ExportValues::cast(const std::string& name, const std::string& of, OnnxType to)
{
    return m_build.node("Cast", name, {of}, {{"to", static_cast<std::int64_t>(to)}});
}

void ExportValues::declareInput(int id)
{
    const ProgramValue& v = value(id);
    const std::string name = fileName(v.name);
    OnnxValue declared{name, m_options.type, {}};
    if (v.mayBeShared) { // the memory
        declared.dims = v.channels == 1 ? OnnxDims{v.pixels()} : dimsOf(id, Form::Tokens);
        set(id, Form::Tokens, name, declared.type);
    } else if (v.size() == 1) { // timestep, history bucket
        declared.type = OnnxType::Float;
        declared.dims = {m_options.batch};
        set(id, Form::Row, m_build.reshape(name + "/row", name, {m_options.batch, 1}),
            declared.type);
    } else {
        declared.dims = dimsOf(id, Form::Image);
        set(id, Form::Image, name, declared.type);
    }
    m_model.inputs.push_back(declared);
}

void ExportValues::declareOutput(int id)
{
    const Form form = has(id, Form::Tokens) ? Form::Tokens : Form::Image;
    const std::string inner = as(id, form), outer = fileName(value(id).name);
    for (OnnxNode& node : m_model.nodes) {
        std::ranges::replace(node.inputs, inner, outer);
        std::ranges::replace(node.outputs, inner, outer);
    }
    m_model.outputs.push_back({outer, known(id).type, dimsOf(id, form)});
}

std::string ExportValues::weight(int id, const OnnxDims& dims, OnnxType type)
{
    const ProgramWeight& weight = m_program.weight(id);
    return m_build.weight(weight.name, dims, type,
                          [source = m_weights, weight] { return source(weight); });
}

std::string ExportValues::vector(int id, OnnxType type)
{
    return weight(id, {m_program.weight(id).size()}, type);
}

std::string ExportValues::kernel(int id, OnnxType type)
{
    const ProgramWeight& weight = m_program.weight(id);
    const auto out = static_cast<std::size_t>(weight.shape[0]),
               taps = static_cast<std::size_t>(weight.shape[1] * weight.shape[2]),
               in = static_cast<std::size_t>(weight.shape[3]);
    const OnnxDims dims{weight.shape[0], weight.shape[3], weight.shape[1], weight.shape[2]};
    return m_build.weight(weight.name, dims, type, [source = m_weights, weight, out, taps, in] {
        const std::vector<float> from = source(weight);
        std::vector<float> to(from.size());
        for (std::size_t o = 0; o < out; ++o)
            for (std::size_t t = 0; t < taps; ++t)
                for (std::size_t i = 0; i < in; ++i)
                    to[(o * in + i) * taps + t] = from[(o * taps + t) * in + i];
        return to;
    });
}

std::string ExportValues::turned(int id, OnnxType type)
{
    const ProgramWeight& weight = m_program.weight(id);
    const auto out = static_cast<std::size_t>(weight.shape[0]),
               in = static_cast<std::size_t>(weight.shape[1]);
    const OnnxDims dims{weight.shape[1], weight.shape[0]};
    return m_build.weight(weight.name, dims, type, [source = m_weights, weight, out, in] {
        const std::vector<float> from = source(weight);
        std::vector<float> to(from.size());
        for (std::size_t o = 0; o < out; ++o)
            for (std::size_t i = 0; i < in; ++i)
                to[i * out + o] = from[o * in + i];
        return to;
    });
}

} // namespace vergence::live
