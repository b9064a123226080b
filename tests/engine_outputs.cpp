/// Every output but states and embeddings against the reference: probabilities, token vectors, sparse weights, narrow
/// scalars, cut dimensions. `tools/oracle/outputs.py` says what lies in tests/data/outputs.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "golden.hpp"
#include "model_folder.hpp"
#include "skip.hpp"
#include "uform/uform.hpp"

using uform::Outputs, uform::Ram, uform::Scalar;

namespace {

using Texts = std::vector<std::string>;

constexpr double mark = 2e-6; // of unit vectors and of probabilities

/// How far two lists of numbers are apart at most.
double largest_difference(std::span<float const> ours, std::span<float const> theirs) {
    REQUIRE(ours.size() == theirs.size());
    double largest = 0;
    for (std::size_t i = 0; i != ours.size(); ++i) {
        double const off = std::fabs(static_cast<double>(ours[i]) - static_cast<double>(theirs[i]));
        if (!(off <= largest)) largest = off; // NaN too
    }
    return largest;
}

double largest_of(std::span<float const> values) {
    double largest = 0;
    for (float const value : values) largest = std::max(largest, std::fabs(static_cast<double>(value)));
    return largest;
}

/// The instruction sets that this machine has; the others are said to be skipped.
std::vector<uform::InstructionSet> usable_sets() {
    std::vector<uform::InstructionSet> sets;
    for (auto const set : uform::instruction_sets)
        if (uform::supports(set)) sets.push_back(set);
        else skip_part("this machine lacks " + std::string(uform::instruction_set_name(set)));
    return sets;
}

/// A folder of tests/data/outputs with one of its variants laid over it, and what the reference says of that.
class Fixture {
    std::string name_, variant_;
    ModelFolder folder_;
    Golden golden_;

