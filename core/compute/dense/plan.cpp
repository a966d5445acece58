#include "core/compute/dense/plan.h"

#include <string_view>

#include <fmt/format.h>
#include <omp.h>

#include "core/base/error.h"

namespace vergence {

OnThisThread::OnThisThread() : m_before(omp_get_max_threads())
{
    if (m_before != 1)
        omp_set_num_threads(1);
}

OnThisThread::~OnThisThread()
{
    if (m_before != 1)
        omp_set_num_threads(m_before);
}

const dnnl::engine& cpuEngine()
{
    static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    return engine;
}

const dnnl::stream& cpuEngineStream()
{
    static const dnnl::stream stream(cpuEngine());
    return stream;
}

bool isReference(const_dnnl_primitive_desc_t description)
{
    const char* name = nullptr;
    dnnl_primitive_desc_query(description, dnnl_query_impl_info_str, 0, &name);
    return !name || std::string_view(name).substr(0, 3) == "ref";
}

struct Plan::Set {
    std::array<dnnl::memory, kMostArguments + 1> memories;
    std::array<dnnl_exec_arg_t, kMostArguments + 1> arguments;
};

Plan::Plan(dnnl::primitive primitive, std::span<const Argument> arguments, std::size_t scratchBytes)
    : m_primitive(std::move(primitive)),
      m_count(static_cast<int>(arguments.size())),
      m_scratchBytes(scratchBytes)
{
    std::copy(arguments.begin(), arguments.end(), m_arguments.begin());
}

Plan::~Plan()
{
    for (auto& idle : m_idle)
        delete idle.load();
}

std::unique_ptr<Plan::Set> Plan::makeSet() const
{
    auto set = std::make_unique<Set>();
    for (int i = 0; i <= m_count; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const bool isScratch = i == m_count;
        const dnnl::memory::desc layout =
            isScratch ? dnnl::memory::desc({static_cast<dnnl::memory::dim>(m_scratchBytes)},
                                           dnnl::memory::data_type::u8, dnnl::memory::format_tag::a)
                      : m_arguments[at].layout;
        set->memories[at] = dnnl::memory(layout, cpuEngine(), DNNL_MEMORY_NONE);
        set->arguments[at] = {isScratch ? DNNL_ARG_SCRATCHPAD : m_arguments[at].index,
                              set->memories[at].get()};
    }
    return set;
}

std::unique_ptr<Plan::Set> Plan::takeSet() const
{
    for (auto& idle : m_idle) {
        if (Set* set = idle.exchange(nullptr, std::memory_order_acq_rel))
            return std::unique_ptr<Set>(set);
    }
    return makeSet();
}

void Plan::returnSet(std::unique_ptr<Set> set) const
{
    for (auto& idle : m_idle) {
        Set* none = nullptr;
        if (idle.compare_exchange_strong(none, set.get(), std::memory_order_acq_rel)) {
            set.release();
            return;
        }
    }
}

void Plan::run(std::span<void* const> pointers, void* scratch) const
{
    auto set = takeSet();
    dnnl_status_t status = dnnl_success;
    for (int i = 0; i <= m_count && status == dnnl_success; ++i) {
        const auto at = static_cast<std::size_t>(i);
        status = dnnl_memory_set_data_handle(set->memories[at].get(),
                                             i == m_count ? scratch : pointers[at]);
    }
    if (status == dnnl_success)
        status = dnnl_primitive_execute(m_primitive.get(), cpuEngineStream().get(), m_count + 1,
                                        set->arguments.data());
    returnSet(std::move(set));
    if (status != dnnl_success)
        throw DeviceError(
            fmt::format("oneDNN could not run a product (status {}).", static_cast<int>(status)));
}

} // namespace vergence
