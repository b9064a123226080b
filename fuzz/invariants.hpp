/// What the fuzz targets share: the end at a broken promise, inputs cut into files, and a folder to load them from.
#ifndef UFORM_FUZZ_INVARIANTS_HPP
#define UFORM_FUZZ_INVARIANTS_HPP

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

namespace fuzz {

/// Ends the program where a promise is broken, which is how a fuzzer and a test framework take notice.
inline void require(bool kept, char const *promise) {
    if (kept) return;
    std::fprintf(stderr, "broken: %s\n", promise);
    std::abort();
}

/// The bytes of an input, front first. Past the end all is zero and empty.
class Input {
    std::string_view rest_;

  public:
    Input(std::uint8_t const *data, std::size_t size) : rest_(reinterpret_cast<char const *>(data), size) {}

    std::uint8_t byte() {
        if (rest_.empty()) return 0;
        auto const first = static_cast<std::uint8_t>(rest_.front());
        rest_.remove_prefix(1);
        return first;
    }
    std::string_view rest() const { return rest_; }
    /// What comes before the next `separator`, which goes too.
    std::string_view part(char separator) {
        std::size_t const end = rest_.find(separator);
        std::string_view const part = rest_.substr(0, end);
        rest_.remove_prefix(end == rest_.npos ? rest_.size() : end + 1);
        return part;
    }
};

/// Ends a file within an input: no UTF-8 holds it.
inline constexpr char end_of_file_k = '\xFF';

/// A folder in $TMPDIR, or in memory where the system has such a place; gone at the end of the program.
class Folder {
    std::string path_;
    std::vector<std::string> files_, folders_;

  public:
    Folder() {
        char const *place = std::getenv("TMPDIR");
        if (!place && ::access("/dev/shm", W_OK) == 0) place = "/dev/shm";
        path_ = std::string(place ? place : "/tmp") + "/uform-fuzz-XXXXXX";
        require(::mkdtemp(path_.data()) != nullptr, "a temporary folder can be made");
    }
    Folder(Folder const &) = delete;
    Folder &operator=(Folder const &) = delete;
    ~Folder() {
        clear();
        for (std::string const &folder : folders_) ::rmdir(folder.c_str());
        ::rmdir(path_.c_str());
    }
    std::string const &path() const { return path_; }
    void clear() {
        for (std::string const &file : files_) ::unlink(file.c_str());
        files_.clear();
    }
    void make_folder(std::string const &name) {
        std::string const path = path_ + "/" + name;
        if (::mkdir(path.c_str(), 0700) == 0) folders_.push_back(path);
    }
    void write(std::string const &name, std::string_view content) {
        files_.push_back(path_ + "/" + name);
        std::FILE *const file = std::fopen(files_.back().c_str(), "wb");
        require(file && std::fwrite(content.data(), 1, content.size(), file) == content.size() &&
                    std::fclose(file) == 0,
                "a temporary file can be written");
    }
    /// Cuts what is left of an input into these files; an empty one isn't written, the last one takes the rest. Answers
    /// whether all were written.
    bool write_all(Input &input, std::initializer_list<char const *> names) {
        for (char const *const *name = names.begin(); name != names.end(); ++name) {
            std::string_view const content = name + 1 == names.end() ? input.rest() : input.part(end_of_file_k);
            if (!content.empty()) write(*name, content);
        }
        return files_.size() == names.size();
    }
};

} // namespace fuzz

#endif // UFORM_FUZZ_INVARIANTS_HPP
