/// Runs the conformance cases through the headers; `tools/oracle/conformance.py` says what their words mean.
///
///     conformance CASES DATA_FOLDER [WORD]     only the cases with WORD in their name
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "uform/cuda.hpp"
#include "uform/uform.hpp"

using uform::Arena, uform::Encoded, uform::Executor, uform::Model, uform::Outputs, uform::Ram, uform::Scalar;
using uform::Status;

namespace {

using Words = std::vector<std::string>;

/// A case: its lines by their first word, and whether all that was seen of it is what it expects.
struct Case {
    std::multimap<std::string, Words> lines;
    bool failed = false;

    Words const *find(std::string const &key) const {
        auto const at = lines.find(key);
        return at == lines.end() ? nullptr : &at->second;
    }
    std::string word(std::string const &key, std::string otherwise = {}) const {
        auto const *const words = find(key);
        return words && !words->empty() ? words->front() : otherwise;
    }
    /// The line of a word whose first argument is `name`.
    Words const *find(std::string const &key, std::string const &name) const {
        for (auto [at, end] = lines.equal_range(key); at != end; ++at)
            if (at->second.front() == name) return &at->second;
        return nullptr;
    }
    std::size_t option(std::string const &name) const {
        auto const *const found = find("option", name);
        return found ? std::stoull((*found)[1]) : 0;
    }
    void check(bool holds, std::string const &what, double seen, double wanted) {
        if (holds) return;
        failed = true;
        std::printf("%s: %s: %.17g, and not %.17g\n", word("case").c_str(), what.c_str(), seen, wanted);
    }
    void check_status(std::string const &name, Status seen) { check_number(name, static_cast<double>(seen)); }
    void check_number(std::string const &name, double seen) {
        auto const *const wanted = find("check", name);
        check(wanted && seen == std::stod((*wanted)[1]), name, seen, wanted ? std::stod((*wanted)[1]) : NAN);
    }
    void check_sum(std::string const &name, double sum) {
        auto const *const wanted = find("sum", name);
        if (!wanted) return check(false, name, sum, NAN);
        check(std::fabs(sum - std::stod((*wanted)[1])) <= std::stod((*wanted)[2]), name, sum, std::stod((*wanted)[1]));
    }
};

std::string unhex(std::string_view text) {
    std::string bytes;
    for (std::size_t i = 0; text != "-" && i + 1 < text.size(); i += 2)
        bytes.push_back(static_cast<char>(std::stoi(std::string(text.substr(i, 2)), nullptr, 16)));
    return bytes;
}
Words texts_of(Words const *words) {
    Words texts;
    for (std::size_t i = 1; words && i < words->size(); ++i) texts.push_back(unhex((*words)[i]));
    return texts;
}

template <class T> Status status(uform::Result<T> const &result) {
    return result ? Status::success : result.error().status();
}

/// The sum that the cases speak of, by `widen(values, i)`; NaN where the rows can't be read.
template <class T, class Widen> double sum_by(uform::Rows<Ram> const &rows, Widen const &widen) {
    auto const values = rows.values<T>();
    if (!values) return NAN;
    double sum = 0;
    for (std::size_t row = 0, i = 0; row != rows.rows(); ++row)
        for (std::size_t column = 0; column != rows.columns(); ++column, ++i)
            sum +=
                widen(values->subspan(row * (values->size() / rows.rows())), column) * static_cast<double>(1 + i % 7);
    return sum;
}
double sum_of(uform::Rows<Ram> const &rows) {
    auto const plain = [](auto values, std::size_t i) { return static_cast<double>(values[i]); };
    auto const narrow = [](auto values, std::size_t i) { return static_cast<double>(uform::widen(values[i])); };
    switch (rows.scalar()) {
    case Scalar::f32: return sum_by<float>(rows, plain);
    case Scalar::f16: return sum_by<uform::F16>(rows, narrow);
    case Scalar::bf16: return sum_by<uform::BF16>(rows, narrow);
    case Scalar::i8: return sum_by<std::int8_t>(rows, plain);
    case Scalar::b1:
        return sum_by<uform::B1x8>(rows, [](auto values, std::size_t i) {
            return static_cast<double>(values[i / 8].bits >> (7 - i % 8) & 1);
        });
    default: return NAN;
    }
}

std::optional<uform::RaggedRows<Ram>> ragged_named(Encoded<Ram> const &encoded, std::string const &name) {
    if (name == "states") return encoded.states();
    if (name == "token_vectors") return encoded.token_vectors();
    if (name == "token_probabilities") return encoded.token_probabilities();
    if (name == "sparse_ids") return encoded.sparse_ids();
    if (name == "sparse_weights") return encoded.sparse_weights();
    return std::nullopt;
}
uform::Rows<Ram> rows_named(Encoded<Ram> const &encoded, std::string const &name) {
    if (auto const ragged = ragged_named(encoded, name)) return ragged->flat();
    return name == "embeddings" ? encoded.embeddings() : encoded.probabilities();
}

void check_list(Case &one, std::string const &what, std::span<std::string const> words,
                uform::Result<std::span<std::uint32_t const>> const &seen) {
    if (!seen) return one.check(false, what, static_cast<double>(seen.error().status()), 0);
    one.check(seen->size() == words.size(), what, static_cast<double>(seen->size()), static_cast<double>(words.size()));
    for (std::size_t i = 0; i != words.size() && i < seen->size(); ++i)
        one.check((*seen)[i] == std::stoul(words[i]), what, (*seen)[i], std::stod(words[i]));
}

void compare(Case &one, Encoded<Ram> const &encoded) {
    auto const lines = one.lines;
    for (auto const &[key, words] : lines) {
        auto const rest = std::span<std::string const>(words).subspan(words.empty() ? 0 : 1);
        if (key == "shape") {
            auto const rows = rows_named(encoded, words[0]);
            one.check(rows.rows() == std::stoull(words[1]), "rows", static_cast<double>(rows.rows()),
                      std::stod(words[1]));
            one.check(rows.columns() == std::stoull(words[2]), "columns", static_cast<double>(rows.columns()),
                      std::stod(words[2]));
        } else if (key == "offsets") {
            check_list(one, key, rest, ragged_named(encoded, words[0])->offsets());
        } else if (key == "truncated") {
            check_list(one, key, words, encoded.truncated_tokens());
        } else if (key == "token_ids") {
            check_list(one, key, words, encoded.token_ids());
        } else if (key == "ids") {
            check_list(one, key, rest, rows_named(encoded, words[0]).values<std::uint32_t>());
        } else if (key == "sum") {
            one.check_sum(words[0], sum_of(rows_named(encoded, words[0])));
        }
    }
}

/// What a case is told beside its texts.
struct Asked {
    std::string verb, prompt;
    Outputs outputs;
    Scalar scalar;
    uform::EncodeOptions encode;
    uform::ClassifyOptions classify;

