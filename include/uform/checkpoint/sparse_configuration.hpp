/// What a sparse encoder's folder says of how the scores of tokens become the weights of a text.
#ifndef UFORM_CHECKPOINT_SPARSE_CONFIGURATION_HPP
#define UFORM_CHECKPOINT_SPARSE_CONFIGURATION_HPP

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "uform/checkpoint/fields.hpp"
#include "uform/config.hpp"
#include "uform/json.hpp"
#include "uform/math.hpp"
#include "uform/status.hpp"

namespace uform {

/// A SpladePooling over the scores of a masked-language head, of all tokens of a text, special ones too.
struct SparseConfiguration {
    bool sums = false;            ///< a word's weight is the sum over the tokens; else the largest
    bool twice_logarithm = false; ///< "log1p_relu", which takes the logarithm of 1 + x a second time; else "relu"

    /// A word's weight at one token, of its score: ln(1 + max(x, 0)), and maybe ln(1 + ·) of that.
    [[nodiscard]] float weight(float score) const noexcept {
        double const once = math::log1p(score > 0 ? static_cast<double>(score) : 0.0);
        return static_cast<float>(twice_logarithm ? math::log1p(once) : once);
    }
};

/// Reads a SpladePooling's `config.json`, which is given scores of `vocabulary` words.
///
/// Errors  `io`; `corrupt` for another number of words; `unsupported`. Each names the file and the key.
/// Source  sentence-transformers 6.2, `SpladePooling`.
[[nodiscard]] UFORM_COLD inline Result<SparseConfiguration> read_sparse_configuration(std::string path,
                                                                                      std::size_t vocabulary) {
    auto file = JsonFile::read_object(std::move(path));
    if (!file) return file.error();
    Fields fields = file->fields();
    fields.refuse_others(
        {"pooling_strategy", "activation_function", "embedding_dimension", "word_embedding_dimension", "chunk_size"},
        ": an unknown key of a SpladePooling");
    SparseConfiguration sparse;
    auto const strategy = fields.text("pooling_strategy", "max"),
               activation = fields.text("activation_function", "relu");
    sparse.sums = strategy == "sum", sparse.twice_logarithm = activation == "log1p_relu";
    if (!sparse.sums && strategy != "max")
        fields.refuse(Status::unsupported, "pooling_strategy", " is \"", strategy,
                      "\"; \"max\" and \"sum\" are served");
    if (!sparse.twice_logarithm && activation != "relu")
        fields.refuse(Status::unsupported, "activation_function", " is \"", activation,
                      "\"; \"relu\" and \"log1p_relu\" are served");
    for (std::string_view const key : {"embedding_dimension", "word_embedding_dimension"})
        if (!fields.is_absent(key) && fields.find(key).natural() != vocabulary)
            fields.refuse_type(key, joined("the encoder's vocab_size, ", vocabulary));
    if (fields.error()) return *fields.error();
    return sparse;
}

} // namespace uform

#endif // UFORM_CHECKPOINT_SPARSE_CONFIGURATION_HPP
