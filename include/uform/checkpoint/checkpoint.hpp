/// The weights of a folder: one safetensors file, or shards with their index, as one table of tensors.
#ifndef UFORM_CHECKPOINT_CHECKPOINT_HPP
#define UFORM_CHECKPOINT_CHECKPOINT_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "uform/buffer.hpp"
#include "uform/checkpoint/safetensors.hpp"
#include "uform/checkpoint/tensor.hpp"
#include "uform/config.hpp"
#include "uform/file.hpp"
#include "uform/json.hpp"
#include "uform/list.hpp"
#include "uform/sort.hpp"
#include "uform/status.hpp"

namespace uform {

/// All tensors of a folder, by name. Move-only; moving leaves views valid.
///
/// Memory  mappings, the headers, a table. Threads: any may read at the same time.
class Checkpoint {
    List<Safetensors> files_;
    Buffer<TensorView> tensors_; // of all files, by name

    [[nodiscard]] Result<void> add(std::string const &path);
    [[nodiscard]] Result<void> add_shards(std::string const &folder, std::string const &index_path);
    [[nodiscard]] Result<void> join(std::string_view folder) noexcept;

  public:
    /// Opens `model.safetensors`, else the shards that `model.safetensors.index.json` names.
    ///
    /// Each tensor must stand in the shard that the index names, and in that one only. A shard may hold tensors that
    /// the index doesn't name, as in `transformers`.
    ///
    /// Errors  `io` if nothing is there, or a file can't be mapped; `unsupported` for a `pytorch_model.bin`, with the
    ///         command that converts it; `corrupt` for a lying file, index or shard; `out_of_memory`.
    [[nodiscard]] static Result<Checkpoint> open(std::string const &folder);

