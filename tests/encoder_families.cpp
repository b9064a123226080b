/// Every family's states and embeddings against the reference, for the ids that the reference gave or was given.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "golden.hpp"
#include "kernels_fixture.hpp"
#include "model_folder.hpp"
#include "skip.hpp"
#include "uform/checkpoint/checkpoint.hpp"
#include "uform/checkpoint/configuration.hpp"
#include "uform/encoder/encoder.hpp"
#include "uform/encoder/module_chain.hpp"
#include "uform/kernels/pooling.hpp"

using namespace uform;
using uform::test::Guarded;
using uform::test::same_bits;

namespace {

/// A folder's encoder with what its configuration says.
struct Loaded {
    FolderConfiguration configuration;
    Checkpoint checkpoint;
    Encoder encoder;

    static Loaded from(std::string const &folder, InstructionSet set) {
        auto configuration = read_configuration(folder).value();
        auto checkpoint = Checkpoint::open(folder).value();
        auto encoder =
            Encoder::load(configuration.encoder, configuration.max_sequence_length, checkpoint, set, folder).value();
        return {std::move(configuration), std::move(checkpoint), std::move(encoder)};
    }
    /// The states of texts `first` to `first + count`, between guards.
    std::vector<float> states(std::span<std::uint32_t const> ids, std::span<std::uint32_t const> offsets,
                              std::size_t first, std::size_t count) const {
        std::uint32_t const tokens = offsets[first + count] - offsets[first];
        std::size_t longest = 0;
        for (std::size_t i = first; i != first + count; ++i)
            longest = std::max<std::size_t>(longest, offsets[i + 1] - offsets[i]);
        std::size_t const bytes = encoder.workspace_bytes(tokens, longest);
        Guarded rows(tokens * configuration.encoder.hidden_size), workspace(bytes / sizeof(float));
        encoder.forward(ids, offsets.subspan(first, count + 1), rows.data(),
                        {reinterpret_cast<std::byte *>(workspace.data()), bytes});
        CHECK(rows.intact());
        CHECK(workspace.intact());
        return {rows.data(), rows.data() + rows.size()};
    }
};

struct Difference {
    double largest = 0, scale = 0; ///< of the reference's components

    void add(float ours, float theirs) {
        double const difference = std::fabs(static_cast<double>(ours) - static_cast<double>(theirs));
        if (!(difference <= largest)) largest = difference; // NaN too
        scale = std::max(scale, std::fabs(static_cast<double>(theirs)));
    }
    double relative() const { return largest / scale; }
};

Difference difference(std::span<float const> ours, std::span<float const> theirs) {
    REQUIRE(ours.size() == theirs.size());
    Difference answer;
    for (std::size_t i = 0; i != ours.size(); ++i) answer.add(ours[i], theirs[i]);
    return answer;
}

std::vector<InstructionSet> usable_sets() {
    std::vector<InstructionSet> sets;
    for (auto const set : instruction_sets)
        if (supports(set)) sets.push_back(set);
        else skip_part("this machine lacks " + std::string(instruction_set_name(set)));
    return sets;
}

std::string const families[] = {"roberta", "camembert",  "xlm-roberta",       "distilbert",
                                "mpnet",   "modernbert", "modernbert-biased", "nomic-bert"};

} // namespace

TEST_CASE("every family has the reference's states and embeddings", "[families]") {
    for (auto const &family : families)
        for (auto const set : usable_sets()) {
            INFO(family << " on " << instruction_set_name(set));
            Golden const golden(data_path("families/" + family + "/golden.safetensors"));
            auto const offsets = golden.read<std::uint32_t>("offsets"), ids = golden.read<std::uint32_t>("ids");
            auto const states = golden.read<float>("states"), embeddings = golden.read<float>("embeddings");
            auto const loaded = Loaded::from(data_path("families/" + family), set);
            std::size_t const texts = offsets.size() - 1, hidden = loaded.configuration.encoder.hidden_size;
            auto const ours = loaded.states(ids, offsets, 0, texts);
            auto const states_off = difference(ours, states);

            std::size_t const dimensions = loaded.configuration.dimensions();
            std::vector<float> vectors(texts * dimensions);
            for (std::size_t i = 0; i != texts; ++i) {
                pool(loaded.configuration.pooling.modes, ours.data() + offsets[i] * hidden, offsets[i + 1] - offsets[i],
                     hidden, &vectors[i * dimensions]);
                if (loaded.configuration.normalize) normalize(&vectors[i * dimensions], dimensions);
            }
            auto const vectors_off = difference(vectors, embeddings);
            std::printf("%s, %s: %zu texts, %zu tokens; states differ by at most %.2g of the largest component %.2g; "
                        "embeddings by %.2g%s\n",
                        family.c_str(), std::string(instruction_set_name(set)).c_str(), texts, ids.size(),
                        states_off.relative(), states_off.scale,
                        loaded.configuration.normalize ? vectors_off.largest : vectors_off.relative(),
                        loaded.configuration.normalize ? "" : " of theirs");
            CHECK(states_off.relative() <= 1e-5);
            if (loaded.configuration.normalize) CHECK(vectors_off.largest <= 2e-6);
            else CHECK(vectors_off.relative() <= 1e-5);
        }
}

