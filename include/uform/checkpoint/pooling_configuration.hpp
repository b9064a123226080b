/// How token states become one vector, as a pooling module's `config.json` says in either spelling.
#ifndef UFORM_CHECKPOINT_POOLING_CONFIGURATION_HPP
#define UFORM_CHECKPOINT_POOLING_CONFIGURATION_HPP

#include <cstddef>
#include <iterator> // std::size
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "uform/architecture.hpp"
#include "uform/checkpoint/fields.hpp"
#include "uform/config.hpp"
#include "uform/json.hpp"
#include "uform/status.hpp"

namespace uform {

/// The modes whose vectors are joined end to end, at least one, and whether the tokens of a prompt take part.
struct PoolingConfiguration {
    std::vector<Pooling> modes = {Pooling::mean};
    bool include_prompt = true;
};

/// How files spell a mode: as a string of `pooling_mode`, or as a boolean of its own.
struct PoolingModeName {
    std::string_view name, boolean;
};
/// One entry a `Pooling`, in its order.
inline constexpr PoolingModeName pooling_mode_names_k[] = {
    {"cls", "pooling_mode_cls_token"},
    {"max", "pooling_mode_max_tokens"},
    {"mean", "pooling_mode_mean_tokens"},
    {"mean_sqrt_len_tokens", "pooling_mode_mean_sqrt_len_tokens"},
    {"weightedmean", "pooling_mode_weightedmean_tokens"},
    {"lasttoken", "pooling_mode_lasttoken"},
};

inline void add_pooling_mode(Fields &fields, JsonValue value, PoolingConfiguration &pooling) {
    for (std::size_t mode = 0; mode != std::size(pooling_mode_names_k); ++mode)
        if (value.string() == pooling_mode_names_k[mode].name)
            return pooling.modes.push_back(static_cast<Pooling>(mode));
    fields.refuse(Status::unsupported, "pooling_mode", ": ", shown(value),
                  " isn't served; cls, max, mean, mean_sqrt_len_tokens, weightedmean and lasttoken are");
}

/// Reads and checks a pooling module's `config.json`; its dimension must be the encoder's.
///
/// The string or list of `pooling_mode` wins over the booleans, which join in the order of `Pooling`; no mode at
/// all is the mean. An unknown key is refused, as the reference does.
///
/// Errors  `io`; `corrupt`; `unsupported`, naming the file, and the mode or key.
/// Source  sentence-transformers 6.2, `Pooling.load_config` and its constructor.
[[nodiscard]] UFORM_COLD inline Result<PoolingConfiguration> read_pooling_configuration(std::string path,
                                                                                        std::size_t hidden_size) {
    auto file = JsonFile::read_object(std::move(path));
    if (!file) return file.error();
    Fields fields = file->fields();
    fields.refuse_others({"embedding_dimension", "word_embedding_dimension", "pooling_mode", "include_prompt",
                          "pooling_mode_cls_token", "pooling_mode_max_tokens", "pooling_mode_mean_tokens",
                          "pooling_mode_mean_sqrt_len_tokens", "pooling_mode_weightedmean_tokens",
                          "pooling_mode_lasttoken"},
                         ": an unknown pooling key");
    std::string_view const dimension_key =
        fields.find("embedding_dimension") ? "embedding_dimension" : "word_embedding_dimension";
    if (!fields.find(dimension_key)) fields.refuse(Status::corrupt, "embedding_dimension", " is missing");
    else if (fields.find(dimension_key).natural() != hidden_size)
        fields.refuse_type(dimension_key, joined("the encoder's hidden_size, ", hidden_size));

    PoolingConfiguration pooling{.modes = {}, .include_prompt = fields.boolean("include_prompt", true)};
    if (JsonValue const modes = fields.find("pooling_mode")) {
        if (modes.is(JsonKind::array))
            for (std::size_t i = 0; i != modes.size(); ++i) add_pooling_mode(fields, modes[i], pooling);
        else add_pooling_mode(fields, modes, pooling);
        if (pooling.modes.empty()) fields.refuse(Status::corrupt, "pooling_mode", " names no mode");
    } else {
        for (std::size_t mode = 0; mode != std::size(pooling_mode_names_k); ++mode)
            if (fields.boolean(pooling_mode_names_k[mode].boolean, false))
                pooling.modes.push_back(static_cast<Pooling>(mode));
        if (pooling.modes.empty()) pooling.modes.push_back(Pooling::mean);
    }
    if (fields.error()) return *fields.error();
    return pooling;
}

} // namespace uform

#endif // UFORM_CHECKPOINT_POOLING_CONFIGURATION_HPP
