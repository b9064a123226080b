/// Safetensors files: what is read, each way in which one can lie, and damage at every place.
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checkpoint_files.hpp"
#include "uform/checkpoint/safetensors.hpp"

using uform::DType;
using uform::Safetensors;
using uform::Scalar;
using uform::Status;
using uform::TensorView;

namespace {

TensorView const &tensor_of(Safetensors const &file, std::string_view name) {
    for (auto const &tensor : file.tensors())
        if (tensor.name == name) return tensor;
    FAIL("no tensor " << std::string(name));
    std::abort();
}

std::string little_endian(float value) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    std::string bytes;
    for (unsigned i = 0; i != 4; ++i) bytes += static_cast<char>(bits >> 8 * i & 0xff);
    return bytes;
}

} // namespace

TEST_CASE("tensors are read with their type, shape and bytes") {
    TemporaryFolder folder;
    // 3 floats, 2 halves, 2 bfloat16, 1 int64, an empty one and a scalar; not in the order of their names.
    std::string data = little_endian(1.5f) + little_endian(-2.0f) + little_endian(3e-45f);
    data += std::string("\x00\x3c\x01\x80", 4); // 1.0 and -2^-24, the smallest subnormal
    data += std::string("\x80\x3f\x80\xff", 4); // 1.0 and -infinity
    data += std::string("\x07\0\0\0\0\0\0\0", 8);
    data += little_endian(9.0f);
    auto const path = folder.write(
        "model.safetensors",
        safetensors_bytes(R"({"__metadata__":{"format":"pt"},)"
                          R"("w":{"dtype":"F32","shape":[3,1],"data_offsets":[0,12]},)"
                          R"("h":{"dtype":"F16","shape":[2],"data_offsets":[12,16]},)"
                          R"("b":{"dtype":"BF16","shape":[1,2],"data_offsets":[16,20],"note":{"any":[1]}},)"
                          R"("ids":{"dtype":"I64","shape":[1],"data_offsets":[20,28]},)"
                          R"("none":{"dtype":"F32","shape":[0,18446744073709551615],"data_offsets":[28,28]},)"
                          R"("one":{"dtype":"F32","shape":[],"data_offsets":[28,32]}}  )",
                          data));
    auto opened = Safetensors::open(path, 7);
    if (!opened) FAIL(std::string(opened.error().message()));
    Safetensors const file = *std::move(opened); // views outlive the move
    REQUIRE(file.tensors().size() == 6);
    for (std::size_t i = 1; i != 6; ++i) CHECK(file.tensors()[i - 1].name < file.tensors()[i].name);
    CHECK(file.path() == path);

    auto const &w = tensor_of(file, "w");
    CHECK(w.dtype == DType::f32);
    CHECK(w.scalar == Scalar::f32);
    CHECK(w.file == 7);
    CHECK(w.has_shape(3, 1));
    CHECK_FALSE(w.has_shape(3));
    CHECK_FALSE(w.has_shape(1, 3));
    CHECK(w.elements() == 3);
    CHECK(w.bytes == 12);
    float values[3] = {};
    uform::widen(w, 0, 3, values);
    CHECK(values[0] == 1.5f);
    CHECK(values[1] == -2.0f);
    CHECK(values[2] == 3e-45f);
    uform::widen_row(w, 1, values);
    CHECK(values[0] == -2.0f);
    uform::widen(w, 3, 0, nullptr);

    auto const &h = tensor_of(file, "h");
    CHECK(h.scalar == Scalar::f16);
    uform::widen(h, 0, 2, values);
    CHECK(values[0] == 1.0f);
    CHECK(values[1] == -0x1p-24f);
    auto const &b = tensor_of(file, "b");
    CHECK(b.scalar == Scalar::bf16);
    uform::widen(b, 1, 1, values);
    CHECK(values[0] == -__builtin_inff());
    uform::widen_row(b, 0, values);
    CHECK(values[0] == 1.0f);

    auto const &ids = tensor_of(file, "ids");
    CHECK(ids.dtype == DType::i64);
    CHECK(ids.scalar == uform::no_scalar);
    CHECK(ids.bytes == 8);
    CHECK(tensor_of(file, "none").elements() == 0);
    auto const &one = tensor_of(file, "one");
    CHECK(one.shape.empty());
    CHECK(one.has_shape());
    CHECK(one.elements() == 1);
    uform::widen(one, 0, 1, values);
    CHECK(values[0] == 9.0f);
}