TEST_CASE("a text's states have the same bits in any company, in every family", "[families]") {
    for (auto const &family : families)
        for (auto const set : usable_sets()) {
            INFO(family << " on " << instruction_set_name(set));
            Golden const golden(data_path("families/" + family + "/golden.safetensors"));
            auto const offsets = golden.read<std::uint32_t>("offsets"), ids = golden.read<std::uint32_t>("ids");
            auto const loaded = Loaded::from(data_path("families/" + family), set);
            std::size_t const texts = offsets.size() - 1, hidden = loaded.configuration.encoder.hidden_size;
            auto const together = loaded.states(ids, offsets, 0, texts);
            bool same = true;
            for (std::size_t first = 0; first != texts; ++first)
                for (std::size_t count : {1u, 2u, 3u}) {
                    if (first + count > texts) continue;
                    auto const part = loaded.states(ids, offsets, first, count);
                    same = same && same_bits(part.data(), together.data() + offsets[first] * hidden, part.size());
                }
            CHECK(same);
        }
}

TEST_CASE("positions start after the padding id, and a table of 10 rows serves what is left of it", "[families]") {
    Golden const golden(data_path("families/roberta/golden.safetensors"));
    auto const offsets = golden.read<std::uint32_t>("offsets"), ids = golden.read<std::uint32_t>("ids");
    {
        ModelFolder const folder("families/roberta");
        folder.replace("config.json", "\"pad_token_id\": 1", "\"pad_token_id\": 3");
        auto const loaded = Loaded::from(folder.path(), best_instruction_set());
        CHECK(loaded.configuration.max_sequence_length == 62);
        auto const expected = golden.read<float>("states.pad3"), states = golden.read<float>("states");
        auto const ours = loaded.states(ids, offsets, 0, 7);
        CHECK(difference(ours, expected).relative() <= 1e-5);
        CHECK(difference(ours, std::span(states).first(expected.size())).relative() > 1e-3); // the other padding id
    }
    for (std::size_t const pad : {1u, 3u}) {
        INFO("padding id " << pad);
        ModelFolder const folder("families/roberta"), whole("families/roberta");
        auto const number = std::to_string(pad);
        for (ModelFolder const *one : {&folder, &whole})
            one->replace("config.json", "\"pad_token_id\": 1", "\"pad_token_id\": " + number);
        folder.replace("config.json", "\"max_position_embeddings\": 66", "\"max_position_embeddings\": 10");
        folder.change_weights([](WrittenTensors &tensors) {
            auto &table = tensors.at("embeddings.position_embeddings.weight");
            table.shape[0] = 10, table.bytes.resize(10 * 40 * 4);
        });
        auto const loaded = Loaded::from(folder.path(), best_instruction_set());
        std::size_t const longest = 9 - pad;
        CHECK(loaded.configuration.max_sequence_length == longest);
        std::vector<std::uint32_t> text(longest, 7), range = {0, static_cast<std::uint32_t>(longest)};
        auto const ours = loaded.states(text, range, 0, 1);
        auto const theirs = Loaded::from(whole.path(), best_instruction_set()).states(text, range, 0, 1);
        CHECK(same_bits(ours.data(), theirs.data(), ours.size()));
    }
}

