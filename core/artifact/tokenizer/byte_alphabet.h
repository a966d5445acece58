#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace vergence {

/// Byte-level vocabularies spell every byte as one printable character: bytes 33–126, 161–172 and
/// 174–255 as the code point of the same number, the other 68 in order as 256 … 323.
/// Source: Language Models are Unsupervised Multitask Learners (2019), section 2.2.
std::string spelledByte(unsigned char byte);
bool spellsItself(unsigned char byte); ///< by the code point of the same number
/// All bytes of `raw` spelled.
std::string spelled(std::string_view raw);
/// The bytes that a spelled text stands for; empty where a character is none of the 256.
std::optional<std::string> unspelled(std::string_view spelledText);

/// How character vocabularies name a byte that is no character of theirs: "<0x0A>".
std::string namedByte(int byte);
/// The byte of such a name; −1 where it is none.
int byteOfName(std::string_view name);

/// Bytes of the UTF-8 character that starts at `at`; 0 where there is no valid one.
std::size_t validUtf8Length(std::string_view text, std::size_t at);
/// `bytes` with every byte that is not part of valid UTF-8 replaced by U+FFFD.
std::string validUtf8(std::string_view bytes);

} // namespace vergence