    explicit Asked(Case const &one)
        : verb(one.word("verb")), outputs(static_cast<Outputs>(std::stoul(one.word("outputs", "0")))),
          scalar(static_cast<Scalar>(std::stoul(one.word("scalar", "0")))) {
        if (auto const *const found = one.find("option", "prompt")) prompt = unhex((*found)[1]);
        encode.prompt = prompt;
        encode.truncate = classify.truncate = static_cast<uform::Truncate>(one.option("truncate"));
        encode.normalize = static_cast<uform::Normalize>(one.option("normalize"));
        encode.role = static_cast<uform::Role>(one.option("role"));
        encode.dimensions = one.option("dimensions"), encode.tokens_per_call = one.option("tokens_per_call");
        classify.activation = static_cast<uform::Activation>(one.option("activation"));
    }
    Asked(Asked const &) = delete;
    Asked &operator=(Asked const &) = delete;

    auto operator()(auto const &server, uform::TapeView texts, uform::TapeView second, Arena<Ram> &arena) const {
        if (verb == "encode") return server.text_encode(texts, outputs, scalar, arena, encode);
        if (verb == "classify") return server.text_classify(texts, scalar, arena, classify);
        if (verb == "classify_pairs") return server.text_classify(texts, second, scalar, arena, classify);
        return server.text_rerank(texts, second, scalar, arena, classify);
    }
};

/// The case's call; compares what it answers.
Status run_call(Case &one, std::string const &folder) {
    auto const model = Model::load(folder);
    if (!model) return status(model);
    auto const texts = uform::Tape::from(texts_of(one.find("texts"))).value();
    auto const second = uform::Tape::from(texts_of(one.find("second"))).value();
    uform::TapeView tape = texts;
    std::string bytes;
    std::vector<std::uint32_t> offsets;
    if (auto const *const raw = one.find("tape")) {
        bytes = unhex((*raw)[0]);
        for (std::size_t i = 1; i != raw->size(); ++i)
            offsets.push_back(static_cast<std::uint32_t>(std::stoul((*raw)[i])));
        auto const checked = uform::TapeView::of(bytes, offsets);
        if (!checked) return status(checked);
        tape = *checked;
    }
    Asked const asked(one);
    Arena<Ram> arena;
    auto const see = [&](auto const &result) {
        if (result) compare(one, *result);
        return status(result);
    };
    if (!one.find("executor")) return see(asked(*model, tape, second, arena));
    auto const executor = Executor<Ram>::with_threads(std::stoul(one.word("executor"))).value();
    auto const bound = model->on(executor);
    if (!one.find("deferred")) return see(asked(bound, tape, second, arena));
    auto call = asked(bound.deferred(), tape, second, arena);
    return call ? see(call->wait()) : status(call);
}

/// What the scenarios share.
struct Scene {
    Case &one;
    Model model;
    Executor<Ram> executor = Executor<Ram>::with_threads(1).value();
    Arena<Ram> arena{};
    Words texts = texts_of(one.find("texts"));

