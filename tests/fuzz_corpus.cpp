/// The corpora of the fuzz targets, run through the same code without a fuzzer: what was found once stays fixed.
#include <algorithm>
#include <cstdint>
#include <dirent.h>
#include <string>
#include <vector>

#include "../fuzz/safetensors.hpp"
#include "../fuzz/texts.hpp"
#include "../fuzz/tokenizer_configuration.hpp"
#include "catch.hpp"
#include "uform/file.hpp"

namespace {

/// Runs each file of a corpus. A promise that is broken aborts, and the test framework then shows the file's name.
void run_corpus(std::string const &name, void (*run)(std::uint8_t const *, std::size_t)) {
    std::string const folder = UFORM_SOURCE_ROOT "/fuzz/corpus/" + name;
    ::DIR *const listing = ::opendir(folder.c_str());
    REQUIRE(listing);
    std::vector<std::string> files;
    while (::dirent const *const entry = ::readdir(listing))
        if (entry->d_name[0] != '.') files.push_back(folder + "/" + entry->d_name);
    ::closedir(listing);
    std::sort(files.begin(), files.end());
    REQUIRE_FALSE(files.empty());
    for (std::string const &path : files) {
        INFO(path);
        auto const file = uform::File::map(path);
        REQUIRE(file);
        // In a block of its own, past whose end nothing may be read.
        std::vector<char> const bytes(file->text().begin(), file->text().end());
        run(reinterpret_cast<std::uint8_t const *>(bytes.data()), bytes.size());
        CHECK(!bytes.empty());
    }
}

} // namespace

TEST_CASE("the corpus of tokenizer files") { run_corpus("tokenizer_configuration", fuzz::run_tokenizer_configuration); }
TEST_CASE("the corpus of texts") { run_corpus("texts", fuzz::run_texts); }
TEST_CASE("the corpus of weights and configurations") { run_corpus("safetensors", fuzz::run_safetensors); }
