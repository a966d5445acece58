#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/artifact/safetensors.h"
#include "plugins/sugar/compute/gaussians.h"

namespace vergence::sugar {

/// What a checkpoint calls an array.
struct NamedTensor {
    std::string name;
    Tensor tensor; ///< the rows in use
};
/// Reads an array of a checkpoint back.
using NamedReader = std::function<HostTensor(const std::string& name)>;

/// The first `count` rows of all groups, called `prefix` and the name of the group.
void addNamed(std::vector<NamedTensor>& all, const std::string& prefix,
              const GaussianArrays& arrays, Index count);
/// The first `count` rows of an array.
void addNamed(std::vector<NamedTensor>& all, const std::string& name, const Tensor& tensor,
              Index count);

/// The way back; throw InputError where the checkpoint holds another number of values, or values of
/// another type.
void readNamed(Stream& stream, const GaussianArrays& arrays, Index count, const std::string& prefix,
               const NamedReader& read);
void readNamed(Stream& stream, const Tensor& tensor, Index count, const std::string& name,
               const NamedReader& read);

} // namespace vergence::sugar
