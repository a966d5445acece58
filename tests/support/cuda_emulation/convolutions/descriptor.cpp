#include "tests/support/cuda_emulation/convolutions/descriptor.h"

#include <algorithm>
#include <utility>

#include "tests/support/cuda_emulation/convolutions/handle.h"
#include "tests/support/cuda_emulation/engine/handles.h"

namespace vergence::emulation::convolutions {

namespace {

Handles<Descriptor>& descriptors()
{
    static auto* live = new Handles<Descriptor>(0xd0, "a descriptor"); // the caller destroys some as the process ends
    return *live;
}

/// What the descriptors that an attribute names say.
std::vector<MeaningPointer> meaningsOf(const AttributeRule& rule, const std::string& name,
                                       const std::vector<void*>& handles)
{
    std::vector<MeaningPointer> meanings;
    for (const void* handle : handles) {
        const auto descriptor = findDescriptor(handle);
        const bool fits =
            std::ranges::find(rule.kinds, descriptor->kind().type) != rule.kinds.end();
        demand(fits, CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE,
               name + " cannot be " + descriptor->kind().name);
        demand(descriptor->meaning() != nullptr, CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED,
               name + " names a descriptor that is not finalized");
        meanings.push_back(descriptor->meaning());
    }
    return meanings;
}

} // namespace

std::size_t bytesOf(cudnnBackendAttributeType_t type)
{
    switch (type) {
    case CUDNN_TYPE_BOOLEAN:
        return sizeof(bool);
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_DOUBLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR:
        return 8;
    default:
        return 4; // float, int32 and enumerations
    }
}

void Answer::give(const void* elements, std::int64_t count)
{
    const std::int64_t copied = std::min(count, m_requested);
    if (copied > 0)
        std::memcpy(m_elements, elements, static_cast<std::size_t>(copied) * bytesOf(m_type));
    m_count = count;
}

void Answer::give(const std::vector<MeaningPointer>& meanings, cudnnBackendDescriptorType_t kind,
                  std::int64_t possible)
{
    m_count = m_requested == 0 ? possible : 0;
    for (const MeaningPointer& meaning : meanings) {
        if (m_count >= m_requested)
            return;
        const auto descriptor = findDescriptor(static_cast<void**>(m_elements)[m_count]);
        demand(descriptor->kind().type == kind, CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE,
               "an answer cannot go into " + std::string(descriptor->kind().name));
        descriptor->become(meaning);
        ++m_count;
    }
}

const AttributeRule& Descriptor::ruleOf(cudnnBackendAttributeName_t name) const
{
    const auto rule = std::ranges::find(m_kind.attributes, name, &AttributeRule::name);
    demand(rule != m_kind.attributes.end(),
           std::string(m_kind.name) + " has no attribute " + std::to_string(name));
    return *rule;
}

std::string Descriptor::nameOf(const AttributeRule& rule) const
{
    return std::string(rule.text) + " of " + m_kind.name;
}

void Descriptor::set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                     std::int64_t count, const void* elements)
{
    const AttributeRule& rule = ruleOf(name);
    const std::string text = nameOf(rule);
    demand(!m_meaning, text + " is set after it was finalized");
    demand(rule.use != AttributeRule::ReadOnly, text + " cannot be set");
    demand(rule.takes(type), CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE,
           text + " is not of type " + std::to_string(type));
    demand(count >= 1 && count <= rule.most,
           text + " has not " + std::to_string(count) + " elements");
    demand(elements != nullptr, CUDNN_STATUS_BAD_PARAM_NULL_POINTER, text + " comes from nowhere");
    Value value;
    value.type = type;
    value.count = count;
    value.bytes.resize(static_cast<std::size_t>(count) * bytesOf(type));
    std::memcpy(value.bytes.data(), elements, value.bytes.size());
    if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR)
        value.meanings = meaningsOf(rule, text, value.elements<void*>());
    if (type == CUDNN_TYPE_HANDLE)
        findHandle(value.elements<cudnnHandle_t>().front(), "cudnnBackendSetAttribute");
    m_values[name] = std::move(value);
}

void Descriptor::get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                     Answer& answer) const
{
    const AttributeRule& rule = ruleOf(name);
    const std::string text = nameOf(rule);
    demand(m_meaning != nullptr, CUDNN_STATUS_NOT_INITIALIZED,
           text + " is read before it is finalized");
    const auto value = m_values.find(name);
    demand(value == m_values.end() ? rule.takes(type) : value->second.type == type,
           CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, text + " is not of type " + std::to_string(type));
    if (m_meaning->answer(name, answer))
        return;
    if (value == m_values.end())
        answer.give(nullptr, 0);
    else if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR)
        answer.give(value->second.meanings, rule.kinds.front(), value->second.count);
    else
        answer.give(value->second.bytes.data(), value->second.count);
}

void Descriptor::finalize()
{
    demand(!m_meaning, std::string(m_kind.name) + " is finalized twice");
    demand(m_kind.interpret != nullptr, CUDNN_STATUS_NOT_SUPPORTED,
           std::string(m_kind.name) + " cannot be finalized");
    for (const AttributeRule& rule : m_kind.attributes)
        demand(rule.use != AttributeRule::Required || has(rule.name),
               nameOf(rule) + " is required, but not set");
    m_meaning = m_kind.interpret(*this);
}

void Descriptor::become(MeaningPointer meaning)
{
    demand(!m_meaning, "an answer cannot go into a descriptor that is finalized");
    m_meaning = std::move(meaning);
}

double Descriptor::number(cudnnBackendAttributeName_t name, double otherwise) const
{
    if (!has(name))
        return otherwise;
    return m_values.at(name).type == CUDNN_TYPE_DOUBLE ? one<double>(name)
                                                       : double{one<float>(name)};
}

void* addDescriptor(std::shared_ptr<Descriptor> descriptor)
{
    return descriptors().add(std::move(descriptor));
}

void removeDescriptor(const void* handle)
{
    descriptors().remove(handle);
}

std::shared_ptr<Descriptor> findDescriptor(const void* handle)
{
    demand(handle != nullptr, CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "a descriptor is null");
    auto descriptor = descriptors().find(handle, "cuDNN");
    if (!descriptor)
        throw Refusal{CUDNN_STATUS_BAD_PARAM, "a descriptor is none that lives", true};
    return descriptor;
}

} // namespace vergence::emulation::convolutions
