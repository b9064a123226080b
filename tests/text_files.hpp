/// What the tests of the text room share: folders made for a test, texts and goldens read from tests/data.
#ifndef UFORM_TESTS_TEXT_FILES_HPP
#define UFORM_TESTS_TEXT_FILES_HPP

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <unistd.h>

#include "catch.hpp"
#include "uform/file.hpp"
#include "uform/json.hpp"
#include "uform/text/tokenizer.hpp"

using Ids = std::vector<std::uint32_t>;

/// A folder with files of the test's making, gone with the object.
class MadeFolder {
    std::string path_;
    std::vector<std::string> files_;

  public:
    MadeFolder() {
        char const *const temporary = std::getenv("TMPDIR");
        path_ = std::string(temporary ? temporary : "/tmp") + "/uform-text-XXXXXX";
        REQUIRE(::mkdtemp(path_.data()));
    }
    explicit MadeFolder(std::string_view tokenizer_json) : MadeFolder() { write("tokenizer.json", tokenizer_json); }
    MadeFolder(MadeFolder const &) = delete;
    MadeFolder &operator=(MadeFolder const &) = delete;
    ~MadeFolder() {
        for (std::string const &file : files_) ::unlink(file.c_str());
        ::rmdir(path_.c_str());
    }
    MadeFolder &write(std::string const &name, std::string_view text) {
        files_.push_back(path_ + "/" + name);
        std::FILE *const file = std::fopen(files_.back().c_str(), "wb");
        REQUIRE(file);
        REQUIRE(std::fwrite(text.data(), 1, text.size(), file) == text.size());
        REQUIRE(std::fclose(file) == 0);
        return *this;
    }
    std::string const &path() const { return path_; }
};

inline std::string data_path(std::string const &name) { return std::string(UFORM_SOURCE_ROOT "/tests/data/") + name; }

/// The folder of all-MiniLM-L6-v2, or nothing.
inline std::string model_folder() {
    char const *const named = std::getenv("UFORM_MODEL_FOLDER");
#if defined(UFORM_MODEL_FOLDER)
    if (!named) named = UFORM_MODEL_FOLDER;
#endif
    std::string folder = named ? named : UFORM_SOURCE_ROOT "/models/all-MiniLM-L6-v2";
    return uform::file_exists(folder + "/tokenizer.json") ? folder : std::string();
}

inline std::string read_file(std::string const &path) {
    auto const file = uform::File::map(path);
    INFO(path);
    REQUIRE(file);
    return std::string(file->text());
}

/// Texts of JSON lines: {"text": "…"}, or {"hex": "…"} for what is not UTF-8.
inline std::vector<std::string> read_texts(std::string const &path) {
    std::vector<std::string> texts;
    std::string const all = read_file(path);
    for (std::string_view rest = all; !rest.empty();) {
        std::size_t const end = rest.find('\n');
        auto const json = uform::Json::parse(rest.substr(0, end), path);
        REQUIRE(json);
        if (auto const text = json->root().find("text").string()) {
            texts.emplace_back(*text);
        } else {
            auto const hex = json->root().find("hex").string();
            REQUIRE(hex);
            texts.emplace_back();
            for (std::size_t i = 0; i + 1 < hex->size(); i += 2)
                texts.back() += static_cast<char>(std::strtoul(std::string(hex->substr(i, 2)).c_str(), nullptr, 16));
        }
        rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
    }
    return texts;
}

/// Tensors of U32 of a golden file.
class Golden {
    std::string bytes_;
    uform::Json header_;
    std::size_t start_;

    static uform::Json parse(std::string const &bytes, std::string const &path) {
        std::uint64_t size = 0;
        REQUIRE(bytes.size() > 8);
        std::memcpy(&size, bytes.data(), 8);
        auto json = uform::Json::parse(std::string_view(bytes).substr(8, size), path);
        REQUIRE(json);
        return std::move(*json);
    }

