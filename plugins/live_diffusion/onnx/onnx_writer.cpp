#include "plugins/live_diffusion/onnx/onnx_writer.h"

#include <optional>

#include "core/artifact/output_file.h"
#include "plugins/live_diffusion/onnx/proto_writer.h"

namespace vergence::live {

namespace {

// Fields by message, as onnx.proto numbers them.
namespace model_field {
constexpr int kIrVersion = 1, kProducer = 2, kProducerVersion = 3, kDescription = 6, kGraph = 7,
              kOpsets = 8, kMetadata = 14;
}
namespace graph_field {
constexpr int kNode = 1, kName = 2, kInitialiser = 5, kInput = 11, kOutput = 12;
}
namespace node_field {
constexpr int kInput = 1, kOutput = 2, kName = 3, kOp = 4, kAttribute = 5;
}
namespace attribute_field {
constexpr int kName = 1, kNumber = 2, kInteger = 3, kText = 4, kIntegers = 8, kType = 20;
constexpr int kIsNumber = 1, kIsInteger = 2, kIsText = 3, kIsIntegers = 7; ///< values of kType
} // namespace attribute_field
namespace tensor_field {
constexpr int kDim = 1, kType = 2, kName = 8, kRaw = 9, kExternal = 13, kLocation = 14;
constexpr int kIsExternal = 1; ///< value of kLocation
} // namespace tensor_field

ProtoWriter entry(const std::string& key, const std::string& value)
{
    ProtoWriter message;
    message.bytes(1, key);
    message.bytes(2, value);
    return message;
}

ProtoWriter valueMessage(const OnnxValue& value)
{
    ProtoWriter shape;
    for (const std::int64_t dim : value.dims) {
        ProtoWriter extent;
        extent.integer(1, dim);
        shape.message(1, extent);
    }
    ProtoWriter tensor;
    tensor.integer(1, static_cast<std::int64_t>(value.type));
    tensor.message(2, shape);
    ProtoWriter type;
    type.message(1, tensor);
    ProtoWriter message;
    message.bytes(1, value.name);
    message.message(2, type);
    return message;
}

ProtoWriter attributeMessage(const OnnxAttribute& attribute)
{
    namespace field = attribute_field;
    ProtoWriter message;
    message.bytes(field::kName, attribute.name);
    int type = field::kIsIntegers;
    if (const auto* integer = std::get_if<std::int64_t>(&attribute.value)) {
        message.integer(field::kInteger, *integer);
        type = field::kIsInteger;
    } else if (const auto* number = std::get_if<float>(&attribute.value)) {
        message.number(field::kNumber, *number);
        type = field::kIsNumber;
    } else if (const auto* text = std::get_if<std::string>(&attribute.value)) {
        message.bytes(field::kText, *text);
        type = field::kIsText;
    } else {
        for (const std::int64_t value : std::get<OnnxDims>(attribute.value))
            message.integer(field::kIntegers, value);
    }
    message.integer(field::kType, type);
    return message;
}

ProtoWriter nodeMessage(const OnnxNode& node)
{
    ProtoWriter message;
    for (const std::string& input : node.inputs)
        message.bytes(node_field::kInput, input);
    for (const std::string& output : node.outputs)
        message.bytes(node_field::kOutput, output);
    message.bytes(node_field::kName, node.name);
    message.bytes(node_field::kOp, node.op);
    for (const OnnxAttribute& attribute : node.attributes)
        message.message(node_field::kAttribute, attributeMessage(attribute));
    return message;
}

/// Where a tensor's bytes lie in the second file.
struct Place {
    std::string file;
    std::uint64_t offset = 0;
};

/// Everything of a tensor but the bytes that lie in this file.
ProtoWriter tensorHead(const OnnxTensor& tensor, const std::optional<Place>& place)
{
    ProtoWriter message;
    for (const std::int64_t dim : tensor.dims)
        message.integer(tensor_field::kDim, dim);
    message.integer(tensor_field::kType, static_cast<std::int64_t>(tensor.type));
    message.bytes(tensor_field::kName, tensor.name);
    if (place) {
        message.message(tensor_field::kExternal, entry("location", place->file));
        message.message(tensor_field::kExternal, entry("offset", std::to_string(place->offset)));
        message.message(tensor_field::kExternal, entry("length", std::to_string(tensor.bytes())));
        message.integer(tensor_field::kLocation, tensor_field::kIsExternal);
    } else {
        message.announce(tensor_field::kRaw, tensor.bytes());
    }
    return message;
}

void writeBytes(OutputFile& file, const OnnxTensor& tensor)
{
    std::vector<std::byte> bytes(tensor.bytes());
    tensor.load(bytes);
    file.write({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

std::uint64_t alignedUp(std::uint64_t offset)
{
    return (offset + kExternalAlignment - 1) / kExternalAlignment * kExternalAlignment;
}

std::vector<std::optional<Place>> placesOf(const OnnxModel& model, const std::string& file,
                                           const OnnxWriting& writing)
{
    std::uint64_t sum = 0, offset = 0;
    for (const OnnxTensor& tensor : model.initialisers)
        sum += tensor.bytes();
    std::vector<std::optional<Place>> places(model.initialisers.size());
    if (sum <= writing.externalAbove)
        return places;
    for (std::size_t i = 0; i < places.size(); ++i) {
        const std::uint64_t bytes = model.initialisers[i].bytes();
        if (bytes < writing.inlineBelow)
            continue;
        places[i] = Place{file, alignedUp(offset)};
        offset = places[i]->offset + bytes;
    }
    return places;
}

void writeExternal(const OnnxModel& model, const std::vector<std::optional<Place>>& places,
                   const std::filesystem::path& path)
{
    OutputFile file(path);
    std::uint64_t end = 0;
    for (std::size_t i = 0; i < places.size(); ++i) {
        if (!places[i])
            continue;
        file.write(std::string(places[i]->offset - end, '\0'));
        writeBytes(file, model.initialisers[i]);
        end = places[i]->offset + model.initialisers[i].bytes();
    }
    file.commit();
}

ProtoWriter modelHead(const OnnxModel& model)
{
    ProtoWriter head;
    head.integer(model_field::kIrVersion, model.irVersion);
    head.bytes(model_field::kProducer, model.producer);
    head.bytes(model_field::kProducerVersion, model.producerVersion);
    head.bytes(model_field::kDescription, model.description);
    ProtoWriter opset;
    opset.bytes(1, ""); // the standard's own operations
    opset.integer(2, model.opset);
    head.message(model_field::kOpsets, opset);
    for (const auto& [key, value] : model.metadata)
        head.message(model_field::kMetadata, entry(key, value));
    return head;
}

} // namespace

std::vector<std::filesystem::path>
writeOnnx(const OnnxModel& model, const std::filesystem::path& path, const OnnxWriting& writing)
{
    std::filesystem::path dataPath = path;
    dataPath += ".data";
    const auto places = placesOf(model, dataPath.filename().string(), writing);
    std::vector<std::filesystem::path> files{path};
    for (const auto& place : places)
        if (place && files.size() == 1) {
            writeExternal(model, places, dataPath);
            files.push_back(dataPath);
        }

    // The graph's length stands before it, its weights inside: everything but them is made first.
    ProtoWriter front, back;
    front.bytes(graph_field::kName, model.name);
    for (const OnnxNode& node : model.nodes)
        front.message(graph_field::kNode, nodeMessage(node));
    for (const OnnxValue& input : model.inputs)
        back.message(graph_field::kInput, valueMessage(input));
    for (const OnnxValue& output : model.outputs)
        back.message(graph_field::kOutput, valueMessage(output));
    std::vector<std::string> heads;
    std::uint64_t length = front.content().size() + back.content().size();
    for (std::size_t i = 0; i < places.size(); ++i) {
        const ProtoWriter head = tensorHead(model.initialisers[i], places[i]);
        const std::uint64_t bytes = places[i] ? 0 : model.initialisers[i].bytes();
        ProtoWriter announced;
        announced.announce(graph_field::kInitialiser, head.content().size() + bytes);
        heads.push_back(announced.content() + head.content());
        length += heads.back().size() + bytes;
    }
    ProtoWriter top = modelHead(model);
    top.announce(model_field::kGraph, length);

    OutputFile file(path);
    file.write(top.content());
    file.write(front.content());
    for (std::size_t i = 0; i < places.size(); ++i) {
        file.write(heads[i]);
        if (!places[i])
            writeBytes(file, model.initialisers[i]);
    }
    file.write(back.content());
    file.commit();
    return files;
}

} // namespace vergence::live
