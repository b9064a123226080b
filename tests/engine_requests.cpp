/// What each verb is asked for: refusals with their texts, parts of a budget, cuts, scalars, and all outputs at once.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "allocations.hpp"
#include "model_folder.hpp"
#include "skip.hpp"
#include "uform/uform.hpp"

using uform::Activation, uform::Outputs, uform::Ram, uform::Scalar, uform::Status, uform::TapeView, uform::Truncate;

namespace {

using Texts = std::vector<std::string>;

uform::Model load(std::string const &name) { return uform::Model::load(data_path(name)).value(); }

uform::Tape tape_of(Texts const &texts) { return uform::Tape::from(texts).value(); }

/// A refusal: its status, pieces of its text, and that the arena is as it was.
template <class Call> void check_refused(Call const &call, Status status, std::vector<std::string> const &pieces) {
    uform::Arena<Ram> arena;
    auto const model = load("tiny");
    auto const before = model.text_encode("before", Outputs::embeddings, Scalar::f32, arena).value();
    auto const refused = call(arena);
    REQUIRE_FALSE(refused);
    INFO(refused.error().message());
    CHECK(refused.error().status() == status);
    for (auto const &piece : pieces) {
        INFO("must name " << piece);
        CHECK(refused.error().message().find(piece) != std::string_view::npos);
    }
    CHECK(before.is_current());
}

Texts const texts = {"the model",
                     "",
                     "It is not the same query, but it is like this one.",
                     "a [SEP] b",
                     "Zürich 日本",
                     "never never never never never never never never never never never never never never never"};
Texts const others = {"a", "the state of the world", "people work under great state matrices", "", "time", "it is"};

/// All bytes of rows, whatever their scalar.
std::string bytes_of(uform::Rows<Ram> const &rows) {
    auto const pin = rows.pin();
    REQUIRE(pin);
    return {static_cast<char const *>(rows.data()), rows.rows() * rows.row_stride_bytes()};
}
std::string bytes_of(uform::RaggedRows<Ram> const &rows) {
    auto const offsets = rows.offsets().value();
    return bytes_of(rows.flat()) + std::string(reinterpret_cast<char const *>(offsets.data()), offsets.size_bytes());
}
std::string bytes_of(uform::Encoded<Ram> const &encoded) {
    std::string all;
    auto const add = [&](auto const &rows, bool asked) {
        if (asked) all += bytes_of(rows);
    };
    Outputs const outputs = encoded.outputs();
    bool const classifies = contains(outputs, Outputs::probabilities),
               by_token = classifies && !encoded.probabilities().is_current();
    add(encoded.embeddings(), contains(outputs, Outputs::embeddings));
    add(encoded.states(), contains(outputs, Outputs::states));
    add(encoded.token_vectors(), contains(outputs, Outputs::token_vectors));
    add(encoded.probabilities(), classifies && !by_token);
    add(encoded.token_probabilities(), by_token);
    add(encoded.sparse_ids(), contains(outputs, Outputs::sparse));
    add(encoded.sparse_weights(), contains(outputs, Outputs::sparse));
    return all;
}

/// A folder for each kind of output, with all that it gives.
struct Case {
    char const *folder;
    Outputs outputs;
};
constexpr Case cases[] = {
    {"tiny", Outputs::embeddings | Outputs::states},
    {"outputs/bert-classifier", Outputs::embeddings | Outputs::states | Outputs::probabilities},
    {"outputs/bert-tokens", Outputs::embeddings | Outputs::states | Outputs::probabilities},
    {"outputs/bert-reranker", Outputs::embeddings | Outputs::states | Outputs::probabilities},
    {"outputs/colbert-stanford", Outputs::states | Outputs::token_vectors},
    {"outputs/splade-bert", Outputs::states | Outputs::sparse},
};

/// The nearest of the finite values that 16 bits can hold, of two equally near the one with an even last bit.
template <class T> std::uint16_t nearest(float value) {
    static auto const known = [] {
        std::vector<std::pair<double, std::uint16_t>> all; // of the positive ones
        for (std::uint32_t bits = 0; bits != 0x8000u; ++bits) {
            double const wide = static_cast<double>(uform::widen(T{static_cast<std::uint16_t>(bits)}));
            if (std::isfinite(wide)) all.emplace_back(wide, static_cast<std::uint16_t>(bits));
        }
        std::sort(all.begin(), all.end());
        return all;
    }();
    double const size = std::abs(static_cast<double>(value));
    auto const above = std::lower_bound(known.begin(), known.end(), std::pair<double, std::uint16_t>(size, 0));
    REQUIRE(above != known.end());
    auto best = above;
    if (above != known.begin()) {
        double const up = above->first - size, down = size - (above - 1)->first;
        if (down < up || (down == up && (above->second & 1))) best = above - 1;
    }
    return static_cast<std::uint16_t>(best->second | (std::signbit(value) ? 0x8000u : 0u));
}

/// The bytes of a row in a narrow scalar, straight from what each scalar is.
std::string rounded_row(Scalar scalar, std::span<float const> row) {
    std::string bytes;
    double length = 0;
    for (float const value : row) length += static_cast<double>(value) * static_cast<double>(value);
    length = std::max(std::sqrt(length), 1e-12);
    if (scalar == Scalar::b1) bytes.resize((row.size() + 7) / 8);
    for (std::size_t i = 0; i != row.size(); ++i) {
        if (scalar == Scalar::b1) {
            if (row[i] > 0) bytes[i / 8] = static_cast<char>(bytes[i / 8] | (0x80 >> (i % 8)));
        } else if (scalar == Scalar::i8) {
            bytes += static_cast<char>(std::nearbyint(127 * (static_cast<double>(row[i]) / length)));
        } else {
            std::uint16_t const bits =
                scalar == Scalar::f16 ? nearest<uform::F16>(row[i]) : nearest<uform::BF16>(row[i]);
            bytes.append(reinterpret_cast<char const *>(&bits), sizeof bits);
        }
    }
    return bytes;
}

bool is_narrow(Scalar scalar) { return scalar == Scalar::i8 || scalar == Scalar::b1; }

/// The outputs of a set that may be written in a scalar.
Outputs written(Outputs outputs, Scalar scalar) {
    auto const narrow = static_cast<Outputs>(7);
    return is_narrow(scalar) ? outputs & narrow : outputs;
}

} // namespace