  public:
    explicit Fixture(std::string const &name, std::string const &variant = {})
        : name_(name), variant_(variant), folder_("outputs/" + name),
          golden_(data_path("outputs/" + name + "/golden.safetensors")) {
        if (!variant.empty())
            std::filesystem::copy(data_path("outputs/" + name + "/variants/" + variant), folder_.path(),
                                  std::filesystem::copy_options::recursive |
                                      std::filesystem::copy_options::overwrite_existing);
    }
    std::string title() const { return variant_.empty() ? name_ : name_ + ", " + variant_; }
    ModelFolder const &folder() const { return folder_; }
    uform::Model load(uform::LoadOptions const &options = {}) const {
        return uform::Model::load(folder_.path(), options).value();
    }
    /// Whether the variant has an answer of its own.
    bool differs(std::string const &tensor) const { return golden_.find(tensor + '.' + variant_); }
    template <class T> std::vector<T> read(std::string const &tensor) const {
        return golden_.read<T>(differs(tensor) ? tensor + '.' + variant_ : tensor);
    }
};

/// The texts of a file that all folders share.
Texts shared_texts(std::string const &name) { return read_texts(data_path("outputs/" + name + ".jsonl")); }

/// The first and the second texts of `pairs.jsonl`.
std::pair<Texts, Texts> shared_pairs() {
    std::string const path = data_path("outputs/pairs.jsonl");
    std::pair<Texts, Texts> pairs;
    pairs.first = read_texts(path);
    auto const file = uform::File::map(path).value();
    std::string_view rest = file.text();
    for (std::size_t end; (end = rest.find('\n')) != rest.npos; rest = rest.substr(end + 1)) {
        auto const json = uform::Json::parse(rest.substr(0, end), path).value();
        pairs.second.emplace_back(json.root().find("pair").string().value());
    }
    REQUIRE(pairs.first.size() == pairs.second.size());
    return pairs;
}

/// The labels of `config.json`, by id.
std::vector<std::string> labels_of(ModelFolder const &folder) {
    auto const text = folder.read("config.json");
    auto const json = uform::Json::parse(text, "config.json").value();
    auto const object = json.root().find("id2label");
    std::vector<std::string> labels;
    for (std::size_t i = 0; i != object.size(); ++i)
        labels.emplace_back(object.find(std::to_string(i)).string().value());
    return labels;
}

std::vector<float> floats(uform::Rows<Ram> const &rows) {
    auto const values = rows.values<float>().value();
    return {values.begin(), values.end()};
}

/// That offsets are those of a golden, and that as many texts were cut, by as much.
template <class Encoded> void check_cut(Encoded const &encoded, Fixture const &fixture, std::string const &kind) {
    auto const cut = fixture.read<std::uint32_t>(kind + ".cut");
    REQUIRE(std::ranges::equal(encoded.truncated_tokens().value(), cut));
    CHECK(std::ranges::count_if(cut, [](auto count) { return count != 0; }) > 1); // the cut is tried at all
}

/// What an activation makes of scores, in double.
std::vector<float> activated(std::vector<float> const &scores, std::size_t labels, uform::Activation activation) {
    std::vector<float> answer(scores.size());
    for (std::size_t row = 0; row != scores.size(); row += labels) {
        double sum = 0;
        for (std::size_t i = 0; i != labels; ++i) sum += std::exp(static_cast<double>(scores[row + i]));
        for (std::size_t i = 0; i != labels; ++i) {
            double const power = std::exp(static_cast<double>(scores[row + i]));
            answer[row + i] =
                static_cast<float>(activation == uform::Activation::softmax ? power / sum : power / (1 + power));
        }
    }
    return answer;
}

/// Classifies single texts, or pairs where `second` has some, and compares all that the reference says of them.
double compare_classes(uform::Model const &model, Fixture const &fixture, std::string const &kind, Texts const &first,
                       Texts const &second) {
    std::size_t const labels = model.labels().size();
    auto const firsts = uform::Tape::from(first).value(), seconds = uform::Tape::from(second).value();
    uform::Arena<Ram> arena;
    auto const ask = [&](uform::ClassifyOptions const &options) {
        auto const encoded = second.empty() ? model.text_classify(firsts, Scalar::f32, arena, options).value()
                                            : model.text_classify(firsts, seconds, Scalar::f32, arena, options).value();
        REQUIRE(encoded.texts() == first.size());
        REQUIRE(encoded.probabilities().rows() == first.size());
        REQUIRE(encoded.probabilities().columns() == labels);
        check_cut(encoded, fixture, kind);
        return floats(encoded.probabilities());
    };
    auto const published = ask({});
    double const off = largest_difference(published, fixture.read<float>(kind + ".probabilities"));
    CHECK(off <= mark);

    auto const logits = fixture.read<float>(kind + ".logits");
    CHECK(largest_difference(ask({.activation = uform::Activation::none}), logits) <= 1e-5 * largest_of(logits));
    for (auto const activation : {uform::Activation::sigmoid, uform::Activation::softmax})
        CHECK(largest_difference(ask({.activation = activation}), activated(logits, labels, activation)) <= mark);

    for (std::size_t i = 0; i != first.size(); ++i) { // alone, the same bits
        uform::Arena<Ram> other;
        auto const one = second.empty() ? model.text_classify(first[i], Scalar::f32, other).value()
                                        : model.text_classify(first[i], second[i], Scalar::f32, other).value();
        CHECK(std::ranges::equal(floats(one.probabilities()), std::span(published).subspan(i * labels, labels)));
    }
    return off;
}

/// Ids of every token, by asking for the states too.
template <class Encoded>
void check_ids(Encoded const &encoded, std::vector<std::uint32_t> const &offsets,
               std::vector<std::uint32_t> const &ids) {
    CHECK(std::ranges::equal(encoded.states().offsets().value(), offsets));
    CHECK(std::ranges::equal(encoded.token_ids().value(), ids));
}

} // namespace

