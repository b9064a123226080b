/// Copies of the tiny checkpoints that a test may change, in a folder that goes with it.
#ifndef UFORM_TESTS_MODEL_FOLDER_HPP
#define UFORM_TESTS_MODEL_FOLDER_HPP

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include "golden.hpp"

/// A tensor to be written: its element type as files spell it, its shape and its bytes.
struct WrittenTensor {
    std::string dtype;
    std::vector<std::size_t> shape;
    std::string bytes;
};
using WrittenTensors = std::map<std::string, WrittenTensor>;

/// Writes a safetensors file.
inline void write_safetensors(std::string const &path, WrittenTensors const &tensors) {
    std::string header = "{", data;
    for (auto const &[name, tensor] : tensors) {
        if (header.size() > 1) header += ',';
        header += '"' + name + "\":{\"dtype\":\"" + tensor.dtype + "\",\"shape\":[";
        for (std::size_t i = 0; i != tensor.shape.size(); ++i)
            header += (i ? "," : "") + std::to_string(tensor.shape[i]);
        header += "],\"data_offsets\":[" + std::to_string(data.size()) + ',';
        data += tensor.bytes;
        header += std::to_string(data.size()) + "]}";
    }
    header += '}';
    std::uint64_t const size = header.size();
    std::ofstream out(path, std::ios::binary);
    out.write(reinterpret_cast<char const *>(&size), sizeof size);
    out << header << data;
}

/// Reads one back, through the library's own reader, which has tests of its own.
inline WrittenTensors read_safetensors(std::string const &path) {
    auto const file = uform::Safetensors::open(path).value();
    WrittenTensors tensors;
    for (auto const &tensor : file.tensors())
        tensors[std::string(tensor.name)] = {std::string(uform::traits_of(tensor.dtype).name),
                                             {tensor.shape.begin(), tensor.shape.end()},
                                             {reinterpret_cast<char const *>(tensor.data), tensor.bytes}};
    return tensors;
}

/// A folder of its own, a copy of one in tests/data, removed at the end.
class ModelFolder {
    std::filesystem::path path_;

  public:
    explicit ModelFolder(std::string const &name) {
        static int count = 0;
        path_ = std::filesystem::temp_directory_path() /
                ("uform-test-" + std::to_string(getpid()) + '-' + std::to_string(count++));
        std::filesystem::copy(data_path(name), path_, std::filesystem::copy_options::recursive);
    }
    ModelFolder(ModelFolder const &) = delete;
    ~ModelFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    std::string path() const { return path_.string(); }
    std::string file(std::string const &name) const { return (path_ / name).string(); }
    std::string read(std::string const &name) const {
        std::ifstream in(path_ / name, std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    void write(std::string const &name, std::string const &content) const {
        std::filesystem::create_directories((path_ / name).parent_path());
        std::ofstream(path_ / name, std::ios::binary) << content;
    }
    void remove(std::string const &name) const { std::filesystem::remove_all(path_ / name); }
    /// Replaces `from`, which must be there, in a file.
    void replace(std::string const &name, std::string const &from, std::string const &to) const {
        auto text = read(name);
        auto const at = text.find(from);
        INFO(name << " has no " << from);
        REQUIRE(at != text.npos);
        write(name, text.replace(at, from.size(), to));
    }
    /// Changes the weights.
    void change_weights(std::function<void(WrittenTensors &)> const &change) const {
        auto tensors = read_safetensors(file("model.safetensors"));
        change(tensors);
        write_safetensors(file("model.safetensors"), tensors);
    }
};

#endif // UFORM_TESTS_MODEL_FOLDER_HPP
