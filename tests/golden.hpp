/// The reference's answers and the texts they are for, read from tests/data; and where the real model lies.
#ifndef UFORM_TESTS_GOLDEN_HPP
#define UFORM_TESTS_GOLDEN_HPP

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "catch.hpp"
#include "uform/checkpoint/safetensors.hpp"
#include "uform/file.hpp"
#include "uform/json.hpp"

/// A path below tests/data.
inline std::string data_path(std::string const &name) { return UFORM_SOURCE_ROOT "/tests/data/" + name; }

/// The folder of all-MiniLM-L6-v2, or nothing where it was not fetched.
inline std::string minilm_folder() {
    char const *given = std::getenv("UFORM_MODEL_FOLDER");
    std::string folder = given && *given ? given : UFORM_SOURCE_ROOT "/models/all-MiniLM-L6-v2";
    return uform::file_exists(folder + "/model.safetensors") ? folder : std::string();
}

/// The texts of a JSON lines file: `{"text": …}`, or `{"hex": …}` for bytes that are not UTF-8.
inline std::vector<std::string> read_texts(std::string const &path) {
    auto const file = uform::File::map(path).value();
    std::vector<std::string> texts;
    std::string_view rest = file.text();
    while (!rest.empty()) {
        auto const end = rest.find('\n');
        auto const line = rest.substr(0, end);
        rest = end == rest.npos ? std::string_view() : rest.substr(end + 1);
        if (line.empty()) continue;
        auto const json = uform::Json::parse(line, path).value();
        if (auto const text = json.root().find("text").string()) {
            texts.emplace_back(*text);
            continue;
        }
        std::string bytes;
        auto const hex = json.root().find("hex").string().value();
        for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
            bytes.push_back(static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
        texts.push_back(bytes);
    }
    return texts;
}

/// A file of goldens.
class Golden {
    uform::Safetensors file_;

  public:
    explicit Golden(std::string const &path) : file_(uform::Safetensors::open(path).value()) {}

    uform::TensorView const *find(std::string_view name) const {
        for (auto const &tensor : file_.tensors())
            if (tensor.name == name) return &tensor;
        return nullptr;
    }
    template <class T> std::vector<T> read(std::string_view name) const {
        auto const *tensor = find(name);
        INFO("golden tensor " << name);
        REQUIRE(tensor);
        REQUIRE(tensor->bytes == tensor->elements() * sizeof(T));
        std::vector<T> values(tensor->elements());
        if (!values.empty()) std::memcpy(values.data(), tensor->data, tensor->bytes);
        return values;
    }
};

#endif // UFORM_TESTS_GOLDEN_HPP
