/// Texts of which only the first tokens are attended to, and texts of two segments, in every family.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "golden.hpp"
#include "kernels_fixture.hpp"
#include "uform/checkpoint/checkpoint.hpp"
#include "uform/checkpoint/configuration.hpp"
#include "uform/encoder/encoder.hpp"

using namespace uform;
using uform::test::for_each_set;
using uform::test::Guarded;
using uform::test::keep_worst;
using uform::test::same_bits;

namespace {

/// A checkpoint's encoder, the texts of its goldens, and the reference's states.
struct Family {
    EncoderConfiguration configuration;
    Checkpoint checkpoint;
    Encoder encoder;
    std::vector<std::uint32_t> ids, offsets, attended;
    std::vector<std::uint8_t> segments;
    std::vector<float> expected;

    static Family read(std::string const &name, InstructionSet set) {
        std::string const folder = data_path(name == "tiny" ? name : "families/" + name);
        auto configuration = read_configuration(folder).value();
        auto checkpoint = Checkpoint::open(folder).value();
        auto encoder =
            Encoder::load(configuration.encoder, configuration.max_sequence_length, checkpoint, set, folder).value();
        Golden const golden(data_path("attended/golden.safetensors"));
        return {std::move(configuration.encoder),
                std::move(checkpoint),
                std::move(encoder),
                golden.read<std::uint32_t>(name + ".ids"),
                golden.read<std::uint32_t>(name + ".offsets"),
                golden.read<std::uint32_t>(name + ".attended"),
                golden.read<std::uint8_t>(name + ".segments"),
                golden.read<float>(name + ".states")};
    }
    std::size_t texts() const { return offsets.size() - 1; }
    std::size_t hidden() const { return configuration.hidden_size; }

    /// The states of texts `first` to `first + count`, between guards.
    std::vector<float> states(std::size_t first, std::size_t count, std::span<std::uint8_t const> segments_given,
                              std::span<std::uint32_t const> attended_given) const {
        std::uint32_t const tokens = offsets[first + count] - offsets[first];
        std::size_t const bytes = encoder.workspace_bytes(tokens, tokens);
        Guarded rows(tokens * hidden()), workspace(bytes / sizeof(float));
        encoder.forward(ids, std::span(offsets).subspan(first, count + 1), rows.data(),
                        {reinterpret_cast<std::byte *>(workspace.data()), bytes}, segments_given, attended_given);
        CHECK(rows.intact());
        CHECK(workspace.intact());
        return {rows.data(), rows.data() + rows.size()};
    }
};

std::string const families[] = {"tiny", "roberta", "distilbert", "mpnet", "modernbert", "nomic-bert"};

double largest_of(std::vector<float> const &values) {
    double largest = 0;
    for (float const value : values) largest = std::max(largest, std::fabs(static_cast<double>(value)));
    return largest;
}

} // namespace

TEST_CASE("texts whose first tokens alone are attended to have the reference's states", "[attended]") {
    for (auto const &name : families)
        for_each_set([&](Kernels const &kernels) {
            INFO(name);
            auto const family = Family::read(name, kernels.set);
            auto const ours = family.states(0, family.texts(), family.segments, family.attended);
            REQUIRE(ours.size() == family.expected.size());
            double worst = 0;
            for (std::size_t i = 0; i != ours.size(); ++i)
                keep_worst(worst, std::fabs(static_cast<double>(ours[i]) - static_cast<double>(family.expected[i])));
            double const relative = worst / largest_of(family.expected);
            std::printf("%s, %s: attended states differ by at most %.2g of the largest component\n", name.c_str(),
                        std::string(instruction_set_name(kernels.set)).c_str(), relative);
            CHECK(relative <= 1e-5); // as for whole texts

            for (std::size_t first = 0; first != family.texts(); ++first) // in other company: the same bits
                for (std::size_t count : {1u, 2u}) {
                    if (first + count > family.texts()) continue;
                    auto const part =
                        family.states(first, count, family.segments, std::span(family.attended).subspan(first, count));
                    CHECK(same_bits(part.data(), &ours[family.offsets[first] * family.hidden()], part.size()));
                }
        });
}

TEST_CASE("a text that is attended to as a whole has the states of one without a count", "[attended]") {
    for (auto const &name : families)
        for_each_set([&](Kernels const &kernels) {
            INFO(name);
            auto const family = Family::read(name, kernels.set);
            auto const plain = family.states(0, family.texts(), family.segments, {});
            std::vector<std::uint32_t> whole;
            for (std::size_t text = 0; text != family.texts(); ++text)
                whole.push_back(family.offsets[text + 1] - family.offsets[text]);
            auto const counted = family.states(0, family.texts(), family.segments, whole);
            CHECK(same_bits(plain.data(), counted.data(), plain.size()));
            auto const ours = family.states(0, family.texts(), family.segments, family.attended);
            CHECK_FALSE(same_bits(plain.data(), ours.data(), plain.size())); // or the goldens would test nothing
        });
}

TEST_CASE("segments count where a checkpoint has several, and nowhere else", "[attended]") {
    for (auto const &name : families) {
        INFO(name);
        auto const family = Family::read(name, best_instruction_set());
        std::vector<std::uint8_t> const zeros(family.ids.size()), ones(family.ids.size(), 1);
        auto const plain = family.states(0, family.texts(), {}, {});
        auto const first = family.states(0, family.texts(), zeros, {}),
                   second = family.states(0, family.texts(), ones, {});
        CHECK(same_bits(plain.data(), first.data(), plain.size()));
        bool const has_segments = name == "tiny" || name == "nomic-bert";
        CHECK(same_bits(plain.data(), second.data(), plain.size()) == !has_segments);
    }
}
