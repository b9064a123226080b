/// A file mapped into memory, read-only, and the two questions about paths that the rooms above ask.
#ifndef UFORM_FILE_HPP
#define UFORM_FILE_HPP

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring> // strerror_r
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "uform/config.hpp"
#include "uform/status.hpp"

namespace uform {

/// Whether anything stands at the path, following links. What can't be looked at for another reason than its absence
/// counts as there, so that opening it reports that reason. Threads: any.
[[nodiscard]] inline bool file_exists(std::string const &path) noexcept {
    struct stat about;
    return ::stat(path.c_str(), &about) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

/// `name` inside `folder`, with one slash between them; `name` alone if the folder is empty.
[[nodiscard]] inline std::string join_path(std::string_view folder, std::string_view name) {
    return joined(folder, folder.empty() || folder.back() == '/' ? "" : "/", name);
}

/// A regular file mapped read-only. Move-only; what `bytes()` answers lives as long as the object it was moved into.
///
/// Memory  the kernel's page cache; beside it only the path. Threads: any may read at the same time.
/// Limits  a file that somebody cuts short while it is mapped raises SIGBUS at the next read past its new end, as with
///         any mapping. One that is replaced by a rename, as package managers and downloads do, stays as it was.
class File {
    std::string path_;
    std::byte const *bytes_ = nullptr;
    std::size_t size_ = 0;

    // GNU's strerror_r answers a text, POSIX's a number: overloads take either.
    [[nodiscard]] static char const *text_of(char const *answer, char const *) noexcept { return answer; }
    [[nodiscard]] static char const *text_of(int, char const *buffer) noexcept { return buffer; }
    [[nodiscard]] static Error refused(std::string const &path, std::string_view verb, int number) noexcept {
        char buffer[128] = "unknown error";
        return Error::of(number == ENOMEM ? Status::out_of_memory : Status::io, path, ": can't ", verb, ": ",
                         text_of(::strerror_r(number, buffer, sizeof buffer), buffer));
    }

  public:
    /// An empty file without a name.
    File() noexcept = default;
    File(File &&other) noexcept
        : path_(std::move(other.path_)), bytes_(std::exchange(other.bytes_, nullptr)),
          size_(std::exchange(other.size_, 0)) {}
    File &operator=(File &&other) noexcept {
        File taken(std::move(other));
        path_.swap(taken.path_), std::swap(bytes_, taken.bytes_), std::swap(size_, taken.size_);
        return *this;
    }
    ~File() {
        if (bytes_) ::munmap(const_cast<std::byte *>(bytes_), size_);
    }

    /// Maps a regular file, following links. An empty file is an empty span.
    ///
    /// Errors  `io`, with the path and the system's words: absent, unreadable, a folder, a pipe or a device;
    ///         `out_of_memory` where there is no address space for it.
    [[nodiscard]] UFORM_COLD static Result<File> map(std::string const &path) {
        if (path.find('\0') != std::string::npos)
            return Error::of(Status::io, path, ": can't open: the path holds a zero byte");
        int descriptor;
        do descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); // a pipe may not stall the open
        while (descriptor < 0 && errno == EINTR);
        if (descriptor < 0) return refused(path, "open", errno);

        struct stat about;
        int const looked = ::fstat(descriptor, &about) == 0 ? 0 : errno;
        bool const regular = looked == 0 && S_ISREG(about.st_mode);
        bool const folder = looked == 0 && S_ISDIR(about.st_mode);
        bool const too_large = regular && static_cast<std::uintmax_t>(about.st_size) > PTRDIFF_MAX;
        std::size_t const size = regular && !too_large ? static_cast<std::size_t>(about.st_size) : 0;
        void *const mapping = size ? ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0) : nullptr;
        int const mapped = mapping == MAP_FAILED ? errno : 0;
        ::close(descriptor); // a mapping outlives it
        if (looked) return refused(path, "look at", looked);
        if (folder) return refused(path, "map", EISDIR);
        if (!regular) return Error::of(Status::io, path, ": can't map: it isn't a regular file");
        if (too_large) return refused(path, "map", EFBIG);
        if (mapped) return refused(path, "map", mapped);

        File file;
        file.bytes_ = static_cast<std::byte const *>(mapping), file.size_ = size;
        file.path_ = path; // may throw, and then unmaps
        return file;
    }

    /// The path that it was mapped by.
    [[nodiscard]] std::string const &path() const noexcept UFORM_LIFETIMEBOUND { return path_; }
    [[nodiscard]] std::span<std::byte const> bytes() const noexcept UFORM_LIFETIMEBOUND { return {bytes_, size_}; }
    /// The same bytes as text; nothing checks their encoding.
    [[nodiscard]] std::string_view text() const noexcept UFORM_LIFETIMEBOUND {
        return {reinterpret_cast<char const *>(bytes_), size_};
    }

    /// Lets the kernel take the mapped pages back, so that the process' resident size falls. The content stays
    /// readable: it then comes from the page cache, or from the disk again.
    void drop_pages() const noexcept {
        if (bytes_) ::madvise(const_cast<std::byte *>(bytes_), size_, MADV_DONTNEED);
    }
};

} // namespace uform

#endif // UFORM_FILE_HPP