TEST_CASE("engine: classifiers give texts and pairs the reference's probabilities") {
    auto const texts = shared_texts("texts");
    auto const [first, second] = shared_pairs();
    struct Case {
        std::string name, variant;
        bool differs;
    };
    for (auto const &one : {
             Case{"bert-classifier", "", false},
             {"bert-classifier", "multi-label", true},
             {"bert-classifier", "single-label", false},
             {"bert-classifier", "identity", false}, // of a cross-encoder: classes are asked for here
             {"roberta-classifier", "", false},
             {"distilbert-classifier", "", false},
             {"xlm-roberta-classifier", "", false},
             {"xlm-roberta-classifier", "regression", true},
             {"mpnet-classifier", "", false},
             {"modernbert-classifier", "", false},
             {"modernbert-classifier", "mean", true},
         }) {
        Fixture const fixture(one.name, one.variant);
        INFO(fixture.title());
        for (std::string const kind : {"texts", "pairs"}) {
            REQUIRE(fixture.differs(kind + ".probabilities") == one.differs);
            if (one.differs) // by far more than the mark, or a variant that is passed over would not be seen
                CHECK(largest_difference(fixture.read<float>(kind + ".probabilities"),
                                         Fixture(one.name).read<float>(kind + ".probabilities")) > 1e-2);
        }
        for (auto const set : usable_sets()) {
            INFO(uform::instruction_set_name(set));
            auto const model = fixture.load({.instruction_set = set});
            REQUIRE(std::ranges::equal(model.labels(), labels_of(fixture.folder())));
            CHECK(contains(model.outputs(), Outputs::probabilities));
            double const of_texts = compare_classes(model, fixture, "texts", texts, {});
            double const of_pairs = compare_classes(model, fixture, "pairs", first, second);
            std::printf("%s, %s: probabilities differ by at most %.2g, of pairs by %.2g\n", fixture.title().c_str(),
                        std::string(uform::instruction_set_name(set)).c_str(), of_texts, of_pairs);

            // In one pass with the states, whose tokens are the reference's.
            auto const tape = uform::Tape::from(texts).value();
            uform::Arena<Ram> arena, other;
            auto const both =
                model.text_encode(tape, Outputs::states | Outputs::probabilities, Scalar::f32, arena).value();
            check_ids(both, fixture.read<std::uint32_t>("texts.offsets"), fixture.read<std::uint32_t>("texts.ids"));
            CHECK(floats(both.probabilities()) ==
                  floats(model.text_classify(tape, Scalar::f32, other).value().probabilities()));
        }
    }
}

TEST_CASE("engine: one text is classified with each of many") {
    auto const [first, second] = shared_pairs();
    auto const model = Fixture("bert-classifier").load();
    std::size_t const labels = model.labels().size();
    auto const seconds = uform::Tape::from(second).value();
    for (std::size_t i = 0; i < first.size(); i += 3) {
        uform::Arena<Ram> arena, other;
        auto const many = floats(model.text_classify(first[i], seconds, Scalar::f32, arena).value().probabilities());
        REQUIRE(many.size() == second.size() * labels);
        auto const one = floats(model.text_classify(first[i], second[i], Scalar::f32, other).value().probabilities());
        CHECK(std::ranges::equal(one, std::span(many).subspan(i * labels, labels)));
    }
}

TEST_CASE("engine: token classifiers give every token the reference's probabilities") {
    auto const texts = shared_texts("texts");
    auto const tape = uform::Tape::from(texts).value();
    for (std::string const name : {"bert-tokens", "distilbert-tokens", "modernbert-tokens"}) {
        Fixture const fixture(name);
        auto const expected = fixture.read<float>("texts.probabilities"), logits = fixture.read<float>("texts.logits");
        auto const offsets = fixture.read<std::uint32_t>("texts.offsets");
        for (auto const set : usable_sets()) {
            INFO(name << " on " << uform::instruction_set_name(set));
            auto const model = fixture.load({.instruction_set = set});
            REQUIRE(std::ranges::equal(model.labels(), labels_of(fixture.folder())));
            uform::Arena<Ram> arena;
            auto const encoded = model.text_classify(tape, Scalar::f32, arena).value();
            auto const rows = encoded.token_probabilities();
            REQUIRE(rows.size() == texts.size());
            REQUIRE(std::ranges::equal(rows.offsets().value(), offsets));
            REQUIRE(rows.flat().columns() == model.labels().size());
            check_cut(encoded, fixture, "texts");
            auto const published = floats(rows.flat());
            double const off = largest_difference(published, expected);
            CHECK(off <= mark);
            std::printf("%s, %s: probabilities differ by at most %.2g\n", name.c_str(),
                        std::string(uform::instruction_set_name(set)).c_str(), off);

            for (std::size_t i = 0; i != texts.size(); ++i) {
                uform::Arena<Ram> other;
                auto const one = model.text_classify(texts[i], Scalar::f32, other).value();
                std::size_t const labels = model.labels().size(), begin = offsets[i] * labels;
                CHECK(std::ranges::equal(floats(one.token_probabilities().flat()),
                                         std::span(published).subspan(begin, offsets[i + 1] * labels - begin)));
            }
            auto const raw =
                model.text_classify(tape, Scalar::f32, arena, {.activation = uform::Activation::none}).value();
            CHECK(largest_difference(floats(raw.token_probabilities().flat()), logits) <= 1e-5 * largest_of(logits));
            auto const both =
                model.text_encode(tape, Outputs::states | Outputs::probabilities, Scalar::f32, arena).value();
            check_ids(both, offsets, fixture.read<std::uint32_t>("texts.ids"));
            CHECK(floats(both.token_probabilities().flat()) == published);
        }
    }
}

