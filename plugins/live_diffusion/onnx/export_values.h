#pragma once

#include <map>
#include <string>
#include <vector>

#include "plugins/live_diffusion/onnx/graph_builder.h"
#include "plugins/live_diffusion/onnx/program_export.h"

namespace vergence::live {

/// The values and weights of a program while it becomes an ONNX graph. A value may lie there in
/// several forms; one that is missing is made where somebody needs it, once.
class ExportValues {
protected:
    enum class Form {
        Image,  ///< [B, C, H, W]
        Tokens, ///< [B, H·W, C]; [H·W, C] where it is one for all rows
        Row     ///< [B, C], one pixel
    };

    ExportValues(const Program& program, const WeightSource& weights, const OnnxOptions& options);

    const Program& program() const { return m_program; }
    const OnnxOptions& options() const { return m_options; }
    OnnxModel& model() { return m_model; }
    OnnxGraphBuilder& build() { return m_build; }

    const ProgramValue& value(int id) const { return m_program.value(id); }
    OnnxDims dimsOf(int id, Form form) const;
    bool has(int id, Form form) { return known(id).names.contains(form); }
    void set(int id, Form form, std::string name, OnnxType type);
    /// The name of a value in a form.
    std::string as(int id, Form form);
    /// The form in which an element-wise operation reads a value.
    Form formOf(int id);
    /// A vector in the model's type, as an image of one pixel.
    std::string narrowed(int id);
    std::string cast(const std::string& name, const std::string& of, OnnxType to);

    void declareInput(int id);
    void declareOutput(int id); ///< after everything else: its node takes the output's name

    // Weights by their number in the program; they keep their names.
    std::string weight(int id, const OnnxDims& dims, OnnxType type);
    std::string vector(int id, OnnxType type); ///< [n]
    std::string kernel(int id, OnnxType type); ///< [Cout, k, k, Cin] → [Cout, Cin, k, k]
    std::string turned(int id, OnnxType type); ///< [Cout, Cin] → [Cin, Cout]

private:
    struct Known {
        std::map<Form, std::string> names;
        OnnxType type = OnnxType::Float;
        std::string narrow; ///< see narrowed()
    };
    Known& known(int id) { return m_known[static_cast<std::size_t>(id)]; }

    const Program& m_program;
    const WeightSource& m_weights;
    const OnnxOptions& m_options;
    OnnxModel m_model;
    OnnxGraphBuilder m_build;
    std::vector<Known> m_known; ///< by value
};

} // namespace vergence::live