TEST_CASE("requests: each folder says which outputs it gives, and refuses the others by both names") {
    for (auto const &[folder, outputs] : cases) {
        INFO(folder);
        auto const model = load(folder);
        CHECK(model.outputs() == outputs);
        for (Outputs const one :
             {Outputs::embeddings, Outputs::states, Outputs::token_vectors, Outputs::probabilities, Outputs::sparse}) {
            if (contains(outputs, one)) continue;
            check_refused(
                [&](auto &arena) { return model.text_encode("a", one | Outputs::states, Scalar::f32, arena); },
                Status::unsupported, {"outputs:", "states", std::string(uform::outputs_name(one))});
        }
    }
    check_refused([&](auto &arena) { return load("tiny").text_classify("a", Scalar::f32, arena); }, Status::unsupported,
                  {"embeddings, states", "probabilities"});
    check_refused([&](auto &arena) { return load("tiny").text_rerank("a", "b", Scalar::f32, arena); },
                  Status::unsupported, {"embeddings, states", "probabilities"});
}

TEST_CASE("requests: pairs of unequal counts, rerankers of several labels, pairs of a token classifier") {
    auto const two = tape_of({"a", "b"}), three = tape_of({"a", "b", "c"}), none = tape_of({});
    auto const reranker = load("outputs/bert-reranker"), classifier = load("outputs/bert-classifier");
    for (auto const &[first, second] :
         {std::pair<TapeView, TapeView>{two, three}, {three, two}, {two, none}, {none, two}})
        check_refused(
            [&, a = first, b = second](auto &arena) { return reranker.text_rerank(a, b, Scalar::f32, arena); },
            Status::invalid_argument,
            {"pairs", std::to_string(first.size()) + " first", std::to_string(second.size()) + " second"});
    check_refused([&](auto &arena) { return classifier.text_classify(two, three, Scalar::f32, arena); },
                  Status::invalid_argument, {"2 first", "3 second"});
    check_refused([&](auto &arena) { return classifier.text_rerank(two, two, Scalar::f32, arena); },
                  Status::unsupported, {"text_rerank", "3 labels"});
    check_refused([&](auto &arena) { return load("outputs/bert-tokens").text_classify(two, two, Scalar::f32, arena); },
                  Status::unsupported, {"pairs", "tokens"});
}

