#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace vergence::fvlm {

/// How large a trained tokenizer is, and which of its pieces are never split.
struct BpeTraining {
    int vocabulary = 512;
    /// Ids from 0. The two of a turn are what chat templates are made of.
    std::vector<std::string> specials = {"<|endoftext|>", "<|im_start|>", "<|im_end|>"};
};

/// Learns byte-level byte-pair encoding from `texts` and writes it as a Hugging Face
/// tokenizer.json: specials, the 256 bytes, then merged pieces by rank. Words are cut as by
/// SmolLM2 (every digit alone, then GPT-2's pattern). The pair that occurs most often is merged
/// next, of equals the one with the smaller ids; where nothing is left to merge, reserved pieces
/// fill the vocabulary. The same texts give the same bytes. Throws ContractError for a vocabulary
/// that cannot hold specials and bytes. `isStopped` is asked before each merge and each text; where
/// it says so, nothing comes back.
/// Source: Neural Machine Translation of Rare Words with Subword Units (2016), algorithm 1.
std::string trainedTokenizerJson(std::span<const std::string> texts,
                                 const BpeTraining& training = {},
                                 const std::function<bool()>& isStopped = {});

} // namespace vergence::fvlm
