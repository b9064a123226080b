/// Tests the BERT encoder against double precision, its bits under every cut of a batch, and its refusals.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "catch.hpp"
#include "kernels_fixture.hpp"
#include "uform/encoder/bert.hpp"
#include "uform/encoder/chunks.hpp"

using namespace uform;
using uform::test::Guarded;
using uform::test::keep_worst;
using uform::test::random_floats;
using uform::test::same_bits;

namespace {

/// A checkpoint in memory, in any spelling and element type.
class FakeCheckpoint {
    struct Stored {
        std::string name;
        std::vector<std::size_t> shape;
        std::vector<std::byte> bytes;
        TensorView view;
    };
    std::deque<Stored> stored_;

  public:
    void add(std::string const &name, std::vector<std::size_t> const &shape, std::vector<float> const &values,
             DType dtype = DType::f32, std::size_t shift = 0) {
        Stored &tensor = stored_.emplace_back();
        tensor.name = name, tensor.shape = shape;
        std::size_t const size = traits_of(dtype).bits / 8;
        tensor.bytes.resize(values.size() * size + 16);
        for (std::size_t i = 0; i < values.size(); ++i) {
            auto const bits = std::bit_cast<std::uint32_t>(values[i]);
            auto const upper = static_cast<std::uint16_t>(bits >> 16);
            if (dtype == DType::bf16) std::memcpy(&tensor.bytes[shift + i * size], &upper, sizeof upper);
            else std::memcpy(&tensor.bytes[shift + i * size], &bits, sizeof bits);
        }
        tensor.view = {
            tensor.name,         dtype, traits_of(dtype).scalar, 0, tensor.shape, tensor.bytes.data() + shift,
            values.size() * size};
    }
    TensorView const *find(std::string_view name) const {
        for (Stored const &tensor : stored_)
            if (tensor.name == name) return &tensor.view;
        return nullptr;
    }
    std::string_view file_of(TensorView const &) const { return "folder/model.safetensors"; }
};
static_assert(WeightSource<FakeCheckpoint>);
static_assert(!WeightSource<int>);

/// Weights by the names of Hugging Face, [name] → shape and values.
struct Model {
    struct Tensor {
        std::vector<std::size_t> shape;
        std::vector<float> values;
    };
    BertShape shape;
    std::map<std::string, Tensor> tensors;

    explicit Model(BertShape const &shape_, bool bf16 = false) : shape(shape_) {
        auto const add = [&](std::string const &name, std::vector<std::size_t> extents, float scale, float offset) {
            std::size_t elements = 1;
            for (std::size_t extent : extents) elements *= extent;
            auto values = random_floats(elements, scale, static_cast<std::uint32_t>(tensors.size()));
            for (float &value : values) {
                value += offset;
                if (bf16) value = std::round(value * 64) / 64; // below 4, that is a bfloat16
            }
            tensors[name] = {std::move(extents), std::move(values)};
        };
        std::size_t const hidden = shape.hidden, wide = shape.intermediate;
        auto const linear = [&](std::string const &name, std::size_t inputs, std::size_t outputs) {
            add(name + ".weight", {outputs, inputs}, 1.5f / std::sqrt(static_cast<float>(inputs)), 0),
                add(name + ".bias", {outputs}, 0.1f, 0);
        };
        auto const norm = [&](std::string const &name) {
            add(name + ".weight", {hidden}, 0.3f, 1), add(name + ".bias", {hidden}, 0.2f, 0);
        };
        add("embeddings.word_embeddings.weight", {shape.vocabulary, hidden}, 1, 0);
        add("embeddings.position_embeddings.weight", {shape.positions, hidden}, 0.5f, 0);
        add("embeddings.token_type_embeddings.weight", {shape.segments, hidden}, 0.5f, 0);
        norm("embeddings.LayerNorm");
        for (std::uint32_t i = 0; i < shape.layers; ++i) {
            auto const layer = "encoder.layer." + std::to_string(i);
            for (auto part :
                 {".attention.self.query", ".attention.self.key", ".attention.self.value", ".attention.output.dense"})
                linear(layer + part, hidden, hidden);
            norm(layer + ".attention.output.LayerNorm");
            linear(layer + ".intermediate.dense", hidden, wide), linear(layer + ".output.dense", wide, hidden);
            norm(layer + ".output.LayerNorm");
        }
    }