TEST_CASE("requests: no pairs are an empty result") {
    auto const none = tape_of({}), one = tape_of({"a"});
    uform::Arena<Ram> arena;
    auto const reranker = load("outputs/bert-reranker");
    for (TapeView const first : {TapeView(none), TapeView(one)}) {
        auto const answer = reranker.text_rerank(first, none, Scalar::f32, arena);
        REQUIRE(answer);
        CHECK(answer->texts() == 0);
        CHECK(answer->probabilities().rows() == 0);
        CHECK(answer->probabilities().values<float>().value().empty());
    }
}

TEST_CASE("requests: one query with every document is that query with each") {
    auto const reranker = load("outputs/bert-reranker");
    uform::Arena<Ram> many, one;
    auto const documents = tape_of(texts);
    auto const all = reranker.text_rerank(texts[2], documents, Scalar::f32, many).value();
    auto const scores = all.probabilities().values<float>().value();
    REQUIRE(scores.size() == texts.size());
    for (std::size_t i = 0; i != texts.size(); ++i) {
        auto const single = reranker.text_rerank(texts[2], texts[i], Scalar::f32, one).value();
        CHECK(single.probabilities().values<float>().value()[0] == scores[i]);
    }
}

TEST_CASE("requests: scalars that make no sense") {
    auto const classifier = load("outputs/bert-classifier"), sparse = load("outputs/splade-bert"), tiny = load("tiny");
    for (Scalar const scalar : {Scalar::i8, Scalar::b1}) {
        std::string const name(uform::scalar_name(scalar));
        check_refused([&](auto &arena) { return classifier.text_classify("a", scalar, arena); }, Status::unsupported,
                      {"scalar", "probabilities", name});
        check_refused([&](auto &arena) { return sparse.text_encode("a", Outputs::sparse, scalar, arena); },
                      Status::unsupported, {"scalar", "sparse", name});
    }
    for (Scalar const scalar : {Scalar::u8, Scalar::u32, Scalar::u64, static_cast<Scalar>(77)})
        check_refused([&](auto &arena) { return tiny.text_encode("a", Outputs::embeddings, scalar, arena); },
                      Status::unsupported, {"scalar", std::string(uform::scalar_name(scalar))});
}

TEST_CASE("requests: dimensions") {
    auto const tiny = load("tiny");
    auto const columns = tiny.dimensions();
    check_refused(
        [&](auto &arena) {
            return tiny.text_encode("a", Outputs::embeddings, Scalar::f32, arena, {.dimensions = columns + 1});
        },
        Status::invalid_argument, {"options.dimensions", std::to_string(columns + 1), std::to_string(columns)});
    check_refused(
        [&](auto &arena) { return tiny.text_encode("a", Outputs::states, Scalar::f32, arena, {.dimensions = 2}); },
        Status::invalid_argument, {"options.dimensions", "embeddings"});
    uform::Arena<Ram> whole, cut;
    auto const full = tiny.text_encode("a b", Outputs::embeddings, Scalar::f32, whole, {.dimensions = columns}).value();
    auto const plain = tiny.text_encode("a b", Outputs::embeddings, Scalar::f32, cut).value();
    CHECK(bytes_of(full) == bytes_of(plain));
    for (std::size_t const few : {std::size_t{1}, columns / 2, columns - 1}) {
        for (auto const how : {uform::Normalize::off, uform::Normalize::on}) {
            auto const all =
                tiny.text_encode("a b", Outputs::embeddings, Scalar::f32, whole, {.normalize = uform::Normalize::off})
                    .value();
            auto const some =
                tiny.text_encode("a b", Outputs::embeddings, Scalar::f32, cut, {.dimensions = few, .normalize = how})
                    .value();
            auto const expected = all.embeddings().values<float>().value(),
                       got = some.embeddings().values<float>().value();
            REQUIRE(got.size() == few);
            double length = 0;
            for (std::size_t i = 0; i != few; ++i) length += double(expected[i]) * double(expected[i]);
            double const divisor = how == uform::Normalize::on ? std::sqrt(length) : 1;
            for (std::size_t i = 0; i != few; ++i)
                CHECK(double(got[i]) == Approx(double(expected[i]) / divisor).epsilon(1e-6));
        }
    }
}