  public:
    explicit Golden(std::string const &path) : bytes_(read_file(path)), header_(parse(bytes_, path)), start_(0) {
        std::uint64_t size = 0;
        std::memcpy(&size, bytes_.data(), 8);
        start_ = 8 + size;
    }
    std::vector<std::uint32_t> tensor(std::string const &name) const {
        INFO(name);
        uform::JsonValue const about = header_.root().find(name);
        REQUIRE(about.find("dtype").string() == std::string_view("U32"));
        auto const first = about.find("data_offsets")[0].natural(), last = about.find("data_offsets")[1].natural();
        REQUIRE((first && last && *first <= *last && start_ + *last <= bytes_.size()));
        std::vector<std::uint32_t> values((*last - *first) / 4);
        if (!values.empty()) std::memcpy(values.data(), bytes_.data() + start_ + *first, values.size() * 4);
        return values;
    }
    /// The ids of each text.
    std::vector<Ids> ids(std::string const &suffix = "") const {
        auto const offsets = tensor("offsets" + suffix), all = tensor("ids" + suffix);
        std::vector<Ids> lists;
        for (std::size_t i = 0; i + 1 < offsets.size(); ++i)
            lists.emplace_back(all.begin() + offsets[i], all.begin() + offsets[i + 1]);
        return lists;
    }
};

inline uform::Tokenizer load(std::string const &folder, uform::TokenizerOptions options = {}) {
    auto tokenizer = uform::Tokenizer::load(folder, options);
    INFO((tokenizer ? std::string() : std::string(tokenizer.error().message())));
    REQUIRE(tokenizer);
    return *tokenizer;
}

inline Ids ids_of(uform::Tokenizer const &tokenizer, std::string_view text) {
    auto const ids = tokenizer.encode(text);
    REQUIRE(ids);
    return *ids;
}

/// A tokenizer.json without special tokens around a text: [UNK] is 0, the other tokens follow from 1 on.
inline std::string small_json(std::vector<std::string> const &tokens, std::string const &normalizer,
                              std::string const &added = "", std::string const &model = "") {
    std::string vocabulary = "\"[UNK]\":0";
    for (std::size_t i = 0; i != tokens.size(); ++i) vocabulary += ",\"" + tokens[i] + "\":" + std::to_string(i + 1);
    return "{\"version\":\"1.0\",\"added_tokens\":[" + added + "],\"normalizer\":" + normalizer +
           ",\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},\"post_processor\":null,\"model\":{\"type\":"
           "\"WordPiece\","
           "\"unk_token\":\"[UNK]\"," +
           (model.empty() ? "\"continuing_subword_prefix\":\"##\",\"max_input_chars_per_word\":100" : model) +
           ",\"vocab\":{" + vocabulary + "}}}";
}

/// BERT's normaliser as JSON; `strip` is true, false or null.
inline std::string bert(bool clean, bool chinese, std::string const &strip, bool lower) {
    auto const word = [](bool value) { return std::string(value ? "true" : "false"); };
    return "{\"type\":\"BertNormalizer\",\"clean_text\":" + word(clean) + ",\"handle_chinese_chars\":" + word(chinese) +
           ",\"strip_accents\":" + strip + ",\"lowercase\":" + word(lower) + "}";
}

/// An added token as JSON; `flags` has l, r, n, w, s for lstrip, rstrip, normalized, single_word, special.
inline std::string added(unsigned id, std::string const &content, std::string const &flags) {
    auto const has = [&](char flag) { return std::string(flags.find(flag) != flags.npos ? "true" : "false"); };
    return "{\"id\":" + std::to_string(id) + ",\"content\":\"" + content + "\",\"single_word\":" + has('w') +
           ",\"lstrip\":" + has('l') + ",\"rstrip\":" + has('r') + ",\"normalized\":" + has('n') +
           ",\"special\":" + has('s') + "}";
}

#endif // UFORM_TESTS_TEXT_FILES_HPP
