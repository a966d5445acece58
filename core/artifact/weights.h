#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/artifact/mapped_file.h"
#include "core/compute/graph/parameter.h"

namespace vergence {

/// One tensor of a model file, where it lies in the mapped memory (no alignment is promised).
struct WeightEntry {
    std::string name;
    DType dtype = DType::F32;
    Shape shape;
    std::span<const std::byte> bytes;
};

/// The tensors of a model in safetensors files, mapped into memory; nothing is copied. F64, F32,
/// F16, BF16, I64, I32, U16, U8.
class WeightFile {
public:
    /// A .safetensors file, an index (*.safetensors.index.json) of several, or a folder that holds
    /// model.safetensors or model.safetensors.index.json. Throws InputError: each damage of a file,
    /// an index that names what a file does not hold, a pickled checkpoint.
    static WeightFile open(const std::filesystem::path& path);

    const std::vector<WeightEntry>& entries() const { return m_entries; } ///< by name
    const WeightEntry* find(const std::string& name) const;               ///< null: not there
    const std::map<std::string, std::string>& metadata() const { return m_metadata; }
    const std::string& source() const { return m_source; } ///< what open() was given

private:
    void readFile(const std::filesystem::path& path);
    void readIndex(const std::filesystem::path& path);
    void sortEntries();

    std::string m_source;
    std::vector<std::shared_ptr<const MappedFile>> m_files;
    std::vector<WeightEntry> m_entries;
    std::map<std::string, std::string> m_metadata;
};

/// How the names of a file become those of a ParameterSet: prefixes are dropped, parts replaced,
/// and what remains is put under a prefix.
class NameMap {
public:
    /// Dropped where a name starts with it, as wrappers of a training script add them
    /// ("_orig_mod.", "module."); in the order of declaration, each at most once.
    NameMap& dropPrefix(std::string prefix);
    /// Each occurrence of `part` becomes `replacement`, in the order of declaration.
    NameMap& replace(std::string part, std::string replacement);
    /// Only names that start with `prefix` (after dropping) are meant; others are passed over
    /// without a word.
    NameMap& only(std::string prefix);
    /// Names that contain `part` are known and not wanted.
    NameMap& ignore(std::string part);
    /// The entry is stored [columns, rows]; by its name in the ParameterSet.
    NameMap& transposed(std::string modelName);
    /// Put in front of every name in the end.
    NameMap& under(std::string prefix);

    /// Empty where the entry is not meant.
    std::string modelName(const std::string& fileName) const;
    bool isTransposed(const std::string& modelName) const
    {
        return m_transposed.contains(modelName);
    }
    const std::string& prefix() const { return m_under; } ///< of under()

private:
    std::vector<std::string> m_dropped, m_ignored;
    std::vector<std::pair<std::string, std::string>> m_replaced;
    std::set<std::string> m_transposed;
    std::string m_only, m_under;
};

/// What became of every name.
struct WeightReport {
    std::vector<std::string> loaded;     ///< names in the file
    std::vector<std::string> missing;    ///< names of the model that no entry stands for
    std::vector<std::string> unexpected; ///< names in the file that stand for nothing
    std::vector<std::string> mismatched; ///< sentences with both shapes or types
};

/// Copies a file's tensors into the parameters they stand for (or windows of them), converting to
/// the set's type on the way, and refreshes the shadows. Shapes agree where they are equal but for
/// extents of 1, or where a matrix takes a tensor of equal first extent and size (a kernel of
/// patches). Parameters that do not start with names.prefix() are left alone. Throws InputError
/// before anything is written where something is missing or mismatched, unless its name starts with
/// one of `initialised`; and where two entries stand for one parameter. `isStopped` is asked
/// between tensors and ends it early; the parameters are then of no use.
WeightReport loadWeights(Stream& stream, ParameterSet& parameters, const WeightFile& file,
                         const NameMap& names = {},
                         const std::vector<std::string>& initialised = {},
                         const std::function<bool()>& isStopped = {});

/// Writes all parameters that start with `prefix`, without it, in `type` (F64, F32, F16, BF16);
/// fused ones as their windows.
void saveWeights(Stream& stream, const ParameterSet& parameters, const std::filesystem::path& path,
                 DType type, const std::string& prefix = {},
                 const std::map<std::string, std::string>& metadata = {});

} // namespace vergence
