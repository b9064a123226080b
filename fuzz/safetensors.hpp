/// The target of arbitrary weights and configurations: they are refused by name, or are what they say.
#ifndef UFORM_FUZZ_SAFETENSORS_HPP
#define UFORM_FUZZ_SAFETENSORS_HPP

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "invariants.hpp"
#include "uform/checkpoint/checkpoint.hpp"
#include "uform/checkpoint/configuration.hpp"
#include "uform/checkpoint/tensor.hpp"

namespace fuzz {

inline void require_named(uform::Error const &error, std::string const &path) {
    require(error.message().find(path) != std::string_view::npos, "an error names the file");
    require(error.status() == uform::Status::corrupt || error.status() == uform::Status::unsupported ||
                error.status() == uform::Status::io,
            "a file is refused as corrupt, unsupported or not there");
}

/// Checks the tensors of a file against its bytes: they cover all that follows the header, once.
inline void check_tensors(std::vector<uform::TensorView> const &tensors, std::string_view file) {
    std::uint64_t header = 0;
    require(file.size() >= 8, "a file that is opened has a header");
    for (unsigned i = 0; i != 8; ++i) header |= std::uint64_t{static_cast<unsigned char>(file[i])} << 8 * i;
    require(header <= file.size() - 8, "a header that is read is there");
    std::string_view const data = file.substr(8 + header);
    std::byte const *base = nullptr;
    for (uform::TensorView const &tensor : tensors)
        if (!base || tensor.data < base) base = tensor.data;
    std::vector<bool> covered(data.size());
    for (uform::TensorView const &tensor : tensors) {
        auto const place = static_cast<std::size_t>(tensor.data - base);
        require(place <= data.size() && tensor.bytes <= data.size() - place, "a tensor lies in its file");
        if (tensor.bytes != 0)
            require(std::memcmp(tensor.data, data.data() + place, tensor.bytes) == 0,
                    "a tensor's bytes are the file's");
        for (std::size_t i = 0; i != tensor.bytes; ++i) {
            require(!covered[place + i], "no two tensors share a byte");
            covered[place + i] = true;
        }
        std::size_t bits = uform::traits_of(tensor.dtype).bits;
        for (std::size_t extent : tensor.shape)
            require(!__builtin_mul_overflow(bits, extent, &bits), "shapes can be counted");
        require(bits == 8 * tensor.bytes, "a tensor's bytes are those of its element type and shape");
        if (tensor.scalar == uform::no_scalar || tensor.elements() == 0) continue;
        std::vector<float> values(tensor.elements());
        uform::widen(tensor, 0, values.size(), values.data());
        if (!tensor.shape.empty()) {
            std::vector<float> row(values.size() / tensor.shape[0]);
            uform::widen_row(tensor, tensor.shape[0] - 1, row.data());
            require(std::memcmp(row.data(), values.data() + (values.size() - row.size()), row.size() * sizeof(float)) ==
                        0,
                    "the last row is the end of all");
        }
    }
    for (bool byte : covered) require(byte, "each byte of the data belongs to a tensor");
}

/// Opens a folder whose files of weights are these, and checks each of them.
inline void check_weights(Folder const &folder, std::map<std::string, std::string> const &files) {
    auto const opened = uform::Checkpoint::open(folder.path());
    if (!opened) return require_named(opened.error(), folder.path());
    std::map<std::string, std::vector<uform::TensorView>> tensors;
    std::string_view before;
    for (uform::TensorView const &tensor : opened->tensors()) {
        require(before < tensor.name || (before.empty() && tensor.name.empty()), "tensors are sorted, each name once");
        before = tensor.name;
        require(opened->find(tensor.name) == &tensor, "a tensor is found by its name");
        tensors[std::string(opened->file_of(tensor))].push_back(tensor);
    }
    for (auto const &[path, list] : tensors) {
        auto const file = files.find(path);
        require(file != files.end(), "a tensor stands in a file of the folder");
        check_tensors(list, file->second);
    }
}

/// A header with its length before it.
inline std::string with_length(std::string_view header) {
    std::string bytes;
    for (unsigned i = 0; i != 8; ++i) bytes += static_cast<char>(header.size() >> 8 * i & 0xFF);
    return bytes += header;
}

/// An input is a digit that says what follows:
///
///     0  model.safetensors
///     1  the header of one, a byte 0xFF, and its data: the length of the header is right
///     2  model.safetensors.index.json, then the header and the data of the shards `a` and `b`, a byte 0xFF between all
///     3  config.json, modules.json, 1/config.json, sentence_bert_config.json, config_sentence_transformers.json,
///        tokenizer_config.json, 2/config.json, a byte 0xFF between all; of an empty one there is none
inline void run_safetensors(std::uint8_t const *data, std::size_t size) {
    static Folder folder;
    folder.clear();
    folder.make_folder("1"), folder.make_folder("2");
    Input input(data, size);
    std::map<std::string, std::string> files;
    auto const add = [&](std::string const &name, std::string content) {
        folder.write(name, content);
        files.emplace(folder.path() + "/" + name, std::move(content));
    };
    switch (input.byte() % 4) {
    case 0: add("model.safetensors", std::string(input.rest())); return check_weights(folder, files);
    case 1: {
        std::string const header = with_length(input.part(end_of_file_k));
        add("model.safetensors", header + std::string(input.rest()));
        return check_weights(folder, files);
    }
    case 2: {
        folder.write("model.safetensors.index.json", input.part(end_of_file_k));
        std::string const header = with_length(input.part(end_of_file_k));
        add("a", header + std::string(input.part(end_of_file_k)));
        std::string const other = with_length(input.part(end_of_file_k));
        add("b", other + std::string(input.rest()));
        return check_weights(folder, files);
    }
    default:
        (void)folder.write_all(input, {"config.json", "modules.json", "1/config.json", "sentence_bert_config.json",
                                       "config_sentence_transformers.json", "tokenizer_config.json", "2/config.json"});
        auto const read = uform::read_configuration(folder.path());
        if (!read) return require_named(read.error(), folder.path());
        uform::EncoderConfiguration const &encoder = read->encoder;
        require(encoder.vocabulary_size && encoder.hidden_size && encoder.layers && encoder.heads &&
                    encoder.intermediate_size && encoder.positions,
                "counts of an encoder are at least 1");
        require(encoder.hidden_size % encoder.heads == 0, "the hidden size is a multiple of the heads");
        require(encoder.positions > encoder.first_position, "a text of one token has a position");
        require(encoder.local_layers.empty() || encoder.local_layers.size() == encoder.layers,
                "layers see a window or all");
        require(read->max_sequence_length >= 1, "a text of one token is served");
        require(!read->pooling.modes.empty() && read->dimensions() >= 1, "vectors have columns");
        if (!encoder.is_rotary())
            require(read->max_sequence_length <= encoder.longest_text(), "texts end where positions do");
    }
}

} // namespace fuzz

#endif // UFORM_FUZZ_SAFETENSORS_HPP
