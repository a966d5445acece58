#include "tests/plugins/live_diffusion/onnx_checker.h"

#ifdef VERGENCE_HAS_ONNX
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include <onnx/checker.h>
#include <onnx/shape_inference/implementation.h>
#pragma GCC diagnostic pop

#include <fstream>
#endif

namespace vergence::live::testing {

std::optional<std::string> onnxComplaint(const std::filesystem::path& path)
{
#ifdef VERGENCE_HAS_ONNX
    try {
        onnx::checker::check_model(path.string());
        onnx::ModelProto model;
        std::ifstream file(path, std::ios::binary);
        if (!model.ParseFromIstream(&file))
            return "the message cannot be parsed";
        const onnx::GraphProto written = model.graph();
        model.mutable_graph()->clear_output(); // must follow from the nodes
        for (const onnx::ValueInfoProto& output : written.output())
            model.mutable_graph()->add_output()->set_name(output.name());
        onnx::shape_inference::InferShapes(model, onnx::OpSchemaRegistry::Instance(),
                                           onnx::ShapeInferenceOptions(true, 1, true));
        for (int i = 0; i < written.output_size(); ++i)
            if (model.graph().output(i).type().SerializeAsString() !=
                written.output(i).type().SerializeAsString())
                return "another type or shape is inferred for " + written.output(i).name();
        for (const onnx::ValueInfoProto& value : model.graph().value_info())
            for (const auto& dim : value.type().tensor_type().shape().dim())
                if (!dim.has_dim_value())
                    return "no shape is inferred for " + value.name();
        return "";
    } catch (const std::exception& error) {
        return error.what();
    }
#else
    (void)path;
    return std::nullopt;
#endif
}

} // namespace vergence::live::testing