TEST_CASE("engine: rerankers give pairs the reference's scores") {
    auto const [first, second] = shared_pairs();
    auto const queries = uform::Tape::from(first).value(), documents = uform::Tape::from(second).value();
    struct Case {
        std::string name, variant;
        bool differs;
    };
    for (auto const &one : {
             Case{"bert-reranker", "", false},
             {"bert-reranker", "old-identity", true},
             {"bert-reranker", "new-sigmoid", false},
             {"bert-reranker", "saved", false},
             {"xlm-roberta-reranker", "", false},
             {"modernbert-reranker", "", false},
         }) {
        Fixture const fixture(one.name, one.variant);
        REQUIRE(fixture.differs("pairs.probabilities") == one.differs);
        auto const expected = fixture.read<float>("pairs.probabilities"), logits = fixture.read<float>("pairs.logits");
        for (auto const set : usable_sets()) {
            INFO(fixture.title() << " on " << uform::instruction_set_name(set));
            auto const model = fixture.load({.instruction_set = set});
            uform::Arena<Ram> arena;
            auto const encoded = model.text_rerank(queries, documents, Scalar::f32, arena).value();
            REQUIRE(encoded.probabilities().rows() == first.size());
            REQUIRE(encoded.probabilities().columns() == 1);
            check_cut(encoded, fixture, "pairs");
            auto const scores = floats(encoded.probabilities());
            // Raw scores are compared by their size, which the largest of them gives.
            bool const is_raw = expected == logits;
            double const off = largest_difference(scores, expected);
            CHECK(off <= mark * (is_raw ? std::max(1.0, largest_of(expected)) : 1.0));
            std::printf("%s, %s: scores differ by at most %.2g\n", fixture.title().c_str(),
                        std::string(uform::instruction_set_name(set)).c_str(), off);
            auto const raw =
                model.text_rerank(queries, documents, Scalar::f32, arena, {.activation = uform::Activation::none});
            CHECK(largest_difference(floats(raw.value().probabilities()), logits) <= 1e-5 * largest_of(logits));

            // A query with each document is the same as so many pairs.
            for (std::size_t i = 0; i < first.size(); i += 4) {
                auto const many = model.text_rerank(first[i], documents, Scalar::f32, arena).value();
                REQUIRE(many.probabilities().rows() == second.size());
                CHECK(floats(many.probabilities())[i] == scores[i]);
            }
        }
    }
}

