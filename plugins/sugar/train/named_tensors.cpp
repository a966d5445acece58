#include "plugins/sugar/train/named_tensors.h"

#include <fmt/format.h>

#include "core/base/error.h"

namespace vergence::sugar {

namespace {

const char* const kGroups[] = {"position", "log_scale", "rotation", "opacity", "sh_dc", "sh_rest"};

} // namespace

void addNamed(std::vector<NamedTensor>& all, const std::string& name, const Tensor& tensor,
              Index count)
{
    all.push_back({name, tensor.narrow(0, 0, count)});
}

void addNamed(std::vector<NamedTensor>& all, const std::string& prefix,
              const GaussianArrays& arrays, Index count)
{
    const std::vector<Tensor> groups = arrays.groups();
    for (std::size_t i = 0; i < groups.size(); ++i)
        addNamed(all, prefix + kGroups[i], groups[i], count);
}

void readNamed(Stream& stream, const Tensor& tensor, Index count, const std::string& name,
               const NamedReader& read)
{
    const HostTensor kept = read(name);
    if (kept.dtype != tensor.dtype())
        throw InputError(fmt::format("The checkpoint holds {} as {}, and {} is needed: resume with "
                                     "the adam_moments that the "
                                     "run was started with.",
                                     name, nameOf(kept.dtype), nameOf(tensor.dtype())));
    const Index width = tensor.size() / tensor.extent(0);
    if (kept.bytes.size() != static_cast<std::size_t>(count * width) * sizeOf(tensor.dtype()))
        throw InputError("The checkpoint is damaged: " + name + " has another size than " +
                         std::to_string(count) + " Gaussians need.");
    stream.copy(tensor.data(), kept.bytes.data(), kept.bytes.size());
}

void readNamed(Stream& stream, const GaussianArrays& arrays, Index count, const std::string& prefix,
               const NamedReader& read)
{
    const std::vector<Tensor> groups = arrays.groups();
    for (std::size_t i = 0; i < groups.size(); ++i)
        readNamed(stream, groups[i], count, prefix + kGroups[i], read);
}

} // namespace vergence::sugar