TEST_CASE("requests: a prompt that isn't there names those that are") {
    check_refused(
        [&](auto &arena) {
            return load("tiny").text_encode("a", Outputs::embeddings, Scalar::f32, arena, {.prompt = "nonsense"});
        },
        Status::invalid_argument, {"options.prompt", "nonsense", "query, document"});
}

TEST_CASE("requests: a prompt of the other role is refused where roles have prompts of their own") {
    auto const colbert = load("outputs/colbert-pylate");
    auto const of = [&](char const *prompt, uform::Role role, uform::Arena<Ram> &arena) {
        return colbert.text_encode("a b", Outputs::token_vectors, Scalar::f32, arena, {.prompt = prompt, .role = role});
    };
    check_refused([&](auto &arena) { return of("query", uform::Role::document, arena); }, Status::invalid_argument,
                  {"options.prompt", "query", "options.role"});
    check_refused([&](auto &arena) { return of("document", uform::Role::query, arena); }, Status::invalid_argument,
                  {"options.prompt", "document", "options.role"});
    uform::Arena<Ram> named, own;
    CHECK(bytes_of(of("query", uform::Role::query, named).value()) ==
          bytes_of(of("", uform::Role::query, own).value()));
}

TEST_CASE("requests: classifiers and rerankers run in parts of a budget, too") {
    auto const reranker = load("outputs/bert-reranker");
    auto const documents = tape_of(texts);
    uform::Arena<Ram> whole, parts;
    auto const all = reranker.text_rerank("who?", documents, Scalar::f32, whole).value();
    for (std::size_t const budget : {32, 64, 1000})
        CHECK(bytes_of(
                  reranker.text_rerank("who?", documents, Scalar::f32, parts, {.tokens_per_call = budget}).value()) ==
              bytes_of(all));
    check_refused(
        [&](auto &arena) {
            return reranker.text_rerank("who?", documents, Scalar::f32, arena,
                                        {.truncate = Truncate::refuse, .tokens_per_call = 8});
        },
        Status::invalid_argument, {"pair", "options.tokens_per_call allows 8"});
}

TEST_CASE("requests: a budget below the length that queries are filled to is refused") {
    auto const colbert = load("outputs/colbert-stanford"); // fills to 12
    auto const of = [&](std::size_t budget, uform::Arena<Ram> &arena) {
        return colbert.text_encode("the model", Outputs::token_vectors, Scalar::f32, arena,
                                   {.tokens_per_call = budget, .role = uform::Role::query});
    };
    for (std::size_t const budget : {7, 11})
        check_refused([&](auto &arena) { return of(budget, arena); }, Status::invalid_argument,
                      {"options.tokens_per_call", std::to_string(budget), "12"});
    uform::Arena<Ram> whole, exact;
    CHECK(bytes_of(of(0, whole).value()) == bytes_of(of(12, exact).value()));
}

TEST_CASE("requests: a named prompt without a text leaves the role's out") {
    ModelFolder const folder("outputs/colbert-pylate");
    folder.replace("config_sentence_transformers.json", R"("prompts": {})", R"("prompts": {"bare": ""})");
    auto const colbert = uform::Model::load(folder.path()).value();
    uform::Arena<Ram> bare, own;
    auto const tokens = [&](char const *prompt, uform::Arena<Ram> &arena) {
        return colbert.text_encode("a b", Outputs::token_vectors, Scalar::f32, arena, {.prompt = prompt})
            .value()
            .token_vectors()
            .flat()
            .rows();
    };
    CHECK(tokens("bare", bare) + 1 == tokens("", own)); // without the marker
}

