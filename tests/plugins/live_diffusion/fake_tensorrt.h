#pragma once

#include <cstring>
#include <fstream>
#include <iterator>
#include <map>

#include "core/compute/half.h"
#include "plugins/live_diffusion/onnx/interpreter.h"
#include "plugins/live_diffusion/onnx/onnx_reader.h"
#include "plugins/live_diffusion/tensorrt/tensorrt_module.h"
#include "tests/support/scratch.h"

namespace vergence::test {

/// The lab's own interpreter in TensorRT's place, on the CPU. A plan is the ONNX file itself.
class FakeTensorRtEngine final : public live::TensorRtEngine {
public:
    explicit FakeTensorRtEngine(const std::string& onnx)
    {
        std::ofstream(m_folder / "plan.onnx", std::ios::binary) << onnx;
        m_model = live::readOnnx(m_folder / "plan.onnx");
    }

    std::vector<live::EnginePort> ports() const override
    {
        std::vector<live::EnginePort> ports;
        for (const bool isInput : {true, false}) {
            for (const live::OnnxValue& value : isInput ? m_model.inputs : m_model.outputs)
                ports.push_back({value.name,
                                 value.type == live::OnnxType::Float16 ? DType::F16 : DType::F32,
                                 value.dims, isInput});
        }
        return ports;
    }
    void bind(const std::string& port, void* memory) override { m_places[port] = memory; }
    void enqueue(Stream&) override
    {
        std::map<std::string, live::OnnxArray> inputs;
        for (const live::OnnxValue& input : m_model.inputs)
            inputs[input.name] = {input.dims, taken(input)};
        for (const auto& [name, array] : live::runOnnx(m_model, inputs))
            put(name, array.values);
    }
    std::size_t weightBytes() const override { return 4000; }
    std::size_t activationBytes() const override { return 300; }
    int layers() const override { return static_cast<int>(m_model.nodes.size()); }

private:
    std::vector<float> taken(const live::OnnxValue& value) const
    {
        std::vector<float> numbers(static_cast<std::size_t>(elementCount(value.dims)));
        const void* place = m_places.at(value.name);
        if (value.type == live::OnnxType::Float)
            std::memcpy(numbers.data(), place, numbers.size() * sizeof(float));
        else
            for (std::size_t i = 0; i < numbers.size(); ++i)
                numbers[i] = static_cast<float>(static_cast<const Float16*>(place)[i]);
        return numbers;
    }
    void put(const std::string& name, const std::vector<float>& numbers)
    {
        for (const live::OnnxValue& output : m_model.outputs) {
            if (output.name != name)
                continue;
            void* place = m_places.at(name);
            if (output.type == live::OnnxType::Float)
                std::memcpy(place, numbers.data(), numbers.size() * sizeof(float));
            else
                for (std::size_t i = 0; i < numbers.size(); ++i)
                    static_cast<Float16*>(place)[i] = Float16(numbers[i]);
        }
    }

    Scratch m_folder;
    live::OnnxModel m_model;
    std::map<std::string, void*> m_places;
};

class FakeTensorRt final : public live::TensorRtModule {
public:
    std::string version() const override { return versionText; }
    live::EnginePlan build(Device&, const std::filesystem::path& onnx,
                           std::string_view timings) override
    {
        ++builds;
        timingsSeen = timings;
        std::ifstream file(onnx, std::ios::binary);
        return {std::string(std::istreambuf_iterator<char>(file), {}), "timings", 77};
    }
    std::unique_ptr<live::TensorRtEngine> load(Device&, std::string_view bytes,
                                               std::string& reason) override
    {
        if (refusals-- > 0) {
            reason = "made by another TensorRT";
            return nullptr;
        }
        return std::make_unique<FakeTensorRtEngine>(std::string(bytes));
    }

    std::string versionText = "10.13.3";
    int builds = 0, refusals = 0;
    std::string timingsSeen;
};

} // namespace vergence::test
