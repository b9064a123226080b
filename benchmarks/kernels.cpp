/// Each kernel's speed on one thread, and its share of the multiply-add peak measured in the same run.
///
/// Usage: kernels [portable|avx2|avx512]…   all sets of this machine by default
/// Times are the thread's processor time, medians of several, so that a busy machine disturbs little.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <time.h> // clock_gettime

#include "uform/config.hpp"
#include "uform/encoder/bert.hpp"
#include "uform/encoder/chunks.hpp"
#include "uform/kernels/attention.hpp"
#include "uform/kernels/kernels.hpp"
#include "uform/kernels/linear.hpp"

namespace {

using namespace uform;

double thread_seconds() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

/// Median seconds of one call, over `rounds` of at least three milliseconds each.
template <class Call> double median_seconds(Call &&call, std::size_t rounds = 9) {
    call();
    std::size_t calls = 1;
    for (double seconds = 0; seconds < 3e-3; calls *= 2) {
        double const start = thread_seconds();
        for (std::size_t i = 0; i < calls; ++i) call();
        seconds = thread_seconds() - start;
        if (seconds >= 3e-3) break;
    }
    std::vector<double> times;
    for (std::size_t round = 0; round < rounds; ++round) {
        double const start = thread_seconds();
        for (std::size_t i = 0; i < calls; ++i) call();
        double const seconds = (thread_seconds() - start) / static_cast<double>(calls);
        auto at = times.begin();
        while (at != times.end() && *at < seconds) ++at;
        times.insert(at, seconds);
    }
    return times[rounds / 2];
}

/// Numbers of [-scale, scale), the same in every run.
std::vector<float> random_floats(std::size_t count, float scale, std::uint32_t seed = 1) {
    std::vector<float> values(count);
    std::uint32_t state = seed * 2654435761u + 1;
    for (float &value : values) {
        state = state * 1664525u + 1013904223u;
        value = (static_cast<float>(state >> 8) / 8388608.0f - 1.0f) * scale;
    }
    return values;
}

float volatile sink;

#if UFORM_X86
UFORM_TARGET_AVX512 void multiply_add_loop_avx512(std::size_t count) {
    __m512 sums[16], factor = _mm512_set1_ps(0.999f), addend = _mm512_set1_ps(1e-3f);
#pragma GCC unroll 16
    for (int i = 0; i < static_cast<int>(std::size(sums)); ++i)
        sums[i] = _mm512_set1_ps(static_cast<float>(i + 2)); // equal chains would be merged
    for (std::size_t i = 0; i < count; ++i) {
#pragma GCC unroll 16
        for (auto &sum : sums) sum = _mm512_fmadd_ps(sum, factor, addend);
    }
    for (auto &sum : sums) sink = _mm512_cvtss_f32(sum);
}
UFORM_TARGET_AVX2 void multiply_add_loop_avx2(std::size_t count) {
    __m256 sums[12], factor = _mm256_set1_ps(0.999f), addend = _mm256_set1_ps(1e-3f);
#pragma GCC unroll 16
    for (int i = 0; i < static_cast<int>(std::size(sums)); ++i)
        sums[i] = _mm256_set1_ps(static_cast<float>(i + 2)); // equal chains would be merged
    for (std::size_t i = 0; i < count; ++i) {
#pragma GCC unroll 16
        for (auto &sum : sums) sum = _mm256_fmadd_ps(sum, factor, addend);
    }
    for (auto &sum : sums) sink = _mm256_cvtss_f32(sum);
}
#endif

/// Floating-point operations a second of one thread at its best; 0 where it isn't measured.
double measure_peak(InstructionSet set) {
    std::size_t const count = 20000;
#if UFORM_X86
    if (set == InstructionSet::avx512)
        return 2.0 * 16 * 16 * count / median_seconds([&] { multiply_add_loop_avx512(count); });
    if (supports(InstructionSet::avx2))
        return 2.0 * 8 * 12 * count / median_seconds([&] { multiply_add_loop_avx2(count); });
#endif
    return static_cast<void>(set), static_cast<void>(count), 0;
}

void print_row(std::string_view name, double operations, double seconds, double peak) {
    std::printf("  %-34.*s %9.2f us  %7.1f GFLOP/s", static_cast<int>(name.size()), name.data(), seconds * 1e6,
                operations / seconds * 1e-9);
    if (peak > 0) std::printf("  %5.1f %% of peak", 100 * operations / seconds / peak);
    std::printf("\n");
}

float *aligned(std::vector<float> &storage, std::size_t count) {
    storage.assign(count + 16, 0.0f);
    auto const address = reinterpret_cast<std::uintptr_t>(storage.data());
    return storage.data() + (64 - address % 64) % 64 / sizeof(float);
}

struct Layer {
    std::vector<float> memory;
    PackedLinear packed;
    Layer(Kernels const &kernels, std::uint32_t inputs, std::uint32_t outputs)
        : packed(describe_linear(kernels, inputs, outputs)) {
        place_linear(packed, reinterpret_cast<std::byte *>(aligned(memory, packed.bytes() / sizeof(float))));
        auto const weights = random_floats(std::size_t{inputs} * outputs, 0.06f, inputs + outputs);
        for (std::size_t n = 0; n < outputs; ++n) pack_output(packed, n, &weights[n * inputs], 0.01f);
    }
};

void measure_linear(Kernels const &kernels, double peak) {
    struct Shape {
        std::uint32_t inputs, outputs;
        bool gelu, residual;
    };
    for (Shape shape : {Shape{384, 1152, false, false}, Shape{384, 384, false, true}, Shape{384, 1536, true, false},
                        Shape{1536, 384, false, true}, Shape{768, 2304, false, false}, Shape{768, 3072, true, false},
                        Shape{3072, 768, false, true}}) {
        Layer const layer(kernels, shape.inputs, shape.outputs);
        for (std::size_t rows : {1u, 8u, 16u, 32u, 64u, 128u}) {
            auto const input = random_floats(rows * shape.inputs, 1.0f);
            auto const residual = random_floats(rows * shape.outputs, 1.0f);
            std::vector<float> output(rows * shape.outputs);
            LinearRows call = {.rows = rows,
                               .input = input.data(),
                               .input_stride = shape.inputs,
                               .output = output.data(),
                               .output_stride = shape.outputs,
                               .residual = shape.residual ? residual.data() : nullptr,
                               .residual_stride = shape.outputs,
                               .gelu = shape.gelu};
            double const seconds = median_seconds([&] { apply_linear(kernels, layer.packed, call); });
            char name[64];
            std::snprintf(name, sizeof name, "linear %ux%u%s, %zu rows", shape.inputs, shape.outputs,
                          shape.gelu       ? " gelu"
                          : shape.residual ? " residual"
                                           : "",
                          rows);
            print_row(name, 2.0 * shape.inputs * shape.outputs * static_cast<double>(rows), seconds, peak);
        }
    }
}

void measure_attention(Kernels const &kernels, double peak) {
    std::size_t const heads = 12;
    for (std::size_t head_size : {32u, 64u})
        for (std::size_t tokens : {16u, 32u, 50u, 64u, 128u, 256u, 512u}) {
            std::size_t const hidden = heads * head_size;
            auto const rows = random_floats(tokens * 3 * hidden, 0.5f);
            std::vector<float> context(tokens * hidden), scratch;
            float *const memory = aligned(scratch, AttentionScratch(kernels, tokens, head_size).floats());
            AttentionRows const call = {.tokens = tokens,
                                        .heads = heads,
                                        .head_size = head_size,
                                        .queries = rows.data(),
                                        .keys = rows.data() + hidden,
                                        .values = rows.data() + 2 * hidden,
                                        .stride = 3 * hidden,
                                        .context = context.data(),
                                        .context_stride = hidden};
            double const seconds = median_seconds([&] { attend(kernels, call, memory); });
            char name[64];
            std::snprintf(name, sizeof name, "attention of 12 x %zu, %zu tokens", head_size, tokens);
            print_row(name, 4.0 * static_cast<double>(tokens * tokens * hidden), seconds, peak);
        }
}

void measure_layer_norm(Kernels const &kernels) {
    for (std::size_t columns : {384u, 768u}) {
        std::size_t const rows = 64;
        auto const in = random_floats(rows * columns, 1.0f), gain = random_floats(columns, 1.0f);
        std::vector<float> out(rows * columns);
        double const seconds = median_seconds(
            [&] { kernels.layer_norm(in.data(), rows, columns, gain.data(), gain.data(), 1e-12f, out.data()); });
        std::printf("  layer norm of %zu columns            %9.3f us a row\n", columns, seconds * 1e6 / rows);
    }
}

/// Tensors of random numbers under the names of a BERT checkpoint, made when they are asked for.
class RandomWeights {
    struct Tensor {
        std::string name;
        std::vector<std::size_t> shape;
        std::vector<float> values;
        TensorView view;
    };
    std::deque<Tensor> mutable tensors_;

