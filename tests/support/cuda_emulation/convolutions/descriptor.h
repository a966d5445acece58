#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/cuda_emulation/convolutions/attributes.h"

namespace vergence::emulation::convolutions {

class Descriptor;

/// A kind of descriptor: its attributes, and what becomes of them.
struct Kind {
    cudnnBackendDescriptorType_t type;
    const char* name;
    std::vector<AttributeRule> attributes;
    /// Throws a Refusal where the values do not fit together. Null: only the library finalizes it.
    MeaningPointer (*interpret)(const Descriptor& descriptor) = nullptr;
};

/// Null where the emulation has no such kind.
const Kind* kindOf(cudnnBackendDescriptorType_t type);

/// A backend descriptor: values until it is finalized, then their meaning.
class Descriptor {
public:
    explicit Descriptor(const Kind& kind) : m_kind(kind) {}

    const Kind& kind() const { return m_kind; }
    const MeaningPointer& meaning() const { return m_meaning; } ///< null until finalized

    void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count,
             const void* elements);
    void get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
             Answer& answer) const;
    void finalize();
    /// Finalized by the library, as answer to a question.
    void become(MeaningPointer meaning);

    // What was set, for Kind::interpret.

    bool has(cudnnBackendAttributeName_t name) const { return m_values.contains(name); }
    template <class T>
    std::vector<T> all(cudnnBackendAttributeName_t name) const
    {
        return m_values.at(name).template elements<T>();
    }
    template <class T>
    T one(cudnnBackendAttributeName_t name) const
    {
        T element;
        std::memcpy(&element, m_values.at(name).bytes.data(), sizeof element);
        return element;
    }
    template <class T>
    T one(cudnnBackendAttributeName_t name, T otherwise) const
    {
        return has(name) ? one<T>(name) : otherwise;
    }
    /// A number given as CUDNN_TYPE_FLOAT or CUDNN_TYPE_DOUBLE.
    double number(cudnnBackendAttributeName_t name, double otherwise) const;
    template <class T>
    std::shared_ptr<const T> meant(cudnnBackendAttributeName_t name) const
    {
        return has(name) ? std::dynamic_pointer_cast<const T>(m_values.at(name).meanings.front())
                         : nullptr;
    }
    const std::vector<MeaningPointer>& allMeant(cudnnBackendAttributeName_t name) const
    {
        return m_values.at(name).meanings;
    }

private:
    const AttributeRule& ruleOf(cudnnBackendAttributeName_t name) const;
    std::string nameOf(const AttributeRule& rule) const;

    const Kind& m_kind;
    std::map<cudnnBackendAttributeName_t, Value> m_values;
    MeaningPointer m_meaning;
};

// Those that live.

void* addDescriptor(std::shared_ptr<Descriptor> descriptor);
void removeDescriptor(const void* handle);
/// Throws where it is null or none that lives.
std::shared_ptr<Descriptor> findDescriptor(const void* handle);

} // namespace vergence::emulation::convolutions