TEST_CASE("requests: folders of heads that can't be right are refused") {
    auto const check = [](ModelFolder const &folder, std::string_view names) {
        auto const model = uform::Model::load(folder.path());
        REQUIRE_FALSE(model);
        INFO(model.error().message());
        CHECK(model.error().status() == Status::corrupt);
        CHECK(model.error().message().find(names) != std::string_view::npos);
    };
    SECTION("an untied vocabulary head without its weights") {
        ModelFolder const folder("outputs/splade-untied");
        folder.change_weights(
            [](WrittenTensors &tensors) { REQUIRE(tensors.erase("cls.predictions.decoder.weight") == 1); });
        check(folder, "cls.predictions.decoder.weight");
    }
    SECTION("a role whose length has no room for the special tokens") {
        ModelFolder const folder("outputs/colbert-stanford");
        folder.replace("artifact.metadata", R"("doc_maxlen": 20)", R"("doc_maxlen": 1)");
        check(folder, "documents of at most 1 tokens");
    }
}

TEST_CASE("requests: enumerators that no one has are refused") {
    auto const tiny = load("tiny"), classifier = load("outputs/bert-classifier");
    for (uform::EncodeOptions const &options : {uform::EncodeOptions{.truncate = static_cast<Truncate>(9)},
                                                uform::EncodeOptions{.normalize = static_cast<uform::Normalize>(9)},
                                                uform::EncodeOptions{.role = static_cast<uform::Role>(9)}})
        check_refused(
            [&](auto &arena) { return tiny.text_encode("a", Outputs::embeddings, Scalar::f32, arena, options); },
            Status::invalid_argument, {"options"});
    check_refused(
        [&](auto &arena) {
            return classifier.text_classify("a", Scalar::f32, arena, {.activation = static_cast<Activation>(77)});
        },
        Status::invalid_argument, {"options", "activation"});
}

TEST_CASE("requests: columns of a model are those of what it gives") {
    CHECK(load("tiny").dimensions() == 48);
    CHECK(load("outputs/colbert-pylate").dimensions() == 16);
    CHECK(load("outputs/splade-bert").dimensions() == 0);
}

TEST_CASE("requests: texts too long are counted, or refused where that is asked") {
    auto const model = load("outputs/bert-reranker");
    std::string const longest(4000, 'a'), words = [] {
        std::string text;
        for (int i = 0; i != 200; ++i) text += "the model ";
        return text;
    }();
    uform::Arena<Ram> arena;
    auto const cut = model.text_rerank(words, "a", Scalar::f32, arena).value();
    CHECK(cut.truncated_tokens().value()[0] > 0);
    check_refused(
        [&](auto &other) { return model.text_rerank(words, "a", Scalar::f32, other, {.truncate = Truncate::refuse}); },
        Status::invalid_argument, {"pair 0", "the model reads"});
    auto const classifier = load("outputs/bert-classifier");
    check_refused(
        [&](auto &other) {
            return classifier.text_classify(words, Scalar::f32, other, {.truncate = Truncate::refuse});
        },
        Status::invalid_argument, {"text 0", "the model reads"});
}

