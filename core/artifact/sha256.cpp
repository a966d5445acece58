#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include <openssl/evp.h>

#include <fmt/format.h>

#include "core/artifact/artifact_store.h"
#include "core/artifact/digest.h"
#include "core/base/error.h"

namespace vergence {

Digest::Digest() : m_context(EVP_MD_CTX_new())
{
    if (!m_context || EVP_DigestInit_ex(m_context, EVP_sha256(), nullptr) != 1)
        throw Error("SHA-256 is not available in this OpenSSL.");
}

Digest::~Digest()
{
    EVP_MD_CTX_free(m_context);
}

void Digest::add(std::string_view bytes)
{
    if (EVP_DigestUpdate(m_context, bytes.data(), bytes.size()) != 1)
        throw Error("SHA-256 failed in OpenSSL.");
}

std::string Digest::hex()
{
    std::array<unsigned char, EVP_MAX_MD_SIZE> raw{};
    unsigned length = 0;
    if (EVP_DigestFinal_ex(m_context, raw.data(), &length) != 1)
        throw Error("SHA-256 failed in OpenSSL.");
    std::string text;
    for (unsigned i = 0; i < length; ++i)
        text += fmt::format("{:02x}", raw[i]);
    return text;
}

std::string sha256Hex(std::string_view bytes)
{
    Digest digest;
    digest.add(bytes);
    return digest.hex();
}

std::string sha256OfFile(const std::filesystem::path& path)
{
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"),
                                                               std::fclose);
    if (!file)
        throw InputError(fmt::format("Cannot read {}: {}.", path.string(), std::strerror(errno)));
    Digest digest;
    std::vector<char> block(1u << 20);
    while (const std::size_t count = std::fread(block.data(), 1, block.size(), file.get()))
        digest.add({block.data(), count});
    if (std::ferror(file.get()))
        throw InputError(fmt::format("Cannot read {}: {}.", path.string(), std::strerror(errno)));
    return digest.hex();
}

} // namespace vergence