    /// All tensors, sorted by name.
    [[nodiscard]] std::span<TensorView const> tensors() const noexcept UFORM_LIFETIMEBOUND { return tensors_.span(); }
    /// The tensor of a name, null if there is none. Takes time logarithmic in the number of tensors.
    [[nodiscard]] TensorView const *find(std::string_view name) const noexcept UFORM_LIFETIMEBOUND {
        std::size_t const place = first_not_below(
            tensors_.data(), tensors_.size(), [&](TensorView const &tensor) noexcept { return tensor.name < name; });
        return place != tensors_.size() && tensors_[place].name == name ? &tensors_[place] : nullptr;
    }
    /// The path of the file that one of its tensors stands in, for messages.
    [[nodiscard]] std::string_view file_of(TensorView const &tensor) const noexcept UFORM_LIFETIMEBOUND {
        return tensor.file < files_.size() ? std::string_view(files_[tensor.file].path()) : std::string_view();
    }
    /// The pages of the mappings go back, the content stays: for after the weights were packed.
    void drop_pages() const noexcept {
        for (auto const &file : files_) file.drop_pages();
    }
};

UFORM_COLD inline Result<void> Checkpoint::add(std::string const &path) {
    auto file = Safetensors::open(path, static_cast<std::uint32_t>(files_.size()));
    if (!file) return file.error();
    files_.push_back(*std::move(file));
    return {};
}

UFORM_COLD inline Result<void> Checkpoint::join(std::string_view folder) noexcept {
    for (auto const &file : files_)
        if (!tensors_.append(file.tensors().data(), file.tensors().size()))
            return Error::of(Status::out_of_memory, folder, ": no memory for the table of tensors");
    sort_by_name(tensors_.span());
    for (std::size_t i = 1; i < tensors_.size(); ++i)
        if (tensors_[i - 1].name == tensors_[i].name)
            return Error::of(Status::corrupt, folder, ": tensor \"", tensors_[i].name, "\" is both in ",
                             file_of(tensors_[i - 1]), " and in ", file_of(tensors_[i]));
    return {};
}

UFORM_COLD inline Result<void> Checkpoint::add_shards(std::string const &folder, std::string const &index_path) {
    auto file = File::map(index_path);
    if (!file) return file.error();
    auto json = Json::parse(file->text(), index_path);
    if (!json) return json.error();
    JsonValue const map = json->root().find("weight_map");
    if (!map.is(JsonKind::object))
        return Error::of(Status::corrupt, index_path, ": weight_map is ", json_kind_name(map.kind()),
                         ", not an object that names each tensor's shard");

    List<std::string_view> shards;
    List<std::uint32_t> shard_of(map.size()); // of each tensor of the index
    for (std::size_t i = 0; i != map.size(); ++i) {
        auto const shard = map[i].string();
        if (!shard)
            return Error::of(Status::corrupt, index_path, ": weight_map: the shard of \"", map.key(i), "\" is a JSON ",
                             json_kind_name(map[i].kind()), ", not a string");
        if (shard->empty() || *shard == "." || *shard == ".." ||
            shard->find_first_of(std::string_view("/\\\0", 3)) != shard->npos)
            return Error::of(Status::corrupt, index_path, ": weight_map: the shard of \"", map.key(i), "\" is \"",
                             *shard, "\", not the name of a file in the folder");
        std::size_t at = 0;
        while (at != shards.size() && shards[at] != *shard) ++at;
        if (at == shards.size()) {
            auto added = add(join_path(folder, *shard));
            if (!added && added.error().status() == Status::io)
                return Error::of(Status::io, index_path,
                                 ": names a shard that can't be read: ", added.error().message());
            if (!added) return added;
            shards.push_back(*shard);
        }
        shard_of[i] = static_cast<std::uint32_t>(at);
    }
    if (auto joined = join(folder); !joined) return joined;
    for (std::size_t i = 0; i != map.size(); ++i) {
        TensorView const *const tensor = find(map.key(i));
        if (!tensor || tensor->file != shard_of[i])
            return Error::of(Status::corrupt, index_path, ": weight_map puts tensor \"", map.key(i), "\" in ",
                             files_[shard_of[i]].path(), ", where it isn't");
    }
    return {};
}

/// A path as one word of a POSIX shell's command.
[[nodiscard]] UFORM_COLD inline std::string quoted_for_shell(std::string_view path) {
    std::string word = "'";
    for (char const c : path) c == '\'' ? word += "'\\''" : word += c;
    return word += '\'';
}

UFORM_COLD inline Result<Checkpoint> Checkpoint::open(std::string const &folder) {
    Checkpoint checkpoint;
    auto const whole = join_path(folder, "model.safetensors");
    auto const index = join_path(folder, "model.safetensors.index.json");
    Result<void> opened;
    if (file_exists(whole)) {
        opened = checkpoint.add(whole);
        if (opened) opened = checkpoint.join(folder);
    } else if (file_exists(index)) {
        opened = checkpoint.add_shards(folder, index);
    } else if (auto const pickled = join_path(folder, "pytorch_model.bin"); file_exists(pickled)) {
        opened = Error::of(
            Status::unsupported, pickled,
            ": a pickle, which isn't read, as it could run any code. Convert it, if you trust it: "
            "python -c \"import sys,torch;from safetensors.torch import save_file;"
            "save_file({k:v.contiguous().clone() for k,v in torch.load(sys.argv[1],'cpu',weights_only=True).items()},"
            "sys.argv[2],{'format':'pt'})\" ",
            quoted_for_shell(pickled), " ", quoted_for_shell(whole));
    } else if (auto const pickles = join_path(folder, "pytorch_model.bin.index.json"); file_exists(pickles)) {
        opened = Error::of(
            Status::unsupported, pickles,
            ": shards of pickles, which aren't read, as they could run any code. Convert them, if you trust them: "
            "python -c \"import sys,json,torch,os.path as p;from safetensors.torch import save_file;"
            "save_file({k:v.contiguous().clone() for f in "
            "sorted({*json.load(open(sys.argv[1]))['weight_map'].values()}) "
            "for k,v in torch.load(p.join(p.dirname(sys.argv[1]),f),'cpu',weights_only=True).items()},"
            "sys.argv[2],{'format':'pt'})\" ",
            quoted_for_shell(pickles), " ", quoted_for_shell(whole));
    } else {
        opened = Error::of(Status::io, folder,
                           ": no weights here: neither model.safetensors nor model.safetensors.index.json");
    }
    if (!opened) return opened.error();
    return checkpoint;
}

} // namespace uform

#endif // UFORM_CHECKPOINT_CHECKPOINT_HPP
