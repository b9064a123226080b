/// Answers what a model makes of texts, for compare_families.py, in binary.
///
///     vectors FOLDER avx512|avx2|portable < LINES
///     vectors sets
///
/// A line is `+` or `-` and a text in hexadecimal; `+` asks for vectors, `-` for ids alone. Standard output has u32
/// hidden size and u32 dimensions, then for each text u32 how many ids, the ids as u32, and with `+` the states f32
/// [ids, hidden] and the embedding f32 [dimensions]. The second form prints the sets that this machine has. Exit status
/// 1: the folder can't be loaded; 2: a text can't be encoded; 3: wrong usage, or the machine lacks the set.
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "uform/uform.hpp"

namespace {

constexpr std::size_t batch_texts_k = 24; ///< of any lengths: a text's bits don't depend on its company

std::string text_of(std::string_view hexadecimal) {
    std::string text;
    for (std::size_t i = 0; i + 1 < hexadecimal.size(); i += 2)
        text += static_cast<char>(std::stoi(std::string(hexadecimal.substr(i, 2)), nullptr, 16));
    return text;
}

template <class T> void write(T const *values, std::size_t count) { std::fwrite(values, sizeof(T), count, stdout); }
void write_number(std::size_t number) {
    auto const value = static_cast<std::uint32_t>(number);
    write(&value, 1);
}

int fail(uform::Error const &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
}

/// Vectors of texts that follow each other, through one call.
int answer_vectors(uform::Model const &model, std::vector<std::string> const &texts, uform::Arena<uform::Ram> &arena) {
    using uform::Outputs;
    auto const tape = uform::Tape::from(texts);
    if (!tape) return fail(tape.error());
    auto const encoded = model.text_encode(*tape, Outputs::states | Outputs::embeddings, uform::Scalar::f32, arena);
    if (!encoded) return fail(encoded.error());
    auto const ids = encoded->token_ids().value();
    auto const offsets = encoded->states().offsets().value();
    auto const states = encoded->states().flat().values<float>().value();
    auto const embeddings = encoded->embeddings().values<float>().value();
    for (std::size_t i = 0; i != texts.size(); ++i) {
        std::size_t const count = offsets[i + 1] - offsets[i];
        write_number(count);
        write(ids.data() + offsets[i], count);
        write(states.data() + offsets[i] * model.hidden_size(), count * model.hidden_size());
        write(embeddings.data() + i * model.dimensions(), model.dimensions());
    }
    return 0;
}

int answer(uform::Model const &model) {
    uform::Arena<uform::Ram> arena;
    uform::TokenizerScratch scratch;
    uform::Buffer<std::uint32_t> ids;
    std::vector<std::string> batch;
    write_number(model.hidden_size()), write_number(model.dimensions());
    std::string line;
    bool more = true;
    while (more) {
        more = static_cast<bool>(std::getline(std::cin, line));
        bool const vectors = more && line[0] == '+';
        if (!batch.empty() && (!vectors || batch.size() == batch_texts_k)) {
            if (int const status = answer_vectors(model, batch, arena)) return status;
            batch.clear();
        }
        if (!more) break;
        auto text = text_of(std::string_view(line).substr(1));
        if (vectors) {
            batch.push_back(std::move(text));
            continue;
        }
        ids.clear();
        auto const cut = model.tokenizer().encode_into(text, model.max_sequence_length(), ids, scratch);
        if (!cut) return fail(cut.error());
        write_number(ids.size());
        write(ids.data(), ids.size());
    }
    return 0;
}

} // namespace

int main(int count, char *arguments[]) {
    if (count == 2 && std::string_view(arguments[1]) == "sets") {
        for (auto const set : uform::instruction_sets)
            if (uform::supports(set)) std::printf("%s\n", uform::instruction_set_name(set).data());
        return 0;
    }
    for (auto const set : uform::instruction_sets)
        if (count == 3 && uform::instruction_set_name(set) == arguments[2] && uform::supports(set)) {
            auto const model = uform::Model::load(arguments[1], {.instruction_set = set});
            if (model) return answer(*model);
            std::fprintf(stderr, "%s\n", model.error().what());
            return 1;
        }
    std::fprintf(stderr, "usage: vectors FOLDER SET, where SET is one that this machine has\n");
    return 3;
}