TEST_CASE("requests: a budget of tokens runs in parts with the same bits") {
    for (auto const &[folder, outputs] : cases) {
        INFO(folder);
        auto const model = load(folder);
        auto const tape = tape_of(texts);
        uform::Arena<Ram> whole, parts;
        auto const all = model.text_encode(tape, outputs, Scalar::f32, whole).value();
        auto const longest = [&] {
            auto const offsets = all.states().offsets().value();
            std::size_t most = 0;
            for (std::size_t i = 0; i + 1 != offsets.size(); ++i)
                most = std::max<std::size_t>(most, offsets[i + 1] - offsets[i]);
            return most;
        }();
        for (std::size_t const budget : {longest, longest + 1, 2 * longest, std::size_t{100000}})
            for (std::size_t const threads : {1, 2, 3}) {
                auto const executor = uform::Executor<Ram>::with_threads(threads).value();
                auto const some =
                    model.on(executor).text_encode(tape, outputs, Scalar::f32, parts, {.tokens_per_call = budget});
                REQUIRE(some);
                CHECK(bytes_of(*some) == bytes_of(all));
            }
        auto const cut = model.text_encode(tape, outputs, Scalar::f32, parts, {.tokens_per_call = longest - 1}).value();
        auto const counts = cut.truncated_tokens().value();
        CHECK(std::any_of(counts.begin(), counts.end(), [](auto count) { return count > 0; }));
        auto const offsets = cut.states().offsets().value();
        for (std::size_t i = 0; i + 1 != offsets.size(); ++i) CHECK(offsets[i + 1] - offsets[i] <= longest - 1);
        check_refused(
            [&](auto &arena) {
                return model.text_encode(tape, outputs, Scalar::f32, arena,
                                         {.truncate = Truncate::refuse, .tokens_per_call = longest - 1});
            },
            Status::invalid_argument, {"options.tokens_per_call", std::to_string(longest - 1)});
        check_refused(
            [&](auto &arena) { return model.text_encode(tape, outputs, Scalar::f32, arena, {.tokens_per_call = 1}); },
            Status::invalid_argument, {"options.tokens_per_call", "special"});
    }
}

TEST_CASE("requests: a narrow row is the float row, rounded, in every output and scalar") {
    for (auto const &[folder, outputs] : cases) {
        auto const model = load(folder);
        auto const tape = tape_of(texts);
        uform::Arena<Ram> wide, narrow;
        auto const floats = model.text_encode(tape, outputs, Scalar::f32, wide).value();
        for (Scalar const scalar : {Scalar::f16, Scalar::bf16, Scalar::i8, Scalar::b1}) {
            Outputs const asked = written(outputs, scalar);
            auto const rounded = model.text_encode(tape, asked, scalar, narrow).value();
            auto const check = [&](auto name, uform::Rows<Ram> const &from, uform::Rows<Ram> const &to) {
                INFO(folder << ": " << name << " as " << uform::scalar_name(scalar));
                REQUIRE(to.rows() == from.rows());
                REQUIRE(to.columns() == from.columns());
                REQUIRE(to.rows() > 0);
                CHECK(to.scalar() == scalar);
                CHECK(to.row_stride_bytes() == uform::row_bytes(scalar, to.columns()));
                auto const bytes = bytes_of(to);
                std::size_t wrong = 0;
                for (std::size_t row = 0; row != from.rows(); ++row)
                    wrong += bytes.substr(row * to.row_stride_bytes(), to.row_stride_bytes()) !=
                             rounded_row(scalar, from.row<float>(row).value());
                CHECK(wrong == 0);
            };
            if (contains(asked, Outputs::embeddings)) check("embeddings", floats.embeddings(), rounded.embeddings());
            if (contains(asked, Outputs::states)) check("states", floats.states().flat(), rounded.states().flat());
            if (contains(asked, Outputs::token_vectors))
                check("token vectors", floats.token_vectors().flat(), rounded.token_vectors().flat());
            bool const by_token = std::string_view(folder).ends_with("tokens");
            if (contains(asked, Outputs::probabilities) && by_token)
                check("token probabilities", floats.token_probabilities().flat(), rounded.token_probabilities().flat());
            if (contains(asked, Outputs::probabilities) && !by_token)
                check("probabilities", floats.probabilities(), rounded.probabilities());
            if (contains(asked, Outputs::sparse)) {
                check("sparse weights", floats.sparse_weights().flat(), rounded.sparse_weights().flat());
                CHECK(bytes_of(floats.sparse_ids()) == bytes_of(rounded.sparse_ids()));
            }
        }
    }
}

