/// Tests packed linear layers of every instruction set against double precision, at all edges, and their bits.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "catch.hpp"
#include "kernels_fixture.hpp"
#include "uform/kernels/linear.hpp"

using namespace uform;
using uform::test::for_each_set;
using uform::test::Guarded;
using uform::test::keep_worst;
using uform::test::random_floats;
using uform::test::same_bits;

namespace {

struct Layer {
    std::uint32_t inputs, outputs;
    std::vector<float> weights, bias;
    Guarded memory;
    PackedLinear packed;

    Layer(Kernels const &kernels, std::uint32_t inputs_, std::uint32_t outputs_, float scale = 1)
        : inputs(inputs_), outputs(outputs_), weights(random_floats(std::size_t{inputs} * outputs, 1, inputs)),
          bias(random_floats(outputs, 1, outputs)),
          memory(describe_linear(kernels, inputs, outputs).bytes() / sizeof(float)),
          packed(describe_linear(kernels, inputs, outputs)) {
        place_linear(packed, reinterpret_cast<std::byte *>(memory.data()));
        for (std::size_t n = 0; n < outputs; ++n) pack_output(packed, n, &weights[n * inputs], bias[n], scale);
    }
};

double exact_gelu(double x) { return x * 0.5 * std::erfc(-x / std::sqrt(2.0)); }

struct Case {
    std::size_t rows;
    bool gelu, residual;
};

/// Applies the layer to `rows` with padded strides, and compares with double precision.
void check(Kernels const &kernels, Layer const &layer, Case const &what, std::size_t shift) {
    INFO("rows " << what.rows << ", inputs " << layer.inputs << ", outputs " << layer.outputs << ", gelu " << what.gelu
                 << ", residual " << what.residual);
    std::size_t const in_stride = layer.inputs + 3, out_stride = layer.outputs + 5, residual_stride = layer.outputs + 1;
    Guarded const input(random_floats(what.rows * in_stride, 1, 7), shift),
        residual(random_floats(what.rows * residual_stride, 1, 9), shift);
    Guarded output(std::vector<float>(what.rows * out_stride, -77.0f), shift);
    apply_linear(kernels, layer.packed,
                 {.rows = what.rows,
                  .input = input.data(),
                  .input_stride = in_stride,
                  .output = output.data(),
                  .output_stride = out_stride,
                  .residual = what.residual ? residual.data() : nullptr,
                  .residual_stride = residual_stride,
                  .gelu = what.gelu});
    double worst = 0;
    bool gaps_kept = true;
    for (std::size_t i = 0; i < what.rows; ++i) {
        for (std::size_t n = 0; n < layer.outputs; ++n) {
            double sum = 0, magnitude = 1;
            for (std::size_t k = 0; k < layer.inputs; ++k) {
                double const product = static_cast<double>(input.data()[i * in_stride + k]) *
                                       static_cast<double>(layer.weights[n * layer.inputs + k]);
                sum += product, magnitude += std::fabs(product);
            }
            sum += static_cast<double>(layer.bias[n]);
            if (what.residual) sum += static_cast<double>(residual.data()[i * residual_stride + n]);
            if (what.gelu) sum = exact_gelu(sum);
            keep_worst(worst, std::fabs(sum - static_cast<double>(output[i * out_stride + n])) / magnitude);
        }
        for (std::size_t n = layer.outputs; n < out_stride; ++n) gaps_kept &= output[i * out_stride + n] == -77.0f;
    }
    CHECK(worst < 5e-7);
    CHECK(gaps_kept);
    CHECK(output.intact());
}

} // namespace

TEST_CASE("a linear layer equals double precision at every edge", "[kernels][linear]") {
    for_each_set([](Kernels const &kernels) {
        for (std::uint32_t inputs : {1u, 2u, 7u, 32u, 65u, 512u, 513u, 768u, 769u, 1100u})
            for (std::uint32_t outputs : {1u, 5u, 8u, 23u, 24u, 25u, 47u, 48u, 49u, 96u, 100u}) {
                if (inputs > 100 && outputs > 50) continue;
                Layer const layer(kernels, inputs, outputs);
                CHECK(layer.memory.intact());
                for (std::size_t rows : {1u, 2u, 3u, 4u, 5u, 7u, 8u, 9u, 13u, 17u})
                    check(kernels, layer, {rows, rows % 3 == 0, rows % 2 == 1}, rows % 5);
            }
        Layer const layer(kernels, 40, 50);
        for (std::size_t rows : {0u, 191u, 192u, 193u, 400u}) check(kernels, layer, {rows, true, true}, 1);
    });
}

TEST_CASE("a packed layer's scale multiplies weights and bias", "[kernels][linear]") {
    for_each_set([](Kernels const &kernels) {
        Layer const plain(kernels, 33, 50), scaled(kernels, 33, 50, 0.25f);
        auto const input = random_floats(33, 1, 3);
        std::vector<float> a(50), b(50);
        apply_linear(kernels, plain.packed,
                     {.rows = 1, .input = input.data(), .input_stride = 33, .output = a.data(), .output_stride = 50});
        apply_linear(kernels, scaled.packed,
                     {.rows = 1, .input = input.data(), .input_stride = 33, .output = b.data(), .output_stride = 50});
        for (std::size_t n = 0; n < 50; ++n) CHECK(b[n] == a[n] * 0.25f); // a power of two changes no digit
    });
}