TEST_CASE("every published element type is known by its size") {
    TemporaryFolder folder;
    std::pair<char const *, std::size_t> const types[] = {
        // Bits of one element, as the library of the format (0.8.0) accepts them.
        {"BOOL", 8},    {"U8", 8},          {"I8", 8},      {"F4", 4},   {"F6_E2M3", 6}, {"F6_E3M2", 6},
        {"F8_E5M2", 8}, {"F8_E4M3", 8},     {"F8_E8M0", 8}, {"I16", 16}, {"U16", 16},    {"F8_E4M3FNUZ", 8},
        {"F16", 16},    {"F8_E5M2FNUZ", 8}, {"BF16", 16},   {"I32", 32}, {"U32", 32},    {"F32", 32},
        {"C64", 64},    {"F64", 64},        {"I64", 64},    {"U64", 64},
    };
    CHECK(std::size(types) == std::size(uform::dtype_traits_k));
    for (auto const &[name, bits] : types) {
        INFO(name);
        auto const header = std::string(R"({"t":{"dtype":")") + name + R"(","shape":[8],"data_offsets":[0,)" +
                            std::to_string(bits) + "]}}";
        auto const file = Safetensors::open(folder.write("t", safetensors_bytes(header, std::string(bits, '\0'))));
        REQUIRE(file);
        auto const &tensor = file->tensors()[0];
        CHECK(uform::traits_of(tensor.dtype).name == name);
        bool const widens =
            std::string_view(name) == "F32" || std::string_view(name) == "F16" || std::string_view(name) == "BF16";
        CHECK((tensor.scalar != uform::no_scalar) == widens);
    }
}

TEST_CASE("odd files that the reference reads are read") {
    TemporaryFolder folder;
    std::string const data(8, '\0');
    std::pair<char const *, std::string> const files[] = {
        {"no tensors", safetensors_bytes("{}", "")},
        {"padded header", safetensors_bytes("{}      ", "")},
        {"no metadata", safetensors_bytes(R"({"__metadata__":null})", "")},
        {"a name of nothing", safetensors_bytes(R"({"":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", data)},
        {"a name with a zero",
         safetensors_bytes(R"({"a\u0000b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", data)},
        {"empty tensor between", safetensors_bytes(R"({"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]},)"
                                                   R"("z":{"dtype":"F32","shape":[0],"data_offsets":[4,4]},)"
                                                   R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
                                                   data)},
    };
    for (auto const &[name, bytes] : files) {
        INFO(name);
        CHECK(Safetensors::open(folder.write("t", bytes)));
    }
}

