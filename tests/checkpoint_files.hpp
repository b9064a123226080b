/// Writes small model folders for tests, and removes them.
#ifndef UFORM_TESTS_CHECKPOINT_FILES_HPP
#define UFORM_TESTS_CHECKPOINT_FILES_HPP

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

#include "catch.hpp"
#include "uform/status.hpp"

/// A new folder in the system's place for temporary files, with whatever `write` put there; removed at the end.
class TemporaryFolder {
    std::string path_;
    std::vector<std::string> files_, folders_;

  public:
    TemporaryFolder() {
        char const *place = std::getenv("TMPDIR");
        path_ = std::string(place && *place ? place : "/tmp") + "/uform-test-XXXXXX";
        if (!::mkdtemp(path_.data())) std::abort();
    }
    TemporaryFolder(TemporaryFolder const &) = delete;
    TemporaryFolder &operator=(TemporaryFolder const &) = delete;
    ~TemporaryFolder() {
        for (auto const &file : files_) ::unlink(file.c_str());
        for (auto const &folder : folders_) ::rmdir(folder.c_str());
        ::rmdir(path_.c_str());
    }

    std::string const &path() const { return path_; }
    std::string operator/(std::string const &name) const { return path_ + "/" + name; }

    /// Writes a file, "name" or "folder/name", over the one that may be there.
    std::string write(std::string const &name, std::string_view content) {
        if (auto const slash = name.find('/'); slash != name.npos) make_folder(name.substr(0, slash));
        std::string const path = *this / name;
        std::FILE *const file = std::fopen(path.c_str(), "wb");
        if (!file) std::abort();
        if (std::fwrite(content.data(), 1, content.size(), file) != content.size() || std::fclose(file) != 0)
            std::abort();
        files_.push_back(path);
        return path;
    }
    void make_folder(std::string const &name) {
        if (::mkdir((*this / name).c_str(), 0700) == 0) folders_.push_back(*this / name);
    }
    void remove(std::string const &name) { ::unlink((*this / name).c_str()); }
};

/// A safetensors file of a header and data; `length` is what its first 8 bytes say, if not the truth.
inline std::string safetensors_bytes(std::string_view header, std::string_view data, std::int64_t length = -1) {
    auto const said = length < 0 ? header.size() : static_cast<std::uint64_t>(length);
    std::string bytes;
    for (unsigned i = 0; i != 8; ++i) bytes += static_cast<char>(said >> 8 * i & 0xff);
    bytes += header;
    return bytes += data;
}

/// Requires an error with a status, whose message has all the parts.
template <class T>
void require_error(uform::Result<T> const &result, uform::Status status, std::vector<std::string> const &parts) {
    REQUIRE_FALSE(result.has_value());
    std::string const message(result.error().message());
    INFO(message);
    CHECK(result.error().status() == status);
    for (auto const &part : parts) {
        INFO("wanted: " << part);
        CHECK(message.find(part) != std::string::npos);
    }
}

#endif // UFORM_TESTS_CHECKPOINT_FILES_HPP