TEST_CASE("requests: outputs together are the outputs alone") {
    for (auto const &[folder, outputs] : cases)
        for (Scalar const scalar : {Scalar::f32, Scalar::f16, Scalar::bf16, Scalar::i8, Scalar::b1}) {
            INFO(folder << " as " << uform::scalar_name(scalar));
            auto const model = load(folder);
            auto const tape = tape_of(texts);
            uform::Arena<Ram> together, alone;
            auto const all = model.text_encode(tape, written(outputs, scalar), scalar, together).value();
            std::string each;
            for (Outputs const one : {Outputs::embeddings, Outputs::states, Outputs::token_vectors,
                                      Outputs::probabilities, Outputs::sparse}) {
                if (!contains(written(outputs, scalar), one)) continue;
                each += bytes_of(model.text_encode(tape, one, scalar, alone).value());
            }
            CHECK(bytes_of(all) == each);
        }
}

TEST_CASE("requests: a text's rows are the same alone, beside others, and on threads, in every output and scalar") {
    for (auto const &[folder, outputs] : cases)
        for (Scalar const scalar : {Scalar::f32, Scalar::bf16, Scalar::i8}) {
            INFO(folder << " as " << uform::scalar_name(scalar));
            auto const model = load(folder);
            auto const tape = tape_of(texts);
            auto const executor = uform::Executor<Ram>::with_threads(3).value();
            uform::Arena<Ram> first, second, third;
            auto const all = model.text_encode(tape, written(outputs, scalar), scalar, first).value();
            auto const threaded =
                model.on(executor).text_encode(tape, written(outputs, scalar), scalar, second).value();
            CHECK(bytes_of(all) == bytes_of(threaded));
            for (std::size_t i = 0; i != texts.size(); ++i) {
                auto const alone = model.text_encode(texts[i], written(outputs, scalar), scalar, third).value();
                auto const same = [&](auto const &ragged, auto const &single) {
                    CHECK(bytes_of(ragged.at(i).value()) == bytes_of(single.flat()));
                };
                if (contains(alone.outputs(), Outputs::states)) same(all.states(), alone.states());
                if (contains(alone.outputs(), Outputs::token_vectors)) same(all.token_vectors(), alone.token_vectors());
                if (contains(alone.outputs(), Outputs::sparse))
                    same(all.sparse_ids(), alone.sparse_ids()), same(all.sparse_weights(), alone.sparse_weights());
            }
        }
}

TEST_CASE("requests: the steady loop of every output and scalar allocates nothing") {
    if (!AllocationCounter::works) return skip_test("allocations can't be counted under a sanitizer");
    for (auto const &[folder, outputs] : cases) {
        auto const model = load(folder);
        auto const small = tape_of({texts.begin() + 1, texts.begin() + 4}), large = tape_of(texts),
                   paired = tape_of(others);
        auto const executor = uform::Executor<Ram>::with_threads(2).value();
        for (Scalar const scalar : {Scalar::f32, Scalar::f16, Scalar::bf16, Scalar::i8, Scalar::b1}) {
            INFO(folder << " as " << uform::scalar_name(scalar));
            Outputs const asked = written(outputs, scalar);
            bool const classifies = contains(asked, Outputs::probabilities),
                       labels_tokens = std::string_view(folder).ends_with("tokens");
            bool const pairs = classifies && !labels_tokens,
                       reranks = pairs && std::string_view(folder).ends_with("reranker");
            uform::Arena<Ram> arena;
            std::size_t failed = 0;
            auto const calls = [&](TapeView tape, TapeView second) {
                failed += !model.text_encode(tape, asked, scalar, arena);
                failed += !model.on(executor).text_encode(tape, asked, scalar, arena, {.tokens_per_call = 64});
                if (classifies) failed += !model.text_classify(tape, scalar, arena);
                if (pairs) failed += !model.text_classify(tape, second, scalar, arena);
                if (reranks) failed += !model.text_rerank(tape, second, scalar, arena);
            };
            calls(large, paired);
            calls(large, paired);
            std::size_t const count_of_small = 3;
            AllocationCounter const counter;
            for (int i = 0; i != 10; ++i) {
                calls(small, TapeView(paired).subtape(0, count_of_small));
                calls(large, paired);
            }
            std::size_t const allocations = counter.count();
            CHECK(failed == 0);
            CHECK(allocations == 0);
        }
    }
}

