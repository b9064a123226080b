/// Mapping files: what is read, and what is refused with which words.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

#include "checkpoint_files.hpp"
#include "uform/file.hpp"

using uform::File;
using uform::Status;

TEST_CASE("a file is mapped with its bytes and path") {
    TemporaryFolder folder;
    auto const path = folder.write("a.txt", std::string_view("one\0two", 7));
    auto file = File::map(path);
    REQUIRE(file);
    CHECK(file->text() == std::string_view("one\0two", 7));
    CHECK(file->bytes().size() == 7);
    CHECK(file->path() == path);

    auto const *const address = file->bytes().data();
    File moved = *std::move(file);
    CHECK(moved.bytes().data() == address);
    CHECK(file->bytes().empty());
    File other;
    other = std::move(moved);
    CHECK(other.bytes().data() == address);
    CHECK(moved.bytes().empty());
    File &itself = other;
    other = std::move(itself);
    CHECK(other.text() == std::string_view("one\0two", 7));
}

TEST_CASE("an empty file is an empty span") {
    TemporaryFolder folder;
    auto file = File::map(folder.write("empty", ""));
    REQUIRE(file);
    CHECK(file->bytes().empty());
    CHECK(file->text().empty());
    file->drop_pages();
}

TEST_CASE("what can't be mapped is an io error with its path") {
    TemporaryFolder folder;
    require_error(File::map(folder / "absent"), Status::io, {folder / "absent", "No such file"});
    require_error(File::map(folder.path()), Status::io, {folder.path(), "directory"});
    folder.write("plain", "x");
    require_error(File::map(folder / "plain/inside"), Status::io, {"plain/inside", "Not a directory"});
    require_error(File::map(folder / std::string("plain\0hidden", 12)), Status::io, {"zero byte"});
    require_error(File::map(""), Status::io, {"No such file"});

    auto const pipe = folder.write("pipe", ""); // so that the folder removes it
    folder.remove("pipe");
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    require_error(File::map(pipe), Status::io, {pipe, "regular file"}); // and doesn't wait for a writer
    require_error(File::map("/dev/null"), Status::io, {"/dev/null", "regular file"});

    if (::geteuid() != 0) { // root may read anything
        auto const secret = folder.write("secret", "x");
        REQUIRE(::chmod(secret.c_str(), 0) == 0);
        require_error(File::map(secret), Status::io, {secret, "Permission denied"});
    }
}

TEST_CASE("a link is followed, and a dangling one isn't there") {
    TemporaryFolder folder;
    auto const target = folder.write("target", "content");
    auto const link = folder.write("link", "");
    folder.remove("link");
    REQUIRE(::symlink(target.c_str(), link.c_str()) == 0);
    auto file = File::map(link);
    REQUIRE(file);
    CHECK(file->text() == "content");
    CHECK(uform::file_exists(link));
    folder.remove("target");
    CHECK_FALSE(uform::file_exists(link));
    CHECK(file->text() == "content"); // the mapping keeps the file
}

namespace {
/// Resident pages of this process' mapping of a file, in KiB.
std::size_t resident_kib(void const *address) {
    std::FILE *const maps = std::fopen("/proc/self/smaps", "r");
    REQUIRE(maps);
    char line[512];
    bool inside = false;
    std::size_t kib = 0;
    while (std::fgets(line, sizeof line, maps)) {
        unsigned long long first = 0, last = 0;
        if (std::sscanf(line, "%llx-%llx ", &first, &last) == 2)
            inside =
                first <= reinterpret_cast<std::uintptr_t>(address) && reinterpret_cast<std::uintptr_t>(address) < last;
        else if (inside && std::sscanf(line, "Rss: %zu kB", &kib) == 1) break;
    }
    std::fclose(maps);
    return kib;
}
} // namespace

TEST_CASE("dropped pages leave memory and stay readable") {
    TemporaryFolder folder;
    std::string const content(1 << 20, 'x');
    auto file = File::map(folder.write("large", content));
    REQUIRE(file);
    CHECK(file->text() == content);
    CHECK(resident_kib(file->bytes().data()) == 1024);
    file->drop_pages();
    CHECK(resident_kib(file->bytes().data()) == 0);
    CHECK(file->text() == content);
}

TEST_CASE("paths are joined with one slash") {
    CHECK(uform::join_path("a", "b") == "a/b");
    CHECK(uform::join_path("a/", "b") == "a/b");
    CHECK(uform::join_path("", "b") == "b");
    CHECK(uform::join_path("/", "b") == "/b");
}

TEST_CASE("only absence is absence") {
    TemporaryFolder folder;
    folder.write("plain", "x");
    CHECK(uform::file_exists(folder.path()));
    CHECK(uform::file_exists(folder / "plain"));
    CHECK_FALSE(uform::file_exists(folder / "absent"));
    CHECK_FALSE(uform::file_exists(folder / "plain/inside"));
    CHECK(uform::file_exists(folder / std::string(300, 'n'))); // too long a name: File::map says so
    require_error(File::map(folder / std::string(300, 'n')), Status::io, {"too long"});
}