TEST_CASE("a lying file is corrupt, with its path and what is wrong") {
    TemporaryFolder folder;
    std::string const data(8, '\0'), more(20, '\0');
    auto const one = [&](std::string const &fields) { return safetensors_bytes("{\"t.w\":{" + fields + "}}", data); };
    std::string const good = R"("dtype":"F32","shape":[2],"data_offsets":[0,8])";
    REQUIRE(Safetensors::open(folder.write("t", one(good))));
    struct Lie {
        std::string bytes;
        std::vector<std::string> words;
    };
    auto const tensor = [&](std::string bytes, std::vector<std::string> words) {
        words.push_back("tensor \"t.w\"");
        return Lie{std::move(bytes), std::move(words)};
    };
    auto const header = "{\"t.w\":{" + good + "}}";
    Lie const lies[] = {
        {"", {"0 bytes"}},
        {std::string(7, '\0'), {"7 bytes"}},
        {safetensors_bytes("", ""), {"doesn't start with {"}},
        {safetensors_bytes("{}", "", 0), {"doesn't start with {"}},
        {safetensors_bytes(header, data, 1000), {"1000", "cut short"}},
        {safetensors_bytes(header, data, 100'000'001), {"100000001", "100000000"}},
        {safetensors_bytes(header, data, std::int64_t{1} << 62), {"4611686018427387904", "100000000"}},
        {std::string(8, '\xff') + header, {"18446744073709551615", "100000000"}},
        {safetensors_bytes(" {}", ""), {"doesn't start with {"}},
        {safetensors_bytes("[]", ""), {"doesn't start with {"}},
        {safetensors_bytes("{}x", ""), {"byte 2", "follows"}},
        {safetensors_bytes(std::string_view("{}\0\0", 4), ""), {"byte 2", "follows"}},
        {safetensors_bytes("{\"\xff\":1}", ""), {"byte 2", "UTF-8"}},
        {safetensors_bytes("{\"a\":" + std::string(2000, '['), ""), {"128"}},
        {safetensors_bytes(R"({"__metadata__":{"a":1}})", ""), {"__metadata__", "a is a JSON integer", "string"}},
        {safetensors_bytes(R"({"__metadata__":[]})", ""), {"__metadata__", "array", "object"}},
        {safetensors_bytes(R"({"__metadata__":{},"__metadata__":{}})", ""), {"two __metadata__"}},
        tensor(safetensors_bytes(R"({"t.w":3})", ""), {"integer", "object"}),
        tensor(safetensors_bytes(R"({"t.w":["F32",[2],[0,8]]})", data), {"array", "object"}),
        tensor(safetensors_bytes(R"({"t.w":null})", ""), {"null", "object"}),
        tensor(one(R"("shape":[2],"data_offsets":[0,8])"), {"lacks its dtype"}),
        tensor(one(R"("dtype":"F32","data_offsets":[0,8])"), {"lacks its shape"}),
        tensor(one(R"("dtype":"F32","shape":[2])"), {"lacks its data_offsets"}),
        tensor(one(good + R"(,"shape":[2])"), {"two fields", "shape"}),
        tensor(one(R"("dtype":"Q4","shape":[2],"data_offsets":[0,8])"), {"unknown dtype Q4"}),
        tensor(one(R"("dtype":"f32","shape":[2],"data_offsets":[0,8])"), {"unknown dtype f32"}),
        tensor(one(R"("dtype":7,"shape":[2],"data_offsets":[0,8])"), {"dtype is a JSON integer"}),
        tensor(one(R"("dtype":"F32","shape":2,"data_offsets":[0,8])"), {"shape is a JSON integer"}),
        tensor(one(R"("dtype":"F32","shape":[1,-2],"data_offsets":[0,8])"), {"extent 1"}),
        tensor(one(R"("dtype":"F32","shape":[2.0],"data_offsets":[0,8])"), {"extent 0"}),
        tensor(one(R"("dtype":"F32","shape":[18446744073709551616],"data_offsets":[0,8])"), {"extent 0"}),
        tensor(one(R"("dtype":"F32","shape":[1099511627776,1099511627776],"data_offsets":[0,8])"), {"more elements"}),
        tensor(one(R"("dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,8])"), {"more elements"}),
        tensor(one(R"("dtype":"F32","shape":[4294967296,4294967296,0],"data_offsets":[0,0])"), {"more elements"}),
        tensor(one(R"("dtype":"F4","shape":[3],"data_offsets":[0,1])"), {"whole bytes"}),
        tensor(one(R"("dtype":"F32","shape":[2],"data_offsets":[0])"), {"data_offsets", "two integers"}),
        tensor(one(R"("dtype":"F32","shape":[2],"data_offsets":[0,8,8])"), {"data_offsets", "two integers"}),
        tensor(one(R"("dtype":"F32","shape":[2],"data_offsets":[-8,0])"), {"data_offsets", "two integers"}),
        tensor(one(R"("dtype":"F32","shape":[2],"data_offsets":[0.0,8.0])"), {"data_offsets", "two integers"}),
        tensor(one(R"("dtype":"F32","shape":[2],"data_offsets":{"a":0,"b":8})"), {"data_offsets", "two integers"}),
        tensor(one(R"("dtype":"F32","shape":[2],"data_offsets":[8,0])"), {"fall from 8 to 0"}),
        tensor(one(R"("dtype":"F32","shape":[3],"data_offsets":[0,8])"), {"span 8", "take 12"}),
        tensor(one(R"("dtype":"F32","shape":[1],"data_offsets":[0,8])"), {"span 8", "take 4"}),
        tensor(one(R"("dtype":"F32","shape":[4],"data_offsets":[0,16])"), {"byte 16", "only 8"}),
        tensor(one(R"("dtype":"F32","shape":[1],"data_offsets":[4,8])"), {"starts at byte 4", "hole from 0"}),
        {safetensors_bytes(header, std::string(9, '\0')), {"take 8 bytes", "9 follow"}},
        tensor(safetensors_bytes(header, std::string(7, '\0')), {"byte 8", "only 7"}),
        tensor(safetensors_bytes(header, ""), {"byte 8", "only 0"}),
        tensor(safetensors_bytes("{\"a\":{" + good + R"(},"t.w":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
                                 more),
               {"starts at byte 4", "overlaps", "up to 8"}),
        tensor(
            safetensors_bytes("{\"a\":{" + good + R"(},"t.w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", data),
            {"starts at byte 0", "overlaps", "up to 8"}),
        tensor(safetensors_bytes("{\"a\":{" + good + R"(},"t.w":{"dtype":"F32","shape":[2],"data_offsets":[12,20]}})",
                                 more),
               {"starts at byte 12", "hole from 8"}),
        tensor(
            safetensors_bytes("{\"a\":{" + good + R"(},"t.w":{"dtype":"F32","shape":[0],"data_offsets":[4,4]}})", data),
            {"starts at byte 4"}),
        tensor(safetensors_bytes("{\"a\":{" + good + R"(},"t.w":{"dtype":"F32","shape":[0],"data_offsets":[99,99]}})",
                                 data),
               {"starts at byte 99", "hole"}),
        tensor(safetensors_bytes(R"({"t.w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                                 R"("t.w":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
                                 data),
               {"twice"}),
        tensor(safetensors_bytes(R"({"t.w":{"dtype":"F32","shape":[9],"data_offsets":[8,16]},)"
                                 R"("t.w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
                                 data),
               {"span 8", "take 36"}), // Python would only see the second
    };
    for (auto const &lie : lies) {
        auto const path = folder.write("lie.safetensors", lie.bytes);
        auto words = lie.words;
        words.push_back(path);
        INFO(lie.bytes.substr(lie.bytes.size() < 8 ? lie.bytes.size() : 8, 200));
        require_error(Safetensors::open(path), Status::corrupt, words);
    }
    require_error(Safetensors::open(folder / "absent"), Status::io, {folder / "absent"});
}

namespace {

std::string const small_file = safetensors_bytes(
    R"({"__metadata__":{"a":"b"},"x":{"dtype":"F16","shape":[2,2],"data_offsets":[0,8]},"y":{"dtype":"I8","shape":[3],"data_offsets":[8,11]}})",
    "01234567abc");

/// Reads all that a file says, so that a bad place shows.
unsigned touch(Safetensors const &file) {
    unsigned sum = 0;
    for (auto const &tensor : file.tensors()) {
        sum += static_cast<unsigned>(tensor.name.size() + tensor.shape.size());
        for (std::size_t i = 0; i != tensor.bytes; ++i) sum += std::to_integer<unsigned>(tensor.data[i]);
        if (tensor.scalar == uform::no_scalar) continue;
        std::vector<float> values(tensor.elements());
        uform::widen(tensor, 0, values.size(), values.data());
    }
    return sum;
}

} // namespace

TEST_CASE("a row is all elements of an index of the outermost dimension") {
    TemporaryFolder folder;
    auto const file = Safetensors::open(folder.write("small", small_file));
    REQUIRE(file);
    float row[2] = {};
    uform::widen_row(tensor_of(*file, "x"), 1, row); // "45" and "67"
    CHECK(row[0] == uform::widen(uform::F16{0x3534}));
    CHECK(row[1] == uform::widen(uform::F16{0x3736}));
}

TEST_CASE("every cut of a file is refused") {
    TemporaryFolder folder;
    for (std::size_t size = 0; size != small_file.size(); ++size) {
        INFO(size);
        require_error(Safetensors::open(folder.write("cut", small_file.substr(0, size))), Status::corrupt, {"cut"});
    }
    require_error(Safetensors::open(folder.write("cut", small_file + "x")), Status::corrupt, {"11 bytes", "12 follow"});
}

TEST_CASE("every flipped bit of a file gives tensors within it, or an error") {
    TemporaryFolder folder;
    std::size_t opened = 0;
    unsigned sum = 0;
    for (std::size_t at = 0; at != small_file.size(); ++at)
        for (unsigned bit = 0; bit != 8; ++bit) {
            std::string bytes = small_file;
            bytes[at] = static_cast<char>(bytes[at] ^ 1 << bit);
            auto const file = Safetensors::open(folder.write("flipped", bytes));
            if (file) ++opened, sum += touch(*file);
        }
    CHECK(opened >= 11 * 8); // a flip in the data is no lie
    CHECK(sum > 0);
}