  public:
    void add(std::string const &name, std::vector<std::size_t> shape, float scale, float offset = 0) {
        std::size_t elements = 1;
        for (std::size_t extent : shape) elements *= extent;
        auto &tensor = tensors_.emplace_back();
        tensor.name = name, tensor.shape = std::move(shape);
        tensor.values = random_floats(elements, scale, static_cast<std::uint32_t>(tensors_.size()));
        for (float &value : tensor.values) value += offset;
        tensor.view = {tensor.name,
                       DType::f32,
                       Scalar::f32,
                       0,
                       tensor.shape,
                       reinterpret_cast<std::byte const *>(tensor.values.data()),
                       elements * sizeof(float)};
    }
    TensorView const *find(std::string_view name) const {
        for (auto const &tensor : tensors_)
            if (tensor.name == name) return &tensor.view;
        return nullptr;
    }
    std::string_view file_of(TensorView const &) const { return "random weights"; }

    explicit RandomWeights(BertShape const &shape) {
        std::size_t const hidden = shape.hidden, wide = shape.intermediate;
        auto const linear = [&](std::string const &name, std::size_t inputs, std::size_t outputs) {
            add(name + ".weight", {outputs, inputs}, 0.06f), add(name + ".bias", {outputs}, 0.02f);
        };
        auto const norm = [&](std::string const &name) {
            add(name + ".weight", {hidden}, 0.2f, 1.0f), add(name + ".bias", {hidden}, 0.1f);
        };
        add("embeddings.word_embeddings.weight", {shape.vocabulary, hidden}, 0.1f);
        add("embeddings.position_embeddings.weight", {shape.positions, hidden}, 0.1f);
        add("embeddings.token_type_embeddings.weight", {shape.segments, hidden}, 0.1f);
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
};

void measure_encoder(InstructionSet set, double peak) {
    struct Model {
        char const *name;
        BertShape shape;
    };
    for (Model const &model : {Model{"MiniLM",
                                     {.layers = 6,
                                     .hidden = 384,
                                     .heads = 12,
                                     .intermediate = 1536,
                                     .vocabulary = 1000,
                                     .positions = 512,
                                     .segments = 2}},
                               Model{"BERT-base",
                                     {.layers = 12,
                                     .hidden = 768,
                                     .heads = 12,
                                     .intermediate = 3072,
                                     .vocabulary = 1000,
                                     .positions = 512,
                                     .segments = 2}}}) {
        BertShape const &shape = model.shape;
        RandomWeights const weights(shape);
        double const before = thread_seconds();
        auto const encoder = BertEncoder::load(shape, weights, set);
        if (!encoder) return static_cast<void>(std::puts(encoder.error().what()));
        std::printf("  %s shape: packing %.1f ms\n", model.name, (thread_seconds() - before) * 1e3);
        struct Batch {
            std::uint32_t texts, length;
        };
        for (Batch batch : {Batch{1, 8}, Batch{1, 16}, Batch{1, 32}, Batch{8, 16}, Batch{4, 32}, Batch{2, 64},
                            Batch{1, 128}, Batch{4, 128}, Batch{1, 512}}) {
            std::size_t const tokens = batch.texts * batch.length, hidden = shape.hidden;
            std::vector<std::uint32_t> ids(tokens), offsets(batch.texts + 1);
            for (std::uint32_t i = 0; i < tokens; ++i) ids[i] = i * 7919 % shape.vocabulary;
            for (std::uint32_t i = 0; i <= batch.texts; ++i) offsets[i] = i * batch.length;
            std::vector<Chunk> chunks(batch.texts);
            std::size_t const count = plan_chunks(offsets, 1, chunks);
            std::vector<float> states(tokens * hidden), storage;
            std::size_t bytes = 0;
            for (std::size_t i = 0; i < count; ++i) {
                std::size_t const needed = encoder->workspace_bytes(chunks[i].tokens, batch.length);
                bytes = bytes < needed ? needed : bytes;
            }
            auto *const memory = reinterpret_cast<std::byte *>(aligned(storage, bytes / sizeof(float)));
            double const seconds = median_seconds(
                [&] {
                    for (std::size_t i = 0; i < count; ++i) {
                        Chunk const &chunk = chunks[i];
                        encoder->forward(ids, std::span(offsets).subspan(chunk.first_text, chunk.texts + 1),
                                         states.data() + offsets[chunk.first_text] * hidden, {memory, bytes});
                    }
                },
                5);
            double const a_token = shape.layers * (2.0 * static_cast<double>(hidden) *
                                                       (4.0 * static_cast<double>(hidden) + 2.0 * shape.intermediate) +
                                                   4.0 * batch.length * static_cast<double>(hidden));
            char name[64];
            std::snprintf(name, sizeof name, "%s, %u x %u tokens", model.name, batch.texts, batch.length);
            print_row(name, a_token * static_cast<double>(tokens), seconds, peak);
            std::printf("    %.0f tokens/s\n", static_cast<double>(tokens) / seconds);
        }
    }
}

void measure(InstructionSet set) {
    Kernels const &kernels = kernels_for(set);
    double const peak = measure_peak(set);
    auto const name = instruction_set_name(set);
    std::printf("%.*s: peak of one thread %.1f GFLOP/s\n", static_cast<int>(name.size()), name.data(), peak * 1e-9);
    measure_linear(kernels, peak);
    measure_attention(kernels, peak);
    measure_layer_norm(kernels);
    measure_encoder(set, peak);
}

} // namespace

int main(int count, char *arguments[]) {
    for (InstructionSet set : instruction_sets) {
        bool asked = count < 2;
        for (int i = 1; i < count; ++i) asked |= instruction_set_name(set) == arguments[i];
        if (!asked) continue;
        if (supports(set)) measure(set);
        else std::printf("%s: skipped, this machine lacks it\n", instruction_set_name(set).data());
    }
}