TEST_CASE("a row's bits depend neither on the rows beside it nor on the panels computed together",
          "[kernels][linear]") {
    for_each_set([](Kernels const &kernels) {
        for (auto [inputs, outputs] : {std::pair{384u, 200u}, std::pair{1537u, 61u}, std::pair{30u, 7u}}) {
            INFO("inputs " << inputs << ", outputs " << outputs);
            Layer const layer(kernels, inputs, outputs);
            std::size_t const rows = 70;
            Guarded const input(random_floats(rows * inputs, 2, 5)), residual(random_floats(rows * outputs, 1, 6));
            for (bool gelu : {false, true}) {
                std::vector<float> alone(rows * outputs);
                for (std::size_t i = 0; i < rows; ++i)
                    apply_linear(kernels, layer.packed,
                                 {.rows = 1,
                                  .input = input.data() + i * inputs,
                                  .input_stride = inputs,
                                  .output = &alone[i * outputs],
                                  .output_stride = outputs,
                                  .residual = residual.data() + i * outputs,
                                  .residual_stride = outputs,
                                  .gelu = gelu});
                std::minstd_rand random(11);
                for (int round = 0; round < 40; ++round) {
                    Guarded output(rows * outputs, random() % 16),
                        moved(std::vector<float>(input.data(), input.data() + rows * inputs), random() % 16);
                    for (std::size_t first = 0; first < rows;) {
                        std::size_t const left = rows - first, count = round == 0 ? left : 1 + random() % left;
                        std::size_t const panels = layer.packed.panel_count(), cut = random() % (panels + 1);
                        LinearRows call = {.rows = count,
                                           .input = moved.data() + first * inputs,
                                           .input_stride = inputs,
                                           .output = output.data() + first * outputs,
                                           .output_stride = outputs,
                                           .residual = residual.data() + first * outputs,
                                           .residual_stride = outputs,
                                           .gelu = gelu};
                        call.last_panel = cut;
                        apply_linear(kernels, layer.packed, call);
                        call.first_panel = cut, call.last_panel = SIZE_MAX;
                        apply_linear(kernels, layer.packed, call);
                        first += count;
                    }
                    REQUIRE(same_bits(output.data(), alone.data(), alone.size()));
                    REQUIRE(output.intact());
                }
            }
        }
    });
}

TEST_CASE("GELU holds its bound over all magnitudes", "[kernels][gelu]") {
    for_each_set([](Kernels const &kernels) {
        // One input of weight one: the sum is the input itself, so that the fused GELU can be seen alone.
        PackedLinear layer = describe_linear(kernels, 1, 1);
        Guarded memory(layer.bytes() / sizeof(float));
        place_linear(layer, reinterpret_cast<std::byte *>(memory.data()));
        float const one = 1;
        pack_output(layer, 0, &one, 0);
        std::vector<float> inputs = {0.0f,   -0.0f,         5.5f,           -5.5f,  1e30f,
                                     -1e30f, 3.4028235e38f, -3.4028235e38f, 1e-45f, -1e-45f};
        for (std::uint32_t exponent = 0; exponent < 255; ++exponent)
            for (std::uint32_t fraction = 0; fraction < (1u << 23); fraction += 119993)
                for (std::uint32_t sign : {0u, 1u})
                    inputs.push_back(std::bit_cast<float>(sign << 31 | exponent << 23 | fraction));
        for (int i = -60000; i <= 60000; ++i) inputs.push_back(static_cast<float>(i) * 1e-4f);
        std::vector<float> outputs(inputs.size());
        apply_linear(kernels, layer,
                     {.rows = inputs.size(),
                      .input = inputs.data(),
                      .input_stride = 1,
                      .output = outputs.data(),
                      .output_stride = 1,
                      .gelu = true});
        double worst = 0;
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            double const x = static_cast<double>(inputs[i]),
                         error = std::fabs(exact_gelu(x) - static_cast<double>(outputs[i]));
            if (!(error <= 1e-45))
                keep_worst(worst, error / std::fabs(x)); // half of the smallest subnormal rounds away
            if (x > 6) REQUIRE(outputs[i] == inputs[i]);
            if (x < -6) REQUIRE(outputs[i] == 0.0f);
        }
        CHECK(worst < 3.5e-7);
        float const odd[] = {std::nanf(""), HUGE_VALF};
        float result[2];
        apply_linear(kernels, layer,
                     {.rows = 2, .input = odd, .input_stride = 1, .output = result, .output_stride = 1, .gelu = true});
        CHECK(std::isnan(result[0]));
        CHECK(std::isinf(result[1]));
    });
}