namespace {

std::vector<float> all_states(std::string const &folder, std::string const &family) {
    Golden const golden(data_path("families/" + family + "/golden.safetensors"));
    auto const offsets = golden.read<std::uint32_t>("offsets"), ids = golden.read<std::uint32_t>("ids");
    return Loaded::from(folder, best_instruction_set()).states(ids, offsets, 0, offsets.size() - 1);
}

std::string replaced(std::string text, std::string const &from, std::string const &to) {
    auto const at = text.find(from);
    return at == text.npos ? text : text.replace(at, from.size(), to);
}

void rename(WrittenTensors &tensors, auto new_name) {
    WrittenTensors renamed;
    for (auto &[name, tensor] : tensors) renamed[new_name(name)] = std::move(tensor);
    tensors = std::move(renamed);
}

} // namespace

TEST_CASE("the spellings of every family's checkpoint give the same bits", "[families]") {
    std::pair<std::string, std::string> const prefixes[] = {
        {"roberta", "roberta."},         {"camembert", "roberta."}, {"xlm-roberta", "roberta."},
        {"distilbert", "distilbert."},   {"mpnet", "mpnet."},       {"modernbert", "model."},
        {"modernbert-biased", "model."}, {"nomic-bert", "bert."},
    };
    for (auto const &[family, prefix] : prefixes) {
        INFO(family);
        auto const expected = all_states(data_path("families/" + family), family);
        auto const same = [&, family = family](ModelFolder const &folder) {
            auto const states = all_states(folder.path(), family);
            return states.size() == expected.size() && same_bits(states.data(), expected.data(), states.size());
        };
        ModelFolder const other("families/" + family), old("families/" + family), more("families/" + family);
        std::size_t shortened = 0;
        other.change_weights([&, prefix = prefix](WrittenTensors &tensors) { // with the prefix, or without it
            rename(tensors, [&](std::string const &name) {
                if (!name.starts_with(prefix)) return prefix + name;
                ++shortened;
                return name.substr(prefix.size());
            });
        });
        CHECK((shortened == 0 || shortened > 10));
        CHECK(same(other));
        old.change_weights([](WrittenTensors &tensors) {
            rename(tensors, [](std::string const &name) {
                return replaced(replaced(name, "LayerNorm.weight", "LayerNorm.gamma"), "LayerNorm.bias",
                                "LayerNorm.beta");
            });
        });
        CHECK(same(old));
        more.change_weights([](WrittenTensors &tensors) {
            tensors["a"] = {"U8", {1}, "x"}; // what follows lies unaligned
            tensors["embeddings.position_ids"] = {"I64", {1, 2}, std::string(16, '\1')};
            tensors["pooler.dense.weight"] = {"F32", {3}, std::string(12, '\xff')};
            tensors["lm_head.bias"] = {"F32", {3}, std::string(12, '\xff')};
        });
        CHECK(same(more));
    }

    ModelFolder const nomic("families/nomic-bert"); // as transformers 5 calls them, and the first files' keys
    nomic.change_weights([](WrittenTensors &tensors) {
        WrittenTensors renamed;
        for (auto &[name, tensor] : tensors) {
            std::string now = replaced(name, "encoder.layers", "layers");
            for (auto const &[from, to] :
                 {std::pair{"emb_ln", "embeddings.LayerNorm"}, std::pair{"attn.out_proj", "self_attn.o_proj"},
                  std::pair{"fc11", "up_proj"}, std::pair{"fc12", "gate_proj"}, std::pair{"fc2", "down_proj"},
                  std::pair{"norm1", "post_attention_layernorm"}, std::pair{"norm2", "post_mlp_layernorm"}})
                now = replaced(now, from, to);
            if (now.find("attn.Wqkv") == now.npos) {
                renamed[now] = tensor;
                continue;
            }
            std::size_t const third = tensor.bytes.size() / 3;
            for (std::size_t part = 0; part != 3; ++part)
                renamed[replaced(now, "attn.Wqkv", "self_attn." + std::string(1, "qkv"[part]) + "_proj")] = {
                    "F32", {32, 32}, tensor.bytes.substr(part * third, third)};
        }
        tensors = std::move(renamed);
    });
    nomic.write("config.json",
                R"({"model_type":"nomic_bert","architectures":["NomicBertModel"],"n_embd":32,"n_inner":48,
        "n_head":2,"n_layer":2,"n_positions":96,"type_vocab_size":2,"layer_norm_epsilon":1e-12,"vocab_size":100,
        "activation_function":"swiglu","rotary_emb_base":1000,"rotary_emb_fraction":1.0})");
    auto const expected = all_states(data_path("families/nomic-bert"), "nomic-bert"),
               states = all_states(nomic.path(), "nomic-bert");
    CHECK(same_bits(states.data(), expected.data(), states.size()));
}

