/// The same weights give the same bits in every spelling that checkpoints are published in.
#include <bit>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "model_folder.hpp"
#include "uform/uform.hpp"

using uform::Outputs, uform::Ram, uform::Scalar;

namespace {

std::vector<float> vectors(std::string const &folder) {
    auto const model = uform::Model::load(folder).value();
    auto const texts = read_texts(data_path("tiny/texts.jsonl"));
    auto const tape = uform::Tape::from(texts).value();
    uform::Arena<Ram> arena;
    auto const encoded = model.text_encode(tape, Outputs::embeddings | Outputs::states, Scalar::f32, arena).value();
    auto const embeddings = encoded.embeddings().values<float>().value();
    auto const states = encoded.states().flat().values<float>().value();
    std::vector<float> all(embeddings.begin(), embeddings.end());
    all.insert(all.end(), states.begin(), states.end());
    return all;
}

bool same_bits(std::vector<float> const &a, std::vector<float> const &b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

void rename(WrittenTensors &tensors, auto new_name) {
    WrittenTensors renamed;
    for (auto &[name, tensor] : tensors) renamed[new_name(name)] = std::move(tensor);
    tensors = std::move(renamed);
}

/// Rewrites all weights as the upper halves of their floats, or as halves, and the folder with their exact floats.
std::pair<std::vector<float>, std::vector<float>> narrow_and_wide(std::string const &dtype, auto narrow, auto widen) {
    ModelFolder const narrowed("tiny"), widened("tiny");
    narrowed.change_weights([&](WrittenTensors &tensors) {
        for (auto &[name, tensor] : tensors) {
            std::string bytes;
            for (std::size_t i = 0; i != tensor.bytes.size() / 4; ++i) {
                float value;
                std::memcpy(&value, tensor.bytes.data() + 4 * i, 4);
                std::uint16_t const bits = narrow(value);
                bytes.append(reinterpret_cast<char const *>(&bits), 2);
            }
            tensor = {dtype, tensor.shape, bytes};
        }
        auto wide = tensors;
        for (auto &[name, tensor] : wide) {
            std::string bytes;
            for (std::size_t i = 0; i != tensor.bytes.size() / 2; ++i) {
                std::uint16_t bits;
                std::memcpy(&bits, tensor.bytes.data() + 2 * i, 2);
                float const value = widen(bits);
                bytes.append(reinterpret_cast<char const *>(&value), 4);
            }
            tensor = {"F32", tensor.shape, bytes};
        }
        write_safetensors(widened.file("model.safetensors"), wide);
    });
    return {vectors(narrowed.path()), vectors(widened.path())};
}

} // namespace

TEST_CASE("engine: spellings of a checkpoint give the same bits") {
    auto const expected = vectors(data_path("tiny"));
    SECTION("a changed weight is seen at all") {
        ModelFolder const folder("tiny");
        folder.change_weights(
            [](WrittenTensors &tensors) { tensors.at("encoder.layer.1.output.dense.weight").bytes[3] ^= 1; });
        CHECK_FALSE(same_bits(vectors(folder.path()), expected));
    }
    SECTION("with the prefix bert.") {
        ModelFolder const folder("tiny");
        folder.change_weights(
            [](WrittenTensors &tensors) { rename(tensors, [](auto name) { return "bert." + name; }); });
        CHECK(same_bits(vectors(folder.path()), expected));
    }
    SECTION("with gamma and beta") {
        ModelFolder const folder("tiny");
        std::size_t renamed = 0;
        folder.change_weights([&](WrittenTensors &tensors) {
            rename(tensors, [&](std::string name) {
                auto const at = name.find("LayerNorm.");
                if (at != name.npos)
                    name = name.substr(0, at + 10) + (name.ends_with("weight") ? "gamma" : "beta"), ++renamed;
                return name;
            });
        });
        CHECK(renamed == 10);
        CHECK(same_bits(vectors(folder.path()), expected));
    }
    SECTION("with stored position ids, a pooler and a head") {
        ModelFolder const folder("tiny");
        folder.change_weights([](WrittenTensors &tensors) {
            tensors["embeddings.position_ids"] = {"I64", {1, 40}, std::string(40 * 8, '\1')};
            tensors["pooler.dense.weight"] = {"F32", {48, 48}, std::string(48 * 48 * 4, '\0')};
            tensors["cls.predictions.bias"] = {"F32", {3}, std::string(12, '\x7f')};
        });
        CHECK(same_bits(vectors(folder.path()), expected));
    }
    SECTION("in shards") {
        ModelFolder const folder("tiny");
        WrittenTensors halves[2];
        std::string index = "{\"metadata\": {\"total_size\": 1}, \"weight_map\": {";
        std::size_t count = 0;
        for (auto const &[name, tensor] : read_safetensors(folder.file("model.safetensors"))) {
            std::size_t const half = count++ % 2;
            halves[half][name] = tensor;
            index += (count == 1 ? "\"" : ", \"") + name + "\": \"model-0000" + std::to_string(half + 1) +
                     "-of-00002.safetensors\"";
        }
        folder.remove("model.safetensors");
        folder.write("model.safetensors.index.json", index + "}}");
        for (std::size_t half = 0; half != 2; ++half)
            write_safetensors(folder.file("model-0000" + std::to_string(half + 1) + "-of-00002.safetensors"),
                              halves[half]);
        CHECK(same_bits(vectors(folder.path()), expected));
    }
    SECTION("moved by bytes that leave the floats unaligned") {
        ModelFolder const folder("tiny");
        folder.change_weights([](WrittenTensors &tensors) { tensors["a"] = {"U8", {1}, "x"}; });
        CHECK(same_bits(vectors(folder.path()), expected));
    }
    SECTION("as bfloat16 and as halves, against their exact floats") {
        auto const bf16 = narrow_and_wide(
            "BF16", [](float value) { return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16); },
            [](std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); });
        CHECK(same_bits(bf16.first, bf16.second));
        CHECK_FALSE(same_bits(bf16.first, expected));
        auto const half = [](float value) { // toward zero, subnormals become zero: any rounding will do here
            auto const bits = std::bit_cast<std::uint32_t>(value);
            int const exponent = static_cast<int>(bits >> 23 & 0xff) - 112;
            if (exponent <= 0) return static_cast<std::uint16_t>(bits >> 16 & 0x8000);
            return static_cast<std::uint16_t>((bits >> 16 & 0x8000) | static_cast<std::uint32_t>(exponent) << 10 |
                                              (bits >> 13 & 0x3ff));
        };
        auto const f16 = narrow_and_wide("F16", half, [](std::uint16_t bits) {
            double const fraction = (bits & 0x3ff) / 1024.0 + 1;
            double const value = (bits & 0x7fff) == 0 ? 0.0 : std::ldexp(fraction, (bits >> 10 & 0x1f) - 15);
            return static_cast<float>(bits & 0x8000 ? -value : value);
        });
        CHECK(same_bits(f16.first, f16.second));
    }
}
