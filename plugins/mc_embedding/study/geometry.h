#pragma once

#include "plugins/mc_embedding/statistics/cloud.h"
#include "plugins/mc_embedding/study/chunk_result.h"
#include "plugins/mc_embedding/study/study_state.h"

namespace vergence::mc_embedding {

/// Eigenvalues kept per cloud; shorter spectra end in zeros.
inline constexpr std::size_t kEigenvalues = 10;

/// Shape of the cloud of one image and trial, before and after normalisation, into the chunk's
/// arrays (made on first use). cloud: [T, D].
void putGeometry(ChunkResult& chunk, int trial, std::size_t image, const Matrix& cloud);
/// Copies the first `trials` trials of another chunk of the same images.
void adoptGeometry(const ChunkResult& from, ChunkResult& to, std::size_t trials);
/// Adds a chunk's shapes to the study's; `images` in all.
void addGeometry(ModelStudy& study, const ChunkResult& chunk, std::size_t images);

} // namespace vergence::mc_embedding