TEST_CASE("requests: deferred calls of every verb answer as the direct ones") {
    auto const executor = uform::Executor<Ram>::with_threads(2).value();
    auto const first = tape_of(texts), second = tape_of(others);
    for (auto const &[folder, outputs] : cases) {
        INFO(folder);
        auto const model = load(folder);
        auto const deferred = model.on(executor).deferred();
        uform::Arena<Ram> direct, later;
        auto const same = [&](auto made, auto const &awaited) {
            REQUIRE(made);
            auto result = made->wait();
            REQUIRE(result);
            CHECK(bytes_of(*result) == bytes_of(awaited));
        };
        same(deferred.text_encode(first, outputs, Scalar::f32, later),
             model.text_encode(first, outputs, Scalar::f32, direct).value());
        if (!contains(outputs, Outputs::probabilities)) continue;
        same(deferred.text_classify(first, Scalar::f16, later),
             model.text_classify(first, Scalar::f16, direct).value());
        if (std::string_view(folder).ends_with("tokens")) continue;
        same(deferred.text_classify(first, second, Scalar::f32, later),
             model.text_classify(first, second, Scalar::f32, direct).value());
        if (!std::string_view(folder).ends_with("reranker")) continue;
        same(deferred.text_rerank(texts[2], second, Scalar::f32, later),
             model.text_rerank(texts[2], second, Scalar::f32, direct).value());
        auto const refused = deferred.text_rerank(first, TapeView("a"), Scalar::f32, later);
        REQUIRE_FALSE(refused);
        CHECK(refused.error().status() == Status::invalid_argument);
    }
}

TEST_CASE("requests: the activation that was asked for") {
    auto const model = load("outputs/bert-classifier");
    uform::Arena<Ram> arenas[4];
    auto const of = [&](Activation activation, uform::Arena<Ram> &arena) {
        auto const answer = model.text_classify("the people", Scalar::f32, arena, {.activation = activation}).value();
        auto const values = answer.probabilities().values<float>().value();
        return std::vector<double>(values.begin(), values.end());
    };
    auto const scores = of(Activation::none, arenas[0]), sigmoid = of(Activation::sigmoid, arenas[1]),
               softmax = of(Activation::softmax, arenas[2]), published = of(Activation::as_published, arenas[3]);
    REQUIRE(scores.size() == 3);
    double sum = 0;
    for (double const score : scores) sum += std::exp(score);
    for (std::size_t i = 0; i != 3; ++i) {
        CHECK(sigmoid[i] == Approx(1 / (1 + std::exp(-scores[i]))).epsilon(1e-6));
        CHECK(softmax[i] == Approx(std::exp(scores[i]) / sum).epsilon(1e-6));
        CHECK(published[i] == softmax[i]);
    }
}

TEST_CASE("requests: a zero row stays zeros in every scalar") {
    ModelFolder const folder("tiny");
    folder.change_weights([](WrittenTensors &tensors) {
        for (auto &[name, tensor] : tensors)
            if (name.find("LayerNorm") != name.npos || name.find("layer_norm") != name.npos)
                std::fill(tensor.bytes.begin(), tensor.bytes.end(), '\0');
    });
    auto const model = uform::Model::load(folder.path()).value();
    uform::Arena<Ram> arena;
    for (Scalar const scalar : {Scalar::f32, Scalar::f16, Scalar::bf16, Scalar::i8, Scalar::b1}) {
        auto const encoded = model.text_encode("a b c", Outputs::embeddings | Outputs::states, scalar, arena).value();
        auto const bytes = bytes_of(encoded.embeddings()) + bytes_of(encoded.states().flat());
        CHECK(std::all_of(bytes.begin(), bytes.end(), [](char byte) { return byte == 0; }));
    }
}
