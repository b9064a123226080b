/// A folder's weights: whole, in shards, and each way in which they can't be read.
#include <string>
#include <string_view>
#include <utility>

#include <sys/stat.h>

#include "checkpoint_files.hpp"
#include "uform/checkpoint/checkpoint.hpp"

using uform::Checkpoint;
using uform::Status;

namespace {

/// A file of one-float tensors, each holding the code of the last letter of its name.
std::string file_of_tensors(std::vector<std::string> const &names) {
    std::string header = "{", data;
    for (auto const &name : names) {
        header += (data.empty() ? "\"" : ",\"") + name + R"(":{"dtype":"BF16","shape":[1],"data_offsets":[)" +
                  std::to_string(data.size()) + "," + std::to_string(data.size() + 2) + "]}";
        data += std::string("\x80\x3f", 2);
    }
    return safetensors_bytes(header + "}", data);
}

void write_two_shards(TemporaryFolder &folder) {
    folder.write("model-00001-of-00002.safetensors", file_of_tensors({"c", "a"}));
    folder.write("model-00002-of-00002.safetensors", file_of_tensors({"d", "b", "extra"}));
    folder.write("model.safetensors.index.json", R"({"metadata":{"total_size":8},"weight_map":{)"
                                                 R"("a":"model-00001-of-00002.safetensors",)"
                                                 R"("b":"model-00002-of-00002.safetensors",)"
                                                 R"("c":"model-00001-of-00002.safetensors",)"
                                                 R"("d":"model-00002-of-00002.safetensors"}})");
}

} // namespace

TEST_CASE("a whole checkpoint is found by names") {
    TemporaryFolder folder;
    auto const path = folder.write("model.safetensors", file_of_tensors({"b", "a.x", "c"}));
    folder.write("pytorch_model.bin", "pickle");
    folder.write("model.safetensors.index.json", "not looked at");
    auto opened = Checkpoint::open(folder.path());
    REQUIRE(opened);
    Checkpoint const checkpoint = *std::move(opened);
    CHECK(checkpoint.tensors().size() == 3);
    for (std::string_view const name : {"a.x", "b", "c"}) {
        auto const *tensor = checkpoint.find(name);
        REQUIRE(tensor);
        CHECK(tensor->name == name);
        CHECK(checkpoint.file_of(*tensor) == path);
    }
    for (std::string_view const name : {"", "a", "a.x.", "aa", "d"}) CHECK_FALSE(checkpoint.find(name));
    checkpoint.drop_pages();
    float value = 0;
    uform::widen(*checkpoint.find("b"), 0, 1, &value);
    CHECK(value == 1.0f);
    CHECK(Checkpoint::open(folder.path() + "/"));
}

TEST_CASE("shards are one table") {
    TemporaryFolder folder;
    write_two_shards(folder);
    auto opened = Checkpoint::open(folder.path());
    REQUIRE(opened);
    Checkpoint const checkpoint = *std::move(opened);
    CHECK(checkpoint.tensors().size() == 5);
    CHECK(checkpoint.file_of(*checkpoint.find("c")) == folder / "model-00001-of-00002.safetensors");
    CHECK(checkpoint.file_of(*checkpoint.find("b")) == folder / "model-00002-of-00002.safetensors");
    float value = 0;
    uform::widen(*checkpoint.find("d"), 0, 1, &value);
    CHECK(value == 1.0f);
}

TEST_CASE("shards that disagree with their index are refused") {
    TemporaryFolder folder;
    auto const index = folder / "model.safetensors.index.json";
    auto const refuse = [&](Status status, std::vector<std::string> const &words) {
        require_error(Checkpoint::open(folder.path()), status, words);
    };
    write_two_shards(folder);
    folder.remove("model-00002-of-00002.safetensors");
    refuse(Status::io, {index, folder / "model-00002-of-00002.safetensors", "No such file"});

    write_two_shards(folder);
    folder.write("model-00002-of-00002.safetensors", file_of_tensors({"b"}));
    refuse(Status::corrupt, {index, "\"d\"", folder / "model-00002-of-00002.safetensors", "isn't"});

    write_two_shards(folder);
    folder.write("model-00002-of-00002.safetensors", file_of_tensors({"b", "d", "a"}));
    refuse(Status::corrupt,
           {"\"a\"", folder / "model-00001-of-00002.safetensors", folder / "model-00002-of-00002.safetensors"});

    write_two_shards(folder); // a tensor that is in the other shard
    folder.write("model-00001-of-00002.safetensors", file_of_tensors({"c"}));
    folder.write("model-00002-of-00002.safetensors", file_of_tensors({"b", "d", "a"}));
    refuse(Status::corrupt, {index, "\"a\"", folder / "model-00001-of-00002.safetensors", "isn't"});

    write_two_shards(folder);
    folder.write("model-00001-of-00002.safetensors", "damaged!");
    refuse(Status::corrupt, {folder / "model-00001-of-00002.safetensors"});

    for (std::string const name :
         {"../model.safetensors", "/etc/passwd", "a/b", "..", ".", "", "a\\\\b", "a\\u0000b"}) {
        INFO(name);
        folder.write("model.safetensors.index.json", R"({"weight_map":{"t":")" + name + "\"}}");
        refuse(Status::corrupt, {index, "weight_map", "\"t\"", "not the name of a file"});
    }
    folder.write("model.safetensors.index.json", R"({"weight_map":{"t":1}})");
    refuse(Status::corrupt, {index, "weight_map", "\"t\"", "integer", "string"});
    folder.write("model.safetensors.index.json", R"({"weight_map":[]})");
    refuse(Status::corrupt, {index, "weight_map", "array"});
    folder.write("model.safetensors.index.json", R"({"metadata":{}})");
    refuse(Status::corrupt, {index, "weight_map", "missing"});
    folder.write("model.safetensors.index.json", "{");
    refuse(Status::corrupt, {index, "byte 1"});
}

TEST_CASE("weights that aren't safetensors are refused with the way out") {
    TemporaryFolder folder;
    require_error(Checkpoint::open(folder.path()), Status::io,
                  {folder.path(), "model.safetensors", "model.safetensors.index.json"});
    require_error(Checkpoint::open(folder / "absent"), Status::io, {folder / "absent", "model.safetensors"});
    folder.write("pytorch_model.bin.index.json", "{}");
    require_error(Checkpoint::open(folder.path()), Status::unsupported,
                  {folder / "pytorch_model.bin.index.json", "python -c", "save_file"});
    folder.write("pytorch_model.bin", "pickle");
    require_error(Checkpoint::open(folder.path()), Status::unsupported,
                  {folder / "pytorch_model.bin", "python -c", "save_file", folder / "model.safetensors"});
    folder.make_folder("model.safetensors");
    require_error(Checkpoint::open(folder.path()), Status::io, {folder / "model.safetensors", "directory"});
}
