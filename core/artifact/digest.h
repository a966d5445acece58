#pragma once

#include <string>
#include <string_view>

struct evp_md_ctx_st;

namespace vergence {

/// SHA-256 of bytes that come piece by piece.
class Digest {
public:
    Digest();
    ~Digest();
    Digest(const Digest&) = delete;
    Digest& operator=(const Digest&) = delete;

    void add(std::string_view bytes);
    std::string hex(); ///< once, at the end; lower case

private:
    evp_md_ctx_st* m_context;
};

} // namespace vergence