TEST_CASE("a tensor of any family that is missing, misshapen or not of numbers is refused by name", "[families]") {
    for (auto const &family : families) {
        auto const whole = read_safetensors(data_path("families/" + family + "/model.safetensors"));
        ModelFolder const folder("families/" + family);
        auto const configuration = read_configuration(folder.path()).value();
        for (auto const &[name, tensor] : whole) {
            INFO(family << ": " << name);
            auto const refused = [&, name = name](WrittenTensors const &tensors, std::string const &words) {
                write_safetensors(folder.file("model.safetensors"), tensors);
                auto const checkpoint = Checkpoint::open(folder.path()).value();
                auto const encoder = Encoder::load(configuration.encoder, configuration.max_sequence_length, checkpoint,
                                                   best_instruction_set(), folder.path());
                REQUIRE_FALSE(encoder);
                std::string const message(encoder.error().message());
                INFO(message);
                CHECK(encoder.error().status() == Status::corrupt);
                CHECK(message.find(words) != message.npos);
                CHECK(message.starts_with(folder.path()));
            };
            auto changed = whole;
            changed.erase(name);
            // The first tensor tells how the others are spelt: without it the names asked for have no prefix.
            bool const is_probe = name.find("word_embeddings") != name.npos || name.find("tok_emb") != name.npos ||
                                  name.find("emb_ln.weight") != name.npos;
            refused(changed, is_probe ? "is missing" : "\"" + name + "\" is missing");
            changed[name] = tensor;
            changed[name].shape.back() += 1;
            changed[name].bytes.resize(tensor.bytes.size() / tensor.shape.back() * (tensor.shape.back() + 1));
            refused(changed, "\"" + name + "\" has the shape");
            for (std::size_t const at : {std::size_t{0}, tensor.bytes.size() - 4}) {
                changed[name] = tensor;
                float const bad = at ? -HUGE_VALF : std::nanf("");
                std::memcpy(changed[name].bytes.data() + at, &bad, sizeof bad);
                refused(changed, "\"" + name + "\" holds NaN");
            }
        }
    }
}

TEST_CASE("modules after the pooling have weights that can be, and no pickles", "[families]") {
    auto const load = [](ModelFolder const &folder) {
        auto const configuration = read_configuration(folder.path()).value();
        return ModuleChain::load(configuration.vector_modules, configuration.pooled_columns(), best_instruction_set());
    };
    auto const refused = [&](ModelFolder const &folder, Status status, std::vector<std::string> const &words) {
        auto const chain = load(folder);
        REQUIRE_FALSE(chain);
        std::string const message(chain.error().message());
        INFO(message);
        CHECK(chain.error().status() == status);
        for (auto const &word : words) CHECK(message.find(word) != message.npos);
    };
    std::string const weights = "2_Dense/model.safetensors";
    ModelFolder const folder("families/modules/tanh");
    folder.write("config.json", R"({"model_type":"bert","hidden_size":48,"num_attention_heads":3})");
    folder.write("1_Pooling/config.json", R"({"embedding_dimension":48,"pooling_mode":"mean"})");
    CHECK(load(folder));
    auto const whole = read_safetensors(folder.file(weights));
    for (auto const &[name, tensor] : whole) {
        auto changed = whole;
        changed.erase(name);
        write_safetensors(folder.file(weights), changed);
        refused(folder, Status::corrupt, {folder.file("2_Dense"), name, "missing"});
        changed[name] = tensor;
        float const bad = std::nanf("");
        std::memcpy(changed[name].bytes.data(), &bad, sizeof bad);
        write_safetensors(folder.file(weights), changed);
        refused(folder, Status::corrupt, {folder.file(weights), name, "NaN"});
    }
    folder.remove(weights);
    refused(folder, Status::io, {folder.file("2_Dense"), "no weights"});
    folder.write("2_Dense/pytorch_model.bin", "PK");
    refused(folder, Status::unsupported, {folder.file("2_Dense/pytorch_model.bin"), "python -c", folder.file(weights)});
}
