#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/compute/tensor.h"

namespace vergence {

/// What a parameter starts with: mean + spread · z, z normal or uniform in [−1, 1).
struct InitialValue {
    double mean = 0;
    double spread = 0;
    bool isUniform = false;
};

/// One trainable tensor. Its tensors are windows of the flat arenas of a ParameterSet.
struct Parameter {
    std::string name; ///< "encoder.layer.0.norm1.weight"
    Shape shape;
    int group = 0;
    InitialValue initial;
    Tensor value;    ///< master, F32 (F64)
    Tensor shadow;   ///< what products read when computing in 16 bits; empty otherwise
    Tensor gradient; ///< F32 (F64), summed over micro-steps; empty while its group is frozen

    /// What an operation reads.
    const Tensor& computed() const { return shadow.isEmpty() ? value : shadow; }
};

/// Parameters that share rate, decay and freezing.
struct ParameterGroup {
    std::string name;
    double weightDecay = 0;
    bool frozen = false;
};

/// A name in a model file that stands for some rows of a parameter, e.g. query.weight for the first
/// third of a fused qkv.weight.
struct ParameterWindow {
    int parameter = 0;
    Index firstRow = 0, rows = 0; ///< of the outermost dimension
};

/// All parameters of a model in three flat arrays (values, gradients, 16-bit shadows), so that the
/// optimizer, the gradient norm and the refresh of shadows are one launch each. Parameters of one
/// group are neighbours in the arrays, frozen groups come last; each parameter starts at a multiple
/// of 64 elements, the gap is 0. Neither copied nor moved: a Graph knows it by its address.
class ParameterSet {
public:
    /// master: F32 or F64; compute: the same, or F16 or BF16 beside F32. A model that is only
    /// evaluated (all groups frozen) may have a 16-bit master of the compute type.
    ParameterSet(std::shared_ptr<Device> device, DType master = DType::F32,
                 DType compute = DType::F32);
    ParameterSet(const ParameterSet&) = delete;
    ParameterSet& operator=(const ParameterSet&) = delete;

    /// Declares groups and parameters; all before allocate(). Throws ContractError for a name
    /// twice.
    int addGroup(ParameterGroup group);
    int add(std::string name, Shape shape, int group = 0, InitialValue initial = {});
    /// Another name of rows [firstRow, firstRow + rows) of a declared parameter.
    void addWindow(std::string name, int parameter, Index firstRow, Index rows);

    /// Random values as declared, the same on every device; parameter i draws from stream i of the
    /// seed. Refreshes the shadows. `isStopped` is asked before each parameter; the rest keeps what
    /// it has then.
    void initialise(Stream& stream, std::uint64_t seed,
                    const std::function<bool()>& isStopped = {});

    /// Lays out the arrays; values are 0. Gradients exist only for groups that are not frozen.
    void allocate(Stream& stream);

    int count() const { return static_cast<int>(m_parameters.size()); }
    const Parameter& operator[](int i) const
    {
        return m_parameters.at(static_cast<std::size_t>(i));
    }
    /// −1 where there is none.
    int find(const std::string& name) const;
    const std::map<std::string, ParameterWindow>& windows() const { return m_windows; }
    /// Value of a parameter, or of the window of one, by the name a model file uses; empty where
    /// there is none.
    Tensor named(const std::string& name) const;

    const std::vector<ParameterGroup>& groups() const { return m_groups; }
    /// Elements [first, last) of the flat arrays that belong to a group.
    std::pair<Index, Index> range(int group) const;

    const Tensor& values() const { return m_values; } ///< [n] master type
    /// [trained] master type, those of groups that are not frozen; empty if all are.
    const Tensor& gradients() const { return m_gradients; }
    const Tensor& shadows() const { return m_shadows; } ///< [n] compute type or empty
    Index trained() const { return m_trained; }         ///< elements of groups that are not frozen
    /// The part of an array laid out like values() (or gradients()) that belongs to a parameter.
    Tensor part(const Tensor& flat, int parameter) const;
    /// Name and parameter rows of everything a model file holds: windows where a parameter has any,
    /// else the parameter itself; in the order of declaration.
    std::vector<std::pair<std::string, ParameterWindow>> fileEntries() const;
    const std::shared_ptr<Device>& device() const { return m_device; }
    DType computeType() const { return m_compute; }

    DType masterType() const { return m_master; }

    void zeroGradients(Stream& stream);
    /// Shadows from values; after values were loaded or set.
    void refreshShadows(Stream& stream);

private:
    Index layOut();

    std::shared_ptr<Device> m_device;
    DType m_master, m_compute;
    std::vector<ParameterGroup> m_groups;
    std::vector<Parameter> m_parameters;
    std::map<std::string, int> m_byName;
    std::map<std::string, ParameterWindow> m_windows;
    std::vector<std::pair<Index, Index>> m_ranges; ///< per group
    std::vector<Index> m_offsets;                  ///< per parameter
    Index m_trained = 0;
    Tensor m_values, m_gradients, m_shadows;
};

} // namespace vergence