TEST_CASE("engine: late interaction gives queries and documents the reference's token vectors") {
    struct Case {
        std::string name, variant, differs;
    };
    for (auto const &one : {
             Case{"colbert-stanford", "", ""},
             {"colbert-stanford", "attend", "queries.vectors"},
             {"colbert-stanford", "punctuation", "documents.kept"},
             {"colbert-pylate", "", ""},
             {"colbert-pylate", "attend", "queries.vectors"},
             {"colbert-pylate", "no-expansion", "queries.ids"},
             {"colbert-pylate", "few-skipped", "documents.kept"},
             {"colbert-pylate", "saved", ""},
             {"colbert-modernbert", "", ""},
         }) {
        Fixture const fixture(one.name, one.variant);
        if (!one.differs.empty()) REQUIRE(fixture.differs(one.differs));
        for (std::string const kind : {"queries", "documents"}) {
            auto const texts = shared_texts(kind);
            auto const tape = uform::Tape::from(texts).value();
            auto const role = kind == "queries" ? uform::Role::query : uform::Role::document;
            auto const expected = fixture.read<float>(kind + ".vectors");
            auto const offsets = fixture.read<std::uint32_t>(kind + ".vector_offsets");
            for (auto const set : usable_sets()) {
                INFO(fixture.title() << ", " << kind << " on " << uform::instruction_set_name(set));
                auto const model = fixture.load({.instruction_set = set});
                CHECK(contains(model.outputs(), Outputs::token_vectors));
                uform::Arena<Ram> arena;
                auto const encoded =
                    model.text_encode(tape, Outputs::token_vectors, Scalar::f32, arena, {.role = role}).value();
                auto const rows = encoded.token_vectors();
                REQUIRE(rows.size() == texts.size());
                bool const is_same_count = std::ranges::equal(rows.offsets().value(), offsets);
                CHECK(is_same_count);
                if (!is_same_count) continue;
                std::size_t const columns = rows.flat().columns();
                REQUIRE(columns == 16);
                auto const vectors = floats(rows.flat());
                double const off = largest_difference(vectors, expected);
                CHECK(off <= mark);
                std::printf("%s, %s, %s: token vectors differ by at most %.2g\n", fixture.title().c_str(), kind.c_str(),
                            std::string(uform::instruction_set_name(set)).c_str(), off);

                for (std::size_t i = 0; i != texts.size(); ++i) {
                    uform::Arena<Ram> other;
                    auto const alone =
                        model.text_encode(texts[i], Outputs::token_vectors, Scalar::f32, other, {.role = role}).value();
                    std::size_t const begin = offsets[i] * columns, end = offsets[i + 1] * columns;
                    CHECK(std::ranges::equal(floats(alone.token_vectors().flat()),
                                             std::span(vectors).subspan(begin, end - begin)));
                }
                auto const both =
                    model
                        .text_encode(tape, Outputs::states | Outputs::token_vectors, Scalar::f32, arena, {.role = role})
                        .value();
                check_ids(both, fixture.read<std::uint32_t>(kind + ".offsets"),
                          fixture.read<std::uint32_t>(kind + ".ids"));
                CHECK(floats(both.token_vectors().flat()) == vectors);
            }
        }
    }
}

