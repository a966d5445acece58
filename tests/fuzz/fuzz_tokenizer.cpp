// A tokenizer.json of any bytes is refused or understood; any text comes back byte by byte.
#include <cstdlib>
#include <memory>

#include <nlohmann/json.hpp>

#include "core/artifact/tokenizer/byte_alphabet.h"
#include "core/artifact/tokenizer/clip_text.h"
#include "core/artifact/tokenizer/tokenizer.h"
#include "core/base/error.h"

using namespace vergence;

namespace {

std::unique_ptr<Tokenizer> bytesAndTwoMerges()
{
    nlohmann::json vocabulary;
    for (int byte = 0; byte < 256; ++byte)
        vocabulary[spelledByte(static_cast<unsigned char>(byte))] = byte;
    vocabulary["ab"] = 256;
    vocabulary["abab"] = 257;
    const nlohmann::json merges = nlohmann::json::array({"a b", "ab ab"});
    const nlohmann::json model{{"type", "BPE"}, {"vocab", vocabulary}, {"merges", merges}};
    return parseTokenizerJson(nlohmann::json{{"model", model}}.dump(), "fuzz");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    static const auto tokenizer = bytesAndTwoMerges();
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    if (tokenizer->decodeBytes(tokenizer->encode(text)) != text)
        std::abort();
    clipText(text);
    try {
        parseTokenizerJson(text, "fuzz.json")->encode("a b 12");
    } catch (const InputError&) {
    }
    return 0;
}