    FakeCheckpoint checkpoint(std::function<std::string(std::string const &)> const &spell = {},
                              DType dtype = DType::f32, std::size_t shift = 0) const {
        FakeCheckpoint answer;
        for (auto const &[name, tensor] : tensors)
            answer.add(spell ? spell(name) : name, tensor.shape, tensor.values, dtype, shift);
        return answer;
    }

    /// The states of one text, in doubles, as the paper says it.
    std::vector<double> exact(std::vector<std::uint32_t> const &ids, std::vector<std::uint8_t> const &segments) const {
        std::size_t const hidden = shape.hidden, wide = shape.intermediate, tokens = ids.size(),
                          size = hidden / shape.heads;
        auto const read = [&](std::string const &name) {
            std::vector<float> const &values = tensors.at(name).values;
            return std::vector<double>(values.begin(), values.end());
        };
        auto const linear = [&](std::string const &name, std::vector<double> const &in, std::size_t inputs,
                                std::size_t outputs) {
            auto const weight = read(name + ".weight"), bias = read(name + ".bias");
            std::vector<double> out(tokens * outputs);
            for (std::size_t t = 0; t < tokens; ++t)
                for (std::size_t n = 0; n < outputs; ++n) {
                    double sum = bias[n];
                    for (std::size_t k = 0; k < inputs; ++k) sum += in[t * inputs + k] * weight[n * inputs + k];
                    out[t * outputs + n] = sum;
                }
            return out;
        };
        auto const norm = [&](std::string const &name, std::vector<double> &x) {
            auto const gain = read(name + ".weight"), bias = read(name + ".bias");
            for (std::size_t t = 0; t < tokens; ++t) {
                double mean = 0, variance = 0;
                for (std::size_t i = 0; i < hidden; ++i) mean += x[t * hidden + i] / static_cast<double>(hidden);
                for (std::size_t i = 0; i < hidden; ++i)
                    variance += std::pow(x[t * hidden + i] - mean, 2) / static_cast<double>(hidden);
                for (std::size_t i = 0; i < hidden; ++i)
                    x[t * hidden + i] =
                        (x[t * hidden + i] - mean) / std::sqrt(variance + shape.layer_norm_epsilon) * gain[i] + bias[i];
            }
        };
        auto const act = [&](double x) {
            switch (shape.activation) {
            case HiddenActivation::gelu: return x * 0.5 * std::erfc(-x / std::sqrt(2.0));
            case HiddenActivation::gelu_tanh:
                return 0.5 * x * (1 + std::tanh(std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
            case HiddenActivation::relu: return x < 0 ? 0 : x;
            case HiddenActivation::silu: return x / (1 + std::exp(-x));
            case HiddenActivation::tanh: return std::tanh(x);
            }
            return x;
        };
        auto const words = read("embeddings.word_embeddings.weight"),
                   positions = read("embeddings.position_embeddings.weight"),
                   kinds = read("embeddings.token_type_embeddings.weight");
        std::vector<double> x(tokens * hidden);
        for (std::size_t t = 0; t < tokens; ++t)
            for (std::size_t i = 0; i < hidden; ++i)
                x[t * hidden + i] = words[ids[t] * hidden + i] + positions[(t + shape.first_position) * hidden + i] +
                                    kinds[segments[t] * hidden + i];
        norm("embeddings.LayerNorm", x);
        for (std::uint32_t layer_number = 0; layer_number < shape.layers; ++layer_number) {
            auto const layer = "encoder.layer." + std::to_string(layer_number);
            auto const q = linear(layer + ".attention.self.query", x, hidden, hidden),
                       k = linear(layer + ".attention.self.key", x, hidden, hidden),
                       v = linear(layer + ".attention.self.value", x, hidden, hidden);
            std::vector<double> context(tokens * hidden), weights(tokens);
            for (std::size_t head = 0; head < shape.heads; ++head)
                for (std::size_t t = 0; t < tokens; ++t) {
                    double sum = 0;
                    for (std::size_t j = 0; j < tokens; ++j) {
                        double score = 0;
                        for (std::size_t d = head * size; d < (head + 1) * size; ++d)
                            score += q[t * hidden + d] * k[j * hidden + d];
                        sum += weights[j] = std::exp(score / std::sqrt(static_cast<double>(size)));
                    }
                    for (std::size_t j = 0; j < tokens; ++j)
                        for (std::size_t d = head * size; d < (head + 1) * size; ++d)
                            context[t * hidden + d] += weights[j] / sum * v[j * hidden + d];
                }
            auto mixed = linear(layer + ".attention.output.dense", context, hidden, hidden);
            for (std::size_t i = 0; i < x.size(); ++i) x[i] += mixed[i];
            norm(layer + ".attention.output.LayerNorm", x);
            auto between = linear(layer + ".intermediate.dense", x, hidden, wide);
            for (double &value : between) value = act(value);
            mixed = linear(layer + ".output.dense", between, wide, hidden);
            for (std::size_t i = 0; i < x.size(); ++i) x[i] += mixed[i];
            norm(layer + ".output.LayerNorm", x);
        }
        return x;
    }
};

BertShape const small_k = {
    .layers = 2, .hidden = 72, .heads = 3, .intermediate = 100, .vocabulary = 50, .positions = 130, .segments = 2};

struct Batch {
    std::vector<std::uint32_t> ids, offsets = {0};
    std::vector<std::uint8_t> segments;
    Batch(std::vector<std::size_t> const &lengths, std::uint32_t vocabulary) {
        std::minstd_rand random(5);
        for (std::size_t length : lengths) {
            for (std::size_t i = 0; i < length; ++i)
                ids.push_back(static_cast<std::uint32_t>(random() % vocabulary)),
                    segments.push_back(static_cast<std::uint8_t>(random() % 2));
            offsets.push_back(static_cast<std::uint32_t>(ids.size()));
        }
    }
    std::size_t texts() const { return offsets.size() - 1; }
    std::uint32_t longest(std::size_t first, std::size_t count) const {
        std::uint32_t answer = 0;
        for (std::size_t i = first; i < first + count; ++i) answer = std::max(answer, offsets[i + 1] - offsets[i]);
        return answer;
    }
};

/// The states of texts `first` to `first + count`, with guards around the states and the workspace.
std::vector<float> run(BertEncoder const &encoder, Batch const &batch, std::size_t first, std::size_t count,
                       bool with_segments = true) {
    std::uint32_t const tokens = batch.offsets[first + count] - batch.offsets[first];
    std::size_t const bytes = encoder.workspace_bytes(tokens, batch.longest(first, count));
    Guarded states(tokens * encoder.shape().hidden), workspace(bytes / sizeof(float));
    encoder.forward(batch.ids, std::span(batch.offsets).subspan(first, count + 1), states.data(),
                    {reinterpret_cast<std::byte *>(workspace.data()), bytes},
                    with_segments ? std::span(batch.segments) : std::span<std::uint8_t const>());
    CHECK(states.intact());
    CHECK(workspace.intact());
    return {states.data(), states.data() + states.size()};
}

template <class Test> void for_each_set(Test &&test) {
    for (InstructionSet set : instruction_sets) {
        std::string const name(instruction_set_name(set));
        if (!supports(set)) {
            WARN("skipped on this machine: " << name);
            continue;
        }
        INFO("instruction set " << name);
        test(set);
    }
}

std::string replaced(std::string text, std::string const &from, std::string const &to) {
    if (auto const at = text.rfind(from); at != text.npos) text.replace(at, from.size(), to);
    return text;
}

} // namespace

TEST_CASE("the encoder's states equal double precision", "[encoder]") {
    for_each_set([](InstructionSet set) {
        for (HiddenActivation activation : {HiddenActivation::gelu, HiddenActivation::gelu_tanh, HiddenActivation::relu,
                                            HiddenActivation::silu, HiddenActivation::tanh}) {
            BertShape shape = small_k;
            shape.activation = activation, shape.first_position = activation == HiddenActivation::relu ? 2 : 0;
            Model const model(shape);
            auto const checkpoint = model.checkpoint();
            auto const encoder = BertEncoder::load(shape, checkpoint, set);
            REQUIRE(encoder);
            Batch const batch({1, 7, 2, 33, 0, 70}, shape.vocabulary);
            for (bool with_segments : {true, false}) {
                auto const states = run(*encoder, batch, 0, batch.texts(), with_segments);
                double worst = 0;
                for (std::size_t text = 0; text < batch.texts(); ++text) {
                    std::vector<std::uint32_t> const ids(batch.ids.begin() + batch.offsets[text],
                                                         batch.ids.begin() + batch.offsets[text + 1]);
                    std::vector<std::uint8_t> segments(batch.segments.begin() + batch.offsets[text],
                                                       batch.segments.begin() + batch.offsets[text + 1]);
                    if (!with_segments) segments.assign(segments.size(), 0);
                    auto const exact = model.exact(ids, segments);
                    for (std::size_t i = 0; i < exact.size(); ++i)
                        keep_worst(worst, std::fabs(exact[i] - static_cast<double>(
                                                                   states[batch.offsets[text] * shape.hidden + i])));
                }
                CHECK(worst < 2e-5); // of states of unit variance
            }
        }
    });
}

TEST_CASE("a text's states have the same bits alone, in any company and in any chunk", "[encoder]") {
    for_each_set([](InstructionSet set) {
        Model const model(small_k);
        auto const checkpoint = model.checkpoint();
        auto const encoder = BertEncoder::load(small_k, checkpoint, set);
        REQUIRE(encoder);
        Batch const batch({3, 1, 70, 12, 129, 8, 5, 64, 1, 1, 31, 130}, small_k.vocabulary);
        auto const together = run(*encoder, batch, 0, batch.texts());
        std::size_t const hidden = small_k.hidden;
        for (std::size_t first = 0; first < batch.texts(); ++first)
            for (std::size_t count : {std::size_t{1}, std::size_t{2}, std::size_t{5}}) {
                if (first + count > batch.texts()) continue;
                auto const part = run(*encoder, batch, first, count);
                REQUIRE(same_bits(part.data(), together.data() + batch.offsets[first] * hidden, part.size()));
            }
    });
}

TEST_CASE("the same weights in any spelling give the same bits", "[encoder]") {
    Model const model(small_k, true);
    Batch const batch({9, 20}, small_k.vocabulary);
    auto const plain = model.checkpoint();
    auto const encoder = BertEncoder::load(small_k, plain);
    REQUIRE(encoder);
    auto const expected = run(*encoder, batch, 0, 2);
    auto const same = [&](FakeCheckpoint const &checkpoint) {
        auto const other = BertEncoder::load(small_k, checkpoint);
        REQUIRE(other);
        auto const states = run(*other, batch, 0, 2);
        return same_bits(states.data(), expected.data(), expected.size());
    };
    auto const old = [](std::string const &name) {
        return replaced(replaced(name, "LayerNorm.weight", "LayerNorm.gamma"), "LayerNorm.bias", "LayerNorm.beta");
    };
    CHECK(same(model.checkpoint([](std::string const &name) { return "bert." + name; })));
    CHECK(same(model.checkpoint(old)));
    CHECK(same(model.checkpoint([&](std::string const &name) { return "bert." + old(name); })));
    CHECK(same(model.checkpoint({}, DType::bf16)));
    for (std::size_t shift : {1u, 2u, 3u, 4u}) CHECK(same(model.checkpoint({}, DType::f32, shift)));
    auto more = model.checkpoint();
    more.add("embeddings.position_ids", {1, 130}, std::vector<float>(130, std::numeric_limits<float>::quiet_NaN()));
    more.add("pooler.dense.weight", {3}, {1, 2, 3});
    more.add("cls.predictions.bias", {1}, {HUGE_VALF});
    CHECK(same(more));
}

TEST_CASE("a checkpoint that can't be right is refused with the tensor's name", "[encoder]") {
    Model const model(small_k);
    auto const refused = [&](FakeCheckpoint const &checkpoint, Status status, std::string const &part) {
        auto const encoder = BertEncoder::load(small_k, checkpoint);
        REQUIRE_FALSE(encoder);
        INFO(encoder.error().message());
        CHECK(encoder.error().status() == status);
        CHECK(encoder.error().message().find(part) != std::string_view::npos);
        CHECK(encoder.error().message().find("folder/model.safetensors") != std::string_view::npos);
    };
    for (auto const &[name, tensor] : model.tensors) { // each one: missing, of another shape, not a number somewhere
        INFO(name);
        auto const others = [&, gone = name](std::string const &other) {
            return other == gone ? std::string("elsewhere") : other;
        };
        if (name != "embeddings.word_embeddings.weight")
            refused(model.checkpoint(others), Status::corrupt, "\"" + name + "\" is missing");
        auto larger = model.checkpoint(others);
        auto extents = tensor.shape;
        extents.back() += 1;
        std::size_t elements = 1;
        for (std::size_t extent : extents) elements *= extent;
        larger.add(name, extents, std::vector<float>(elements));
        refused(larger, Status::corrupt, "not [" + std::to_string(tensor.shape[0]));
        for (std::size_t place : {std::size_t{0}, tensor.values.size() / 2, tensor.values.size() - 1})
            for (float bad : {std::numeric_limits<float>::quiet_NaN(), -HUGE_VALF}) {
                auto values = tensor.values;
                values[place] = bad;
                auto broken = model.checkpoint(others);
                broken.add(name, tensor.shape, values, place % 2 ? DType::bf16 : DType::f32);
                refused(broken, Status::corrupt, "\"" + name + "\" holds NaN");
            }
    }
    auto const missing = BertEncoder::load(small_k, FakeCheckpoint());
    REQUIRE_FALSE(missing);
    CHECK(missing.error().status() == Status::corrupt);
    auto strange = model.checkpoint(
        [](std::string const &name) { return name == "embeddings.LayerNorm.bias" ? std::string("elsewhere") : name; });
    strange.add("embeddings.LayerNorm.bias", {small_k.hidden}, std::vector<float>(small_k.hidden), DType::i32);
    refused(strange, Status::unsupported, "embeddings.LayerNorm.bias");

    auto const checkpoint = model.checkpoint();
    for (auto const change :
         {+[](BertShape &shape) { shape.layers = 0; }, +[](BertShape &shape) { shape.heads = 0; },
          +[](BertShape &shape) { shape.heads = 5; }, +[](BertShape &shape) { shape.hidden = UINT32_MAX; },
          +[](BertShape &shape) { shape.first_position = shape.positions; },
          +[](BertShape &shape) { shape.vocabulary = 0; }, +[](BertShape &shape) { shape.layers = 3; }}) {
        BertShape shape = small_k;
        change(shape);
        auto const encoder = BertEncoder::load(shape, checkpoint);
        REQUIRE_FALSE(encoder);
        CHECK(encoder.error().status() == Status::corrupt);
    }
}

TEST_CASE("chunks cover a batch once, balanced, largest first", "[encoder][chunks]") {
    std::minstd_rand random(3);
    Chunk none[1];
    CHECK(plan_chunks({}, 2, none) == 0);
    for (int round = 0; round < 300; ++round) {
        std::size_t const texts = 1 + random() % 200, threads = 1 + random() % 4;
        std::vector<std::uint32_t> offsets = {static_cast<std::uint32_t>(random() % 1000)};
        std::uint32_t longest = 0;
        for (std::size_t i = 0; i < texts; ++i) {
            auto const length = static_cast<std::uint32_t>(random() % (round % 3 == 0 ? 600 : 60));
            longest = std::max(longest, length);
            offsets.push_back(offsets.back() + length);
        }
        std::vector<Chunk> chunks(texts);
        std::size_t const count = plan_chunks(offsets, threads, chunks);
        std::vector<int> covered(texts, 0);
        for (std::size_t i = 0; i < count; ++i) {
            REQUIRE(chunks[i].texts > 0);
            REQUIRE(chunks[i].tokens ==
                    offsets[chunks[i].first_text + chunks[i].texts] - offsets[chunks[i].first_text]);
            REQUIRE(chunks[i].tokens <= chunk_tokens_k + longest);
            if (i) REQUIRE(chunks[i].tokens <= chunks[i - 1].tokens);
            for (std::size_t text = 0; text < chunks[i].texts; ++text) covered[chunks[i].first_text + text] += 1;
        }
        for (int times : covered) REQUIRE(times == 1);
    }
    std::vector<std::uint32_t> even = {0};
    for (int i = 0; i < 32; ++i) even.push_back(even.back() + 16);
    std::vector<Chunk> chunks(32);
    REQUIRE(plan_chunks(even, 2, chunks) == 4); // 512 tokens: two chunks of 128 for each of two threads
    for (int i = 0; i < 4; ++i) CHECK(chunks[static_cast<std::size_t>(i)].tokens == 128);
    CHECK(plan_chunks(std::span(even).first(5), 2, chunks) == 2); // 64 tokens: one of 32 for each
    CHECK(plan_chunks(std::span(even).first(2), 2, chunks) == 1);
}

TEST_CASE("a weight block is empty, aligned, or refused", "[encoder]") {
    WeightBlock small, large, absurd;
    REQUIRE(small.allocate(100));
    CHECK(reinterpret_cast<std::uintptr_t>(small.data()) % 64 == 0);
    REQUIRE(large.allocate(3u << 20));
    CHECK(reinterpret_cast<std::uintptr_t>(large.data()) % (2u << 20) == 0);
    CHECK_FALSE(large.allocate(1));
    CHECK_FALSE(absurd.allocate(SIZE_MAX - 10));
    if (!UFORM_ADDRESS_SANITIZER) CHECK_FALSE(absurd.allocate(std::size_t{1} << 60)); // the sanitizer would abort
    WeightBlock moved = std::move(small);
    CHECK(moved.size() == 100);
    CHECK(small.data() == nullptr);
}
