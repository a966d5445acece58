#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "tests/support/cuda_emulation/convolutions/calls.h"

namespace vergence::emulation::convolutions {

class Answer;

/// What a finalized descriptor says. It never changes, and keeps what it refers to: destroying a
/// descriptor takes nothing from those that were made with it.
struct Meaning {
    virtual ~Meaning() = default;

    /// Answers for an attribute that nobody sets; false where it was set, and is read as it was.
    virtual bool answer(cudnnBackendAttributeName_t, Answer&) const { return false; }
};
using MeaningPointer = std::shared_ptr<const Meaning>;

/// What an attribute of a kind of descriptor may be.
struct AttributeRule {
    enum Use { Required, Optional, ReadOnly };

    cudnnBackendAttributeName_t name;
    const char* text;
    cudnnBackendAttributeType_t type; ///< CUDNN_TYPE_FLOAT takes CUDNN_TYPE_DOUBLE as well
    Use use;
    std::int64_t most; ///< elements
    /// Of those that an attribute of CUDNN_TYPE_BACKEND_DESCRIPTOR may name: one of these.
    std::vector<cudnnBackendDescriptorType_t> kinds = {};

    bool takes(cudnnBackendAttributeType_t given) const
    {
        return given == type || (type == CUDNN_TYPE_FLOAT && given == CUDNN_TYPE_DOUBLE);
    }
};

std::size_t bytesOf(cudnnBackendAttributeType_t type);

/// The elements of an attribute, as they were given.
struct Value {
    cudnnBackendAttributeType_t type = CUDNN_TYPE_INT64;
    std::int64_t count = 0;
    std::vector<std::byte> bytes;
    std::vector<MeaningPointer> meanings; ///< of the descriptors that it names

    template <class T>
    std::vector<T> elements() const
    {
        std::vector<T> all(bytes.size() / sizeof(T));
        if (!all.empty())
            std::memcpy(all.data(), bytes.data(), all.size() * sizeof(T));
        return all;
    }
};

/// Where cudnnBackendGetAttribute() wants its answer.
class Answer {
public:
    Answer(cudnnBackendAttributeType_t type, std::int64_t requested, void* elements)
        : m_type(type),
          m_requested(requested),
          m_elements(elements)
    {
    }

    std::int64_t requested() const { return m_requested; }
    std::int64_t count() const { return m_count; }

    /// As many as were asked for; count() is how many there are.
    void give(const void* elements, std::int64_t count);
    template <class T>
    void give(const std::vector<T>& elements)
    {
        give(elements.data(), static_cast<std::int64_t>(elements.size()));
    }
    /// Finalizes the descriptors that the caller made for the answer. Without room for any,
    /// count() is how many there may be.
    void give(const std::vector<MeaningPointer>& meanings, cudnnBackendDescriptorType_t kind,
              std::int64_t possible);

private:
    cudnnBackendAttributeType_t m_type;
    std::int64_t m_requested, m_count = 0;
    void* m_elements;
};

} // namespace vergence::emulation::convolutions