TEST_CASE("engine: sparse encoders give texts the reference's words and weights") {
    auto const texts = shared_texts("texts");
    auto const tape = uform::Tape::from(texts).value();
    struct Case {
        std::string name, variant;
        bool differs;
    };
    for (auto const &one : {
             Case{"splade-bert", "", false},
             {"splade-bert", "sum", true},
             {"splade-bert", "twice", true},
             {"splade-bert", "saved", false},
             {"splade-distilbert", "", false},
             {"splade-untied", "", false},
             {"splade-modernbert", "", false},
         }) {
        Fixture const fixture(one.name, one.variant);
        REQUIRE(fixture.differs("sparse.weights") == one.differs);
        auto const offsets = fixture.read<std::uint32_t>("sparse.offsets");
        auto const ids = fixture.read<std::uint32_t>("sparse.ids");
        auto const weights = fixture.read<float>("sparse.weights");
        for (auto const set : usable_sets()) {
            INFO(fixture.title() << " on " << uform::instruction_set_name(set));
            auto const model = fixture.load({.instruction_set = set});
            CHECK(contains(model.outputs(), Outputs::sparse));
            uform::Arena<Ram> arena;
            auto const encoded = model.text_encode(tape, Outputs::sparse, Scalar::f32, arena).value();
            check_cut(encoded, fixture, "texts");
            REQUIRE(encoded.sparse_ids().size() == texts.size());
            REQUIRE(
                std::ranges::equal(encoded.sparse_ids().offsets().value(), encoded.sparse_weights().offsets().value()));
            double worst = 0;
            std::size_t strangers = 0;
            for (std::size_t i = 0; i != texts.size(); ++i) {
                INFO("text " << i);
                auto const our_ids = encoded.sparse_ids().at(i).value().values<std::uint32_t>().value();
                auto const our_weights = encoded.sparse_weights().at(i).value().values<float>().value();
                auto const their_ids = std::span(ids).subspan(offsets[i], offsets[i + 1] - offsets[i]);
                auto const their_weights = std::span(weights).subspan(offsets[i], their_ids.size());
                REQUIRE(our_ids.size() == our_weights.size());
                CHECK(std::ranges::adjacent_find(our_ids, std::ranges::greater_equal()) == our_ids.end());
                double const scale = largest_of(their_weights);
                // Both rise, so one walk over the two finds what each has alone: next to nothing in weight.
                std::size_t ours = 0, theirs = 0;
                while (ours != our_ids.size() || theirs != their_ids.size()) {
                    bool const is_shared =
                        ours != our_ids.size() && theirs != their_ids.size() && our_ids[ours] == their_ids[theirs];
                    bool const is_ours = is_shared || theirs == their_ids.size() ||
                                         (ours != our_ids.size() && our_ids[ours] < their_ids[theirs]);
                    double const our_weight = is_ours ? static_cast<double>(our_weights[ours]) : 0.0;
                    double const their_weight =
                        is_ours && !is_shared ? 0.0 : static_cast<double>(their_weights[theirs]);
                    if (is_ours) CHECK(our_weight > 0);
                    double const off = std::fabs(our_weight - their_weight) / scale;
                    if (!is_shared) {
                        ++strangers;
                        CHECK(off <= 1e-6);
                    }
                    if (!(off <= worst)) worst = off;
                    ours += is_ours;
                    theirs += is_shared || !is_ours;
                }
            }
            CHECK(worst <= 1e-5);
            CHECK(strangers * 100 <= ids.size());
            std::printf("%s, %s: %zu weights differ by at most %.2g of the largest, %zu words are of one side alone\n",
                        fixture.title().c_str(), std::string(uform::instruction_set_name(set)).c_str(), ids.size(),
                        worst, strangers);

            auto const all_ids = encoded.sparse_ids().flat().values<std::uint32_t>().value();
            std::vector<std::uint32_t> const before(all_ids.begin(), all_ids.end());
            auto const weights_before = floats(encoded.sparse_weights().flat());
            auto const both = model.text_encode(tape, Outputs::states | Outputs::sparse, Scalar::f32, arena).value();
            check_ids(both, fixture.read<std::uint32_t>("texts.offsets"), fixture.read<std::uint32_t>("texts.ids"));
            CHECK(std::ranges::equal(both.sparse_ids().flat().values<std::uint32_t>().value(), before));
            CHECK(floats(both.sparse_weights().flat()) == weights_before);
        }
    }
}

namespace {

/// Every second text of a checkpoint of tests/data.
Texts every_second(std::string const &name) {
    auto const all = read_texts(data_path(name + "/texts.jsonl"));
    Texts texts;
    for (std::size_t i = 0; i < all.size(); i += 2) texts.push_back(all[i]);
    return texts;
}

/// That integers are the golden's, or beside it where the golden says that rounding is in doubt; answers how many are
/// beside it.
template <class Integer>
std::size_t check_integers(std::vector<Integer> const &ours, std::vector<Integer> const &theirs,
                           std::vector<std::uint8_t> const &doubt) {
    REQUIRE(ours.size() == theirs.size());
    REQUIRE(ours.size() == doubt.size());
    CHECK(std::ranges::count(doubt, 1) * 8 < std::ssize(doubt)); // nearly all must be equal
    std::size_t beside = 0, wrong = 0;
    for (std::size_t i = 0; i != ours.size(); ++i) {
        int const off = std::abs(static_cast<int>(ours[i]) - static_cast<int>(theirs[i]));
        beside += off != 0;
        wrong += off > (doubt[i] ? 1 : 0);
    }
    CHECK(wrong == 0);
    return beside;
}

/// A copy of all the values of rows.
template <class Value> std::vector<Value> values(uform::Rows<Ram> const &rows) {
    auto const span = rows.values<Value>().value();
    return {span.begin(), span.end()};
}

/// The bits of values that hold nothing else.
template <class Value, class Bits> std::vector<Bits> bits(uform::Rows<Ram> const &rows) {
    std::vector<Bits> answer;
    for (auto const &value : values<Value>(rows)) answer.push_back(value.bits);
    return answer;
}

} // namespace

