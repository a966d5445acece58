#pragma once

#include <span>
#include <vector>

#include "plugins/live_diffusion/model/tape_network.h"
#include "plugins/live_diffusion/train/sample_maker.h"

namespace vergence::live {

/// Numbers of the host on the graph's device, in the graph's arena, as `type`.
Tensor uploaded(Graph& graph, std::span<const float> numbers, const Shape& shape, DType type);

/// Type of losses and of what they compare: F32, or F64 where the parameters are.
DType lossType(const TapeNetwork& network);
Shape picturesShape(const SampleBatch& batch); ///< [rows, grid, grid, channels]
/// A number per row, spread over its pictures: [rows, grid, grid, channels].
Tensor spreadRows(Graph& graph, const SampleBatch& batch, const std::vector<double>& numbers,
                  DType type);

/// What the network is told of a batch: pictures, times, buckets and the memory, whose frames are
/// encoded on the tape so that the encoder learns.
TapeNetwork::Input networkInput(Graph& graph, const TapeNetwork& network, const SampleBatch& batch);

} // namespace vergence::live