    auto encode(Arena<Ram> &into, std::size_t text, uform::EncodeOptions const &options = {}) const {
        return model.text_encode(texts[text], Outputs::embeddings, Scalar::f32, into, options);
    }
    auto encode(std::size_t text) { return encode(arena, text); }
    auto submit(Arena<Ram> &into, uform::TapeView tape) const {
        return model.on(executor).deferred().text_encode(tape, Outputs::embeddings, Scalar::f32, into);
    }
    static Status read(Encoded<Ram> const &encoded) { return status(encoded.embeddings().values<float>()); }
    void sum(std::string const &name, Encoded<Ram> const &encoded) const {
        one.check_sum(name, sum_of(encoded.embeddings()));
    }

    void stale() {
        auto const first = encode(0).value(), second = encode(1).value();
        one.check_status("read_first", read(first));
        one.check_status("read_second", read(second));
        sum("second", second);
    }
    void freed() {
        auto const first = encode(0).value();
        arena = Arena<Ram>();
        one.check_status("read", read(first));
        auto const second = encode(1).value();
        one.check_status("read_again", read(first));
        one.check_status("read_new", read(second));
        sum("second", second);
    }
    void busy() {
        auto call = submit(arena, texts[0]);
        one.check_status("submit", status(call));
        one.check_status("call", status(encode(1)));
        one.check_status("call_deferred", status(submit(arena, texts[1])));
        {
            auto const first = call->wait();
            one.check_status("wait", status(first));
            one.check_status("read", read(*first));
            sum("first", *first);
            one.check_status("call_pinned", status(encode(1)));
        }
        auto const second = encode(1);
        one.check_status("call_after", status(second));
        sum("second", *second);
    }
    void dropped() {
        auto call = submit(arena, uform::Tape::from(texts).value());
        one.check_status("submit", status(call));
        arena = Arena<Ram>();
        auto const result = call->wait();
        one.check_status("wait", status(result));
        one.check_status("read", read(*result));
        auto const first = encode(0);
        one.check_status("call", status(first));
        sum("first", *first);
    }
    void each_own() {
        std::vector<Arena<Ram>> arenas(texts.size());
        std::vector<uform::Deferred<Encoded<Ram>>> calls;
        for (std::size_t i = 0; i != texts.size(); ++i) calls.push_back(submit(arenas[i], texts[i]).value());
        Status worst = Status::success;
        for (std::size_t i = 0; i != texts.size(); ++i) {
            auto const result = calls[i].wait();
            worst = std::max(worst, status(result));
            sum("sum_" + std::to_string(i), *result);
        }
        one.check_status("wait", worst);
    }
    void description() {
        auto const note = [&](std::string const &before, Arena<Ram> const &of) {
            auto const where = of.describe();
            one.check_number(before + "residency", static_cast<double>(where.residency));
            one.check_number(before + "device", where.device ? *where.device : -1.0);
        };
        note("", arena);
        note("executor_", Arena<Ram>(Executor<Ram>::with_threads(2).value()));
    }
    void
    device() { // reads of device rows on the host don't compile, and neither do calls into another residency's arena
        auto const made = Executor<uform::Vram>::for_device(0);
        if (!made) {
            one.check_status("executor", status(made));
            one.check(!made.error().message().empty(), "a message says why there is no device", 0, 1);
            return;
        }
        auto const where = Arena<uform::Vram>(*made).describe();
        one.check_number("describe_residency", static_cast<double>(where.residency));
        one.check_number("describe_device", where.device ? *where.device : -1.0);
    }
    void limit() {
        auto const first = encode(0).value();
        arena.limit(8);
        one.check_status("call", status(encode(1)));
        one.check_status("read", read(first));
        sum("first", first);
        arena.limit(SIZE_MAX);
        after();
    }
    void pinned() {
        auto const first = encode(0).value();
        {
            auto const pin = first.pin();
            one.check_status("pin", status(pin));
            one.check_status("call", status(encode(1)));
            one.check_status("read", read(first));
            sum("first", first);
        }
        after();
        one.check_status("pin_stale", status(first.pin()));
    }
    void cancelled() {
        auto const first = encode(0).value();
        std::atomic<bool> flag{true};
        one.check_status("call", status(encode(arena, 1, {.cancel = &flag})));
        one.check_status("read", read(first));
        sum("first", first);
        flag = false;
        after();
    }
    void own_input() {
        auto const first = encode(0).value();
        auto const bytes = std::string_view(static_cast<char const *>(first.embeddings().data()),
                                            first.embeddings().row_stride_bytes());
        one.check_status("call", status(model.text_encode(bytes, Outputs::embeddings, Scalar::f32, arena)));
        one.check_status("read", read(first));
        sum("first", first);
    }
    void taken() {
        auto call = submit(arena, texts[0]).value();
        one.check_status("wait", status(call.wait()));
        one.check_status("wait_again", status(call.wait()));
    }
    void after() {
        auto const second = encode(1);
        one.check_status("call_after", status(second));
        sum("second", *second);
    }
};

void run_scenario(Case &one, std::string const &folder) {
    std::map<std::string, void (Scene::*)()> const scenarios{
        {"stale", &Scene::stale},         {"freed", &Scene::freed},         {"busy", &Scene::busy},
        {"dropped", &Scene::dropped},     {"each_own", &Scene::each_own},   {"description", &Scene::description},
        {"device", &Scene::device},       {"limit", &Scene::limit},         {"pinned", &Scene::pinned},
        {"cancelled", &Scene::cancelled}, {"own_input", &Scene::own_input}, {"taken", &Scene::taken}};
    auto const found = scenarios.find(one.word("scenario"));
    if (found == scenarios.end()) return one.check(false, "the scenario is unknown", 0, 1);
    Scene scene{one, Model::load(folder).value()};
    (scene.*found->second)();
}

} // namespace

int main(int count, char **arguments) {
    if (count < 3) {
        std::fputs("usage: conformance CASES DATA_FOLDER [WORD]\n", stderr);
        return 2;
    }
    std::ifstream file(arguments[1]);
    std::size_t passed = 0, failed = 0;
    Case one;
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string first;
        if (!(words >> first) || first == "#") continue;
        if (first == "case") one = {};
        one.lines.emplace(first, Words(std::istream_iterator<std::string>(words), {}));
        if (first != "end" || (count > 3 && one.word("case").find(arguments[3]) == std::string::npos)) continue;
        auto const folder = std::string(arguments[2]) + '/' + one.word("model");
        if (one.find("scenario")) {
            run_scenario(one, folder);
        } else {
            auto const wanted = std::stod(one.word("status"));
            auto const seen = static_cast<double>(run_call(one, folder));
            one.check(seen == wanted, "status", seen, wanted);
        }
        (one.failed ? failed : passed) += 1;
    }
    std::printf("%zu passed, %zu failed\n", passed, failed);
    return failed || !passed;
}