TEST_CASE("engine: embeddings in narrow scalars are the reference's, rounded as NumPy rounds") {
    Golden const golden(data_path("outputs/conversions/golden.safetensors"));
    for (std::string const name : {"tiny", "tiny-cased"})
        for (auto const set : usable_sets()) {
            INFO(name << " on " << uform::instruction_set_name(set));
            auto const model = uform::Model::load(data_path(name), {.instruction_set = set}).value();
            auto const texts = every_second(name);
            auto const tape = uform::Tape::from(texts).value();
            uform::Arena<Ram> arena;
            auto const ask = [&](Scalar scalar) {
                auto const rows = model.text_encode(tape, Outputs::embeddings, scalar, arena).value().embeddings();
                REQUIRE(rows.rows() == texts.size());
                REQUIRE(rows.columns() == model.dimensions());
                return rows;
            };
            auto const doubt = [&](std::string const &scalar) {
                return golden.read<std::uint8_t>(name + '.' + scalar + ".doubt");
            };
            std::size_t beside = check_integers(bits<uform::F16, std::uint16_t>(ask(Scalar::f16)),
                                                golden.read<std::uint16_t>(name + ".f16"), doubt("f16"));
            beside += check_integers(bits<uform::BF16, std::uint16_t>(ask(Scalar::bf16)),
                                     golden.read<std::uint16_t>(name + ".bf16"), doubt("bf16"));
            beside += check_integers(values<std::int8_t>(ask(Scalar::i8)), golden.read<std::int8_t>(name + ".i8"),
                                     doubt("i8"));
            REQUIRE(std::ranges::count(doubt("b1"), 1) == 0); // so that all bits are sure
            CHECK(bits<uform::B1x8, std::uint8_t>(ask(Scalar::b1)) == golden.read<std::uint8_t>(name + ".b1"));
            std::printf("%s, %s: %zu of f16, bf16 and i8 are beside the reference's, where rounding is in doubt\n",
                        name.c_str(), std::string(uform::instruction_set_name(set)).c_str(), beside);
        }
}

TEST_CASE("engine: embeddings cut to fewer dimensions are the reference's, in every scalar") {
    Golden const golden(data_path("outputs/conversions/golden.safetensors"));
    for (std::string const name : {"tiny", "tiny-cased"}) {
        auto const texts = every_second(name);
        auto const tape = uform::Tape::from(texts).value();
        auto const model = uform::Model::load(data_path(name)).value();
        for (std::size_t const columns : {20u, 16u, 8u}) {
            INFO(name << " cut to " << columns);
            std::string const ending = '.' + std::to_string(columns);
            uform::Arena<Ram> arena;
            auto const ask = [&](Scalar scalar) {
                auto const rows = model.text_encode(tape, Outputs::embeddings, scalar, arena, {.dimensions = columns})
                                      .value()
                                      .embeddings();
                REQUIRE(rows.columns() == columns);
                return rows;
            };
            auto const expected = golden.read<float>(name + ".f32" + ending);
            CHECK(largest_difference(floats(ask(Scalar::f32)), expected) <=
                  (model.normalizes() ? mark : 1e-5 * largest_of(expected)));
            check_integers(values<std::int8_t>(ask(Scalar::i8)), golden.read<std::int8_t>(name + ".i8" + ending),
                           golden.read<std::uint8_t>(name + ".i8" + ending + ".doubt"));
            // The last byte of 20 columns is filled up.
            CHECK(bits<uform::B1x8, std::uint8_t>(ask(Scalar::b1)) == golden.read<std::uint8_t>(name + ".b1" + ending));
        }
    }
}

TEST_CASE("engine: a prompt stands before texts whose embeddings are cut") {
    Golden const golden(data_path("outputs/conversions/golden.safetensors"));
    auto const file = uform::File::map(data_path("families/modules/prompts.json")).value();
    ModelFolder const folder("tiny");
    folder.write("config_sentence_transformers.json", std::string(file.text()));
    auto const model = uform::Model::load(folder.path()).value();
    auto const texts = every_second("tiny");
    auto const tape = uform::Tape::from(texts).value();
    uform::Arena<Ram> arena;
    auto const encoded =
        model.text_encode(tape, Outputs::embeddings, Scalar::f32, arena, {.prompt = "query", .dimensions = 16}).value();
    auto const ours = floats(encoded.embeddings());
    CHECK(largest_difference(ours, golden.read<float>("tiny.f32.16.query")) <= mark);
    CHECK(largest_difference(ours, golden.read<float>("tiny.f32.16")) > 1e-2); // the prompt counts
}
