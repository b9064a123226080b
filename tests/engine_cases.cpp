/// Faults that users reported against other engines, each as a kind with siblings; and which tests hold the other
/// kinds.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model_folder.hpp"
#include "skip.hpp"
#include "uform/uform.hpp"

using uform::Outputs, uform::Ram, uform::Scalar, uform::Status;

namespace {

/// Each kind of fault, with a test that holds it.
struct HeldKind {
    std::string_view kind, file, test;
};
constexpr HeldKind held_kinds[] = {
    {"accents eaten with their letter", "text_cases.cpp",
     "kind: an accent goes and its letter stays, in every script, composed or not"},
    {"accents eaten with their letter", "text_tokenizer.cpp", "accents go and their letters stay, composed or not"},
    {"accents eaten with their letter", "text_goldens.cpp",
     "every Unicode scalar value, alone and between two letters"},
    {"flags ignored", "text_cases.cpp", "kind: each flag of the normaliser decides alone"},
    {"flags ignored", "text_goldens.cpp",
     "WordPiece goldens: each flag of the normaliser, added tokens, another prefix, short words"},
    {"flags ignored", "text_goldens.cpp", "the same ids from vocab.txt and tokenizer_config.json"},
    {"no composition", "text_cases.cpp",
     "kind: what isn't stripped isn't composed, decomposed or made compatible either"},
    {"dash is punctuation", "text_cases.cpp",
     "kind: every punctuation mark splits, and symbols that aren't ASCII don't"},
    {"longest match", "text_cases.cpp", "kind: the longest piece is taken, without a way back"},
    {"long words", "text_cases.cpp",
     "kind: a long word is split up to the limit in code points, and one unknown token above"},
    {"long words", "text_tokenizer.cpp", "a megabyte of anything takes linear time"},
    {"long words", "text_families.cpp", "words of a megabyte"},
    {"bad UTF-8", "text_cases.cpp", "kind: bytes that aren't UTF-8 are U+FFFD, one each longest part of a character"},
    {"bad UTF-8", "text_unicode.cpp", "each maximal ill-formed part becomes one U+FFFD"},
    {"bad UTF-8", "text_unicode.cpp", "nothing is read past the end of a text"},
    {"cleaning table", "text_cases.cpp", "kind: cleaning removes, makes a space or keeps, by the age of its tables"},
    {"special token text", "engine_cases.cpp", "kind: a special token in a text is a token as any other"},
    {"which limit wins", "engine_cases.cpp",
     "kind: the limit is that of sentence-transformers, special tokens included"},
    {"which limit wins", "checkpoint_configuration.cpp", "the longest input is the one of sentence-transformers"},
    {"RoBERTa positions", "engine_cases.cpp", "kind: positions start after the padding id and end with the table"},
    {"RoBERTa positions", "encoder_families.cpp",
     "positions start after the padding id, and a table of 10 rows serves what is left of it"},
    {"RoBERTa positions", "checkpoint_families.cpp", "the longest text is what is left of the position table"},
    {"pooling read, not guessed", "kernels_rows.cpp", "pooling answers what its definition says"},
    {"pooling read, not guessed", "checkpoint_configuration.cpp", "pooling is read in both spellings"},
    {"pooling read, not guessed", "checkpoint_configuration.cpp", "pooling that isn't known is refused, never guessed"},
    {"pooling read, not guessed", "engine_goldens.cpp", "engine: every pooling, in both spellings, is the reference's"},
    {"batch dependence", "engine_independence.cpp",
     "engine: a text's bits don't depend on the batch or the threads, tiny checkpoints"},
    {"batch dependence", "encoder_families.cpp", "a text's states have the same bits in any company, in every family"},
    {"pair segments", "text_cases.cpp", "kind: pairs have the segments and separators of their post-processor"},
    {"pair segments", "text_families.cpp", "pairs of texts, cut by each truncation to limits of 0 to 39"},
    {"pair segments", "engine_cases.cpp", "kind: a text alone never has the second segment"}, // no verb takes pairs yet
    {"checkpoint spellings", "engine_spellings.cpp", "engine: spellings of a checkpoint give the same bits"},
    {"checkpoint spellings", "encoder_families.cpp", "the spellings of every family's checkpoint give the same bits"},
    {"memory ratchets", "engine_steady.cpp",
     "engine: a steady loop of mixed shapes allocates nothing, tiny checkpoints"},
    {"memory ratchets", "text_tokenizer.cpp", "no memory grows with what was seen, whatever the model"},
    {"stale buffers", "engine_cases.cpp", "kind: a call makes the views of the one before it stale"},
    {"stale buffers", "arena_contract.cpp", "contract 3: a view of an earlier call is stale, for every way to read it"},
    {"zero and NaN", "engine_cases.cpp", "kind: a vector of zeros stays one, and what isn't a number is an error"},
    {"zero and NaN", "engine_bad_input.cpp",
     "bad input: results that aren't numbers fail the call and leave the arena ready"},
    {"zero and NaN", "engine_bad_input.cpp", "bad input: folders that can't be loaded"},
    {"zero and NaN", "encoder_families.cpp",
     "a tensor of any family that is missing, misshapen or not of numbers is refused by name"},
};

/// What a call answers for texts: ids and states end to end, embeddings, counts.
struct Answer {
    std::vector<std::uint32_t> ids, cut;
    std::vector<float> states, embeddings;
};
Answer answer_of(uform::Model const &model, std::vector<std::string> const &texts) {
    auto const tape = uform::Tape::from(texts).value();
    uform::Arena<Ram> arena;
    auto const encoded = model.text_encode(tape, Outputs::embeddings | Outputs::states, Scalar::f32, arena).value();
    Answer answer;
    for (auto const id : encoded.token_ids().value()) answer.ids.push_back(id);
    for (auto const count : encoded.truncated_tokens().value()) answer.cut.push_back(count);
    for (auto const value : encoded.states().flat().values<float>().value()) answer.states.push_back(value);
    for (auto const value : encoded.embeddings().values<float>().value()) answer.embeddings.push_back(value);
    return answer;
}
bool same_bits(std::vector<float> const &a, std::vector<float> const &b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// Puts another number in place of the one that a key has.
void set_number(ModelFolder const &folder, std::string const &file, std::string const &key, std::size_t number) {
    auto text = folder.read(file);
    auto const at = text.find('"' + key + "\":");
    INFO(key);
    REQUIRE(at != text.npos);
    auto const first = text.find_first_of("0123456789", at + key.size() + 3),
               last = text.find_first_not_of("0123456789", first);
    folder.write(file, text.replace(first, last - first, std::to_string(number)));
}

/// A tokenizer.json whose words are the numbers below `count`, each of its own id, without special tokens.
std::string tokenizer_of_numbers(std::size_t count) {
    std::string vocabulary;
    for (std::size_t i = 0; i != count; ++i)
        vocabulary += (i ? ",\"" : "\"") + std::to_string(i) + "\":" + std::to_string(i);
    return R"({"version":"1.0","added_tokens":[],"normalizer":null,"pre_tokenizer":{"type":"WhitespaceSplit"},)"
           R"("post_processor":null,"decoder":null,"model":{"type":"WordLevel","unk_token":"0","vocab":{)" +
           vocabulary + "}}}";
}

/// A copy of a family's folder whose tokenizer is that of numbers.
struct NumberedFolder : ModelFolder {
    explicit NumberedFolder(std::string const &family, std::size_t count = 40) : ModelFolder(family) {
        for (std::string const name : {"vocab.txt", "tokenizer_config.json", "special_tokens_map.json"}) remove(name);
        write("tokenizer.json", tokenizer_of_numbers(count));
    }
};

/// The name of the one tensor that ends so.
std::string tensor_ending(WrittenTensors const &tensors, std::string_view ending) {
    std::string found;
    for (auto const &[name, tensor] : tensors)
        if (name.ends_with(ending)) found = name;
    INFO(ending);
    REQUIRE_FALSE(found.empty());
    return found;
}

/// Fills rows of a table of floats.
void fill_rows(WrittenTensor &table, std::size_t first, std::size_t count, float value) {
    REQUIRE(table.dtype == "F32");
    for (std::size_t i = first * table.shape[1]; i != (first + count) * table.shape[1]; ++i)
        std::memcpy(table.bytes.data() + i * sizeof value, &value, sizeof value);
}

void check_refused(std::string const &folder, Status status, std::vector<std::string> const &words) {
    auto const model = uform::Model::load(folder);
    REQUIRE_FALSE(model);
    INFO(model.error().message());
    CHECK(model.error().status() == status);
    for (auto const &word : words) {
        INFO("must name " << word);
        CHECK(model.error().message().find(word) != std::string_view::npos);
    }
}

} // namespace

TEST_CASE("kind: the tests that hold the kinds are there") {
    std::set<std::string_view> kinds;
    for (auto const &[kind, file, test] : held_kinds) {
        kinds.insert(kind);
        auto const source = uform::File::map(std::string(UFORM_SOURCE_ROOT "/tests/") + std::string(file)).value();
        auto const head = "TEST_CASE(\"" + std::string(test) + '"';
        INFO(file << " has no " << head);
        CHECK(source.text().find(head) != std::string_view::npos);
    }
    CHECK(kinds.size() == 18);
}

TEST_CASE("kind: a special token in a text is a token as any other") {
    struct Case {
        std::string folder, text;
        std::vector<std::uint32_t> ids;
        std::vector<double> embedding; // its first numbers, of sentence-transformers in float64
    };
    Case const cases[] = {
        {"tiny", "a [PAD] b", {2, 49, 0, 50, 3}, {0.02371488, -0.10815129, -0.0342984, -0.11946673}},
        {"tiny", "[PAD]", {2, 0, 3}, {0.09222486, -0.06118476, -0.09251903, -0.1761203}},
        {"tiny", "[PAD] [PAD] a", {2, 0, 0, 49, 3}, {0.09654076, -0.15485717, -0.02754374, -0.13415314}},
        {"tiny", "a [SEP] b", {2, 49, 3, 50, 3}, {-0.00240292, -0.15133156, -0.03701972, -0.04510783}},
        {"tiny", "[MASK] [UNK] [CLS]", {2, 4, 1, 2, 3}, {0.14544057, 0.0719321, -0.10777011, -0.03741139}},
        {"families/distilbert", "a [PAD] b", {2, 49, 0, 50, 3}, {0.29653844, 0.0312336, 1.60948513, -0.89788546}},
        {"families/distilbert", "[PAD]", {2, 0, 3}, {0.38371426, -0.00394908, 0.72836815, -0.87962983}},
        {"families/distilbert", "a [SEP] [PAD]", {2, 49, 3, 0, 3}, {0.46383663, 0.00103735, 0.77449422, -0.97790014}},
        {"families/mpnet", "a <pad> b", {0, 53, 1, 54, 2}, {-0.04582247, 0.13231981, -0.2066639, -0.04148098}},
        {"families/mpnet", "<pad>", {0, 1, 2}, {-0.06396153, 0.15130774, -0.15628808, 0.06235588}},
        {"families/mpnet", "a </s> <pad>", {0, 53, 2, 1, 2}, {-0.17402101, 0.04494828, -0.19909378, 0.09821928}},
    };
    for (auto const &[folder, text, ids, embedding] : cases) {
        INFO(folder << ": " << text);
        auto const model = uform::Model::load(data_path(folder)).value();
        // Alone, and after a longer text, where another engine would pad it.
        for (std::vector<std::string> const &texts :
             {std::vector{text}, std::vector{std::string("a b c d e f g h"), text}}) {
            auto const answer = answer_of(model, texts);
            REQUIRE(answer.ids.size() >= ids.size());
            CHECK(std::equal(ids.begin(), ids.end(), answer.ids.end() - static_cast<std::ptrdiff_t>(ids.size())));
            auto const *const row = answer.embeddings.data() + answer.embeddings.size() - model.dimensions();
            for (std::size_t i = 0; i != embedding.size(); ++i)
                CHECK(std::fabs(static_cast<double>(row[i]) - embedding[i]) <= (model.normalizes() ? 2e-6 : 2e-5));
        }
    }
}

TEST_CASE("kind: the limit is that of sentence-transformers, special tokens included") {
    struct Limits {
        std::string sentence, tokenizer; ///< what their files hold
        std::size_t limit, warnings;
    };
    // Its tokenizer.json says 16, and its position table has 40 rows.
    Limits const all[] = {
        {R"("max_seq_length":24)", R"("model_max_length":40)", 24, 0},
        {R"("max_seq_length":40)", R"("model_max_length":20)", 40, 0},
        {R"("max_seq_length":16)", R"("model_max_length":40)", 16, 0},
        {R"("max_seq_length":15)", "", 15, 0},
        {R"("max_seq_length":3)", "", 3, 0},
        {R"("max_seq_length":41)", "", 40, 1},
        {R"("max_seq_length":256)", R"("model_max_length":512)", 40, 1},
        {R"("do_lower_case":false)", R"("model_max_length":20)", 20, 0},
        {R"("do_lower_case":false)", R"("model_max_length":512)", 40, 0},
        {R"("max_seq_length":null)", "", 40, 0},
    };
    auto const check = [](uform::Model const &model, std::size_t limit) {
        REQUIRE(model.max_sequence_length() == limit);
        auto const mark = model.tokenizer().encode("!").value();
        REQUIRE(mark.size() == 3);
        for (std::size_t words = limit < 4 ? 0 : limit - 4; words != limit + 1; ++words) {
            std::string text;
            for (std::size_t i = 0; i != words; ++i) text += "! ";
            INFO(words << " words, at most " << limit << " tokens");
            auto const answer = answer_of(model, {text});
            std::size_t const whole = words + 2, kept = std::min(whole, limit);
            std::vector<std::uint32_t> expected(kept, mark[1]);
            expected.front() = mark[0], expected.back() = mark[2];
            CHECK(answer.ids == expected);
            CHECK(answer.cut == std::vector<std::uint32_t>{static_cast<std::uint32_t>(whole - kept)});
            uform::Arena<Ram> arena;
            auto const refused =
                model.text_encode(text, Outputs::embeddings, Scalar::f32, arena, {.truncate = uform::Truncate::refuse});
            CHECK(refused.has_value() == (whole == kept));
            if (!refused) CHECK(refused.error().status() == Status::invalid_argument);
        }
    };
    for (auto const &[sentence, tokenizer, limit, warnings] : all) {
        INFO(sentence << " " << tokenizer);
        ModelFolder const folder("tiny");
        folder.write("sentence_bert_config.json", "{" + sentence + "}");
        folder.write("tokenizer_config.json", "{" + tokenizer + "}");
        auto const model = uform::Model::load(folder.path()).value();
        CHECK(model.warnings().size() == warnings);
        check(model, limit);
    }
    for (auto const &[name, limit] : {std::pair{"families/distilbert", 32}, std::pair{"families/mpnet", 160}})
        check(uform::Model::load(data_path(name)).value(), static_cast<std::size_t>(limit));
    auto const minilm = minilm_folder(); // 128, 256 and 512
    if (minilm.empty()) return skip_part("all-MiniLM-L6-v2 was not fetched");
    check(uform::Model::load(minilm).value(), 256);
}

TEST_CASE("kind: positions start after the padding id and end with the table") {
    for (std::string const family : {"roberta", "xlm-roberta", "camembert"})
        for (std::size_t const pad : {0u, 1u, 3u, 5u, 8u}) {
            INFO(family << ", padding id " << pad);
            std::size_t const rows = 10, limit = rows - pad - 1;
            std::string text;
            for (std::size_t i = 0; i != limit + 4; ++i) text += std::to_string(20 + i) + " ";
            // The rows up to the padding id's are for padding alone; each of the others is read.
            auto const answer = [&](std::size_t changed, float value) {
                NumberedFolder const folder("families/" + family);
                set_number(folder, "config.json", "pad_token_id", pad);
                set_number(folder, "config.json", "max_position_embeddings", rows);
                folder.change_weights([&](WrittenTensors &tensors) {
                    auto &table = tensors.at(tensor_ending(tensors, "position_embeddings.weight"));
                    table.bytes.resize(table.bytes.size() / table.shape[0] * rows), table.shape[0] = rows;
                    fill_rows(table, 0, pad + 1, changed == rows ? value : 0);
                    if (changed != rows) fill_rows(table, changed, 1, value);
                });
                auto const model = uform::Model::load(folder.path()).value();
                REQUIRE(model.max_sequence_length() == limit);
                return answer_of(model, {text});
            };
            auto const plain = answer(rows, 0);
            CHECK(plain.ids.size() == limit);
            CHECK(plain.cut == std::vector<std::uint32_t>{4});
            CHECK(same_bits(answer(rows, 1e9f).states, plain.states));
            CHECK_FALSE(same_bits(answer(pad + 1, 0.5f).states, plain.states));
            CHECK_FALSE(same_bits(answer(rows - 1, 0.5f).states, plain.states));
        }
    // No place is left for a token.
    NumberedFolder const folder("families/roberta");
    set_number(folder, "config.json", "pad_token_id", 65);
    check_refused(folder.path(), Status::corrupt, {"config.json", "max_position_embeddings", "66", "pad_token_id"});
}

TEST_CASE("kind: a text alone never has the second segment") {
    for (std::string const name : {"tiny", "tiny-cased", "families/nomic-bert"}) {
        INFO(name);
        auto const answer = [&](std::size_t row, float value) {
            NumberedFolder const folder(name);
            folder.change_weights([&](WrittenTensors &tensors) {
                auto &table = tensors.at(tensor_ending(tensors, "token_type_embeddings.weight"));
                REQUIRE(table.shape[0] == 2);
                fill_rows(table, row, 1, value);
            });
            return answer_of(uform::Model::load(folder.path()).value(), {"7 8 9", "", "1 2 3 4 5 6 7"}).states;
        };
        CHECK(same_bits(answer(1, 0), answer(1, 1e9f)));
        CHECK_FALSE(same_bits(answer(0, 0), answer(0, 0.5f)));
    }
}

TEST_CASE("kind: a call makes the views of the one before it stale") {
    auto const model = uform::Model::load(data_path("tiny")).value(),
               cased = uform::Model::load(data_path("tiny-cased")).value();
    std::vector<std::string> const some = {"a", "the model", "b c"}, fewer = {"d"}, others = {"x", "y", "z"},
                                   more = {"the", "model", "a b c d", "", "e"};
    constexpr auto both = Outputs::embeddings | Outputs::states;
    for (bool const moved : {false, true})
        for (auto const &next : {fewer, others, some, more})
            for (auto const *const by : {&model, &cased}) {
                INFO(next.size() << " texts after 3" << (moved ? ", in a moved arena" : ""));
                uform::Arena<Ram> made;
                auto const tape = uform::Tape::from(some).value(), next_tape = uform::Tape::from(next).value();
                auto const before = model.text_encode(tape, both, Scalar::f32, made).value();
                auto const vectors = before.embeddings();
                auto const states = before.states();
                REQUIRE(vectors.values<float>());
                uform::Arena<Ram> other;
                uform::Arena<Ram> &arena = moved ? other = std::move(made) : made;
                CHECK(vectors.is_current());
                auto const after = by->text_encode(next_tape, both, Scalar::f32, arena).value();
                CHECK_FALSE(vectors.is_current());
                auto const refused = [](auto const &result) {
                    return !result && result.error().status() == Status::invalid_argument;
                };
                CHECK(refused(vectors.values<float>()));
                CHECK(refused(vectors.row<float>(0)));
                CHECK(refused(vectors.matrix<float>()));
                CHECK(refused(vectors.pin()));
                CHECK(refused(states.at(0)));
                CHECK(refused(states.offsets()));
                CHECK(refused(states.pin()));
                CHECK(refused(states.flat().values<float>()));
                CHECK(refused(before.token_ids()));
                CHECK(refused(before.truncated_tokens()));
                CHECK(refused(before.pin()));
                auto const fresh = answer_of(*by, next);
                auto const now = after.embeddings().values<float>().value();
                CHECK(same_bits({now.begin(), now.end()}, fresh.embeddings));
                auto const now_states = after.states().flat().values<float>().value();
                CHECK(same_bits({now_states.begin(), now_states.end()}, fresh.states));
            }
}

TEST_CASE("kind: a vector of zeros stays one, and what isn't a number is an error") {
    auto const zero_states = [](ModelFolder const &folder) {
        folder.change_weights([](WrittenTensors &tensors) {
            for (std::string const name : {"weight", "bias"})
                tensors.at("encoder.layer.1.output.LayerNorm." + name).bytes.assign(48 * 4, '\0');
        });
    };
    for (std::string const mode : {R"("cls")", R"("max")", R"("mean")", R"("mean_sqrt_len_tokens")",
                                   R"("weightedmean")", R"("lasttoken")", R"(["cls","mean","max"])"}) {
        INFO(mode);
        ModelFolder const folder("tiny");
        zero_states(folder);
        folder.write("1_Pooling/config.json", R"({"embedding_dimension":48,"pooling_mode":)" + mode + "}");
        auto const model = uform::Model::load(folder.path()).value();
        REQUIRE(model.normalizes());
        for (float const value : answer_of(model, {"the model", "", "a [PAD] b"}).embeddings) CHECK(value == 0.0f);
    }
    // Zeros that a Normalize hands to a Dense.
    ModelFolder const dense("tiny");
    std::filesystem::copy(data_path("families/modules/normalize-first"), dense.path(),
                          std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing);
    zero_states(dense);
    for (float const value : answer_of(uform::Model::load(dense.path()).value(), {"a"}).embeddings)
        CHECK(std::isfinite(value));

    // NaN and infinities in stored halves, too.
    std::pair<std::string, std::vector<std::uint16_t>> const narrow[] = {{"BF16", {0x7FC0, 0xFFC1, 0x7F80, 0xFF80}},
                                                                         {"F16", {0x7E00, 0xFE01, 0x7C00, 0xFC00}}};
    for (auto const &[dtype, patterns] : narrow)
        for (auto const pattern : patterns)
            for (std::string const name : {"embeddings.word_embeddings.weight", "encoder.layer.1.output.dense.bias",
                                           "encoder.layer.0.attention.self.query.weight"}) {
                ModelFolder const folder("tiny");
                folder.change_weights([&, &type = dtype](WrittenTensors &tensors) {
                    auto &tensor = tensors.at(name);
                    tensor.dtype = type, tensor.bytes.assign(tensor.bytes.size() / 2, '\0');
                    std::memcpy(tensor.bytes.data() + tensor.bytes.size() - 2, &pattern, 2);
                });
                check_refused(folder.path(), Status::corrupt, {"model.safetensors", name, "NaN"});
            }
}

TEST_CASE("bad input: ids past the embedding table are refused at load, tokens fewer than its rows are served") {
    for (std::string const family :
         {"tiny", "families/roberta", "families/xlm-roberta", "families/camembert", "families/distilbert",
          "families/mpnet", "families/modernbert", "families/nomic-bert"}) {
        INFO(family);
        NumberedFolder const folder(family);
        std::size_t rows = 0;
        std::string table;
        folder.change_weights([&](WrittenTensors &tensors) {
            for (std::string_view const ending : {"word_embeddings.weight", "tok_embeddings.weight"})
                for (auto const &[name, tensor] : tensors)
                    if (name.ends_with(ending)) table = name, rows = tensor.shape[0];
        });
        REQUIRE(rows > 50);
        for (std::size_t const tokens : {std::size_t{2}, rows - 1, rows}) {
            folder.write("tokenizer.json", tokenizer_of_numbers(tokens));
            auto const model = uform::Model::load(folder.path());
            INFO((model ? "" : std::string(model.error().message())));
            REQUIRE(model);
            auto const last = std::to_string(tokens - 1);
            CHECK(answer_of(*model, {last}).ids == std::vector{static_cast<std::uint32_t>(tokens - 1)});
        }
        for (std::size_t const tokens : {rows + 1, rows + 100}) {
            folder.write("tokenizer.json", tokenizer_of_numbers(tokens));
            check_refused(
                folder.path(), Status::corrupt,
                {folder.path(), "ids up to " + std::to_string(tokens - 1), "vocab_size", std::to_string(rows)});
        }
        // One id far past the others, and one of an added token.
        auto far = tokenizer_of_numbers(3);
        far.replace(far.find("\"2\":2"), 5, "\"2\":" + std::to_string(rows));
        folder.write("tokenizer.json", far);
        check_refused(folder.path(), Status::corrupt, {folder.path(), std::to_string(rows)});
        auto more = tokenizer_of_numbers(rows);
        more.insert(
            more.find("\"added_tokens\":[") + 16,
            R"({"id":)" + std::to_string(rows) +
                R"(,"content":"[X]","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true})");
        folder.write("tokenizer.json", more);
        check_refused(folder.path(), Status::corrupt, {folder.path(), std::to_string(rows)});
        // A vocab_size that isn't the table's.
        folder.write("tokenizer.json", tokenizer_of_numbers(40));
        for (std::size_t const said : {rows - 1, rows + 1}) {
            set_number(folder, "config.json", "vocab_size", said);
            check_refused(folder.path(), Status::corrupt, {"model.safetensors", table, std::to_string(said)});
        }
    }
}
