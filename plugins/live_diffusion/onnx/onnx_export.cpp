#include "plugins/live_diffusion/onnx/onnx_export.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/artifact/npz_archive.h"
#include "core/artifact/output_file.h"
#include "plugins/live_diffusion/onnx/onnx_reader.h"

namespace vergence::live {

namespace {

void writeText(const std::filesystem::path& path, const std::string& text)
{
    OutputFile file(path);
    file.write(text);
    file.commit();
}

/// Inputs and outputs of one run for others to repeat.
void writeCheck(const std::filesystem::path& path, const OnnxModel& model,
                const OnnxReference& reference)
{
    const OnnxArrays inputs = seededInputs(model, 0);
    NpzWriter file(path);
    for (const auto& [name, array] : inputs)
        file.add(name, array.values, array.dims);
    for (const auto& [name, array] : reference(inputs))
        file.add("ref_" + name, array.values, array.dims);
    file.commit();
}

} // namespace

bool OnnxExport::holds() const
{
    return std::ranges::all_of(verifications, &OnnxVerification::holds);
}

OnnxExport exportOnnx(Stream& stream, const TapeNetwork& network,
                      const std::filesystem::path& folder, const OnnxExportSettings& settings)
{
    const WeightSource weights = weightsOf(stream, network.parameters());
    OnnxExport result;
    const auto isStopped = [&] {
        return result.isStopped = settings.isStopped && settings.isStopped();
    };
    nlohmann::json report = nlohmann::json::array();
    struct Part {
        std::string file;
        std::function<OnnxModel()> model;
        OnnxReference reference;
    };
    const auto ofProgram = [&](const Program& program) {
        return [&] { return exportProgram(program, weights, settings.options); };
    };
    std::vector<Part> parts{
        {"unet.onnx", ofProgram(network.unet()), unetReference(stream, network)},
        {"mem_encoder.onnx", ofProgram(network.memoryEncoder()),
         memoryEncoderReference(stream, network)}};
    if (settings.frame)
        parts.push_back({fmt::format("frame_{}.onnx", settings.frame->steps()),
                         [&] {
                             return exportFrame(network.unet(), weights, *settings.frame,
                                                settings.options);
                         },
                         frameReference(stream, network, *settings.frame)});
    for (const Part& part : parts) {
        if (isStopped())
            return result;
        const OnnxModel model = part.model();
        for (auto& file : writeOnnx(model, folder / part.file, settings.writing))
            result.files.push_back(std::move(file));
        if (isStopped())
            return result;
        result.verifications.push_back(
            verifyOnnx(folder / part.file, part.reference, settings.runs));
        report.push_back(result.verifications.back().toJson());
    }
    if (settings.runs > 0) {
        result.files.push_back(folder / "onnx_check.npz");
        writeCheck(result.files.back(), readOnnx(folder / "unet.onnx"),
                   unetReference(stream, network));
    }
    result.files.push_back(folder / "onnx_check.json");
    writeText(result.files.back(), report.dump(2) + "\n");
    result.files.push_back(folder / "onnx_check.txt");
    writeText(result.files.back(), outsideRecipe(settings.options.type == OnnxType::Float16));
    return result;
}

std::string outsideRecipe(bool isNarrow)
{
    const std::string cast = isNarrow ? ".astype('f4' if i.type == 'tensor(float)' else 'f2')" : "";
    return "import numpy as np, onnxruntime as ort; d = np.load('onnx_check.npz')\n"
           "s = ort.InferenceSession('unet.onnx', providers=['CPUExecutionProvider'])\n"
           "y = s.run(['pred', 'blend'], {i.name: d[i.name]" +
           cast +
           " for i in s.get_inputs()})\n"
           "print([abs(a - d[n]).max() / abs(d[n]).max() for a, n in zip(y, ['ref_pred', "
           "'ref_blend'])])\n";
}

} // namespace vergence::live
