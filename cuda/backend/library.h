#pragma once

#include <string>

#include <dlfcn.h>

namespace vergence {

/// A shared library that is opened at run time, so that the module loads without it too. Stays open
/// as long as the process: CUDA's libraries do not like to be closed before it ends.
class Library {
public:
    explicit Library(const std::string& file)
        : m_handle(::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL))
    {
        if (!m_handle) {
            const char* text = ::dlerror();
            m_reason = text ? text : file + " cannot be opened";
        }
    }

    /// Sets `function` to the symbol `name`; a missing one is remembered as the reason.
    template <class Function>
    void load(Function& function, const char* name)
    {
        function = m_handle ? reinterpret_cast<Function>(::dlsym(m_handle, name)) : nullptr;
        if (!function && m_reason.empty())
            m_reason = std::string("the library has no ") + name;
    }

    bool isComplete() const { return m_reason.empty(); }
    /// Why it cannot be used.
    const std::string& reason() const { return m_reason; }

private:
    void* m_handle;
    std::string m_reason;
};

} // namespace vergence
