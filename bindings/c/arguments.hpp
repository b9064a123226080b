/// Reads what callers fill: tapes, options, texts and the names of scalars.
#ifndef UFORM_BINDINGS_C_ARGUMENTS_HPP
#define UFORM_BINDINGS_C_ARGUMENTS_HPP

#include "uform.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "errors.hpp"
#include "handles.hpp"
#include "uform/placement.hpp"
#include "uform/uform.hpp"

namespace uform::c_abi {

constexpr std::uint64_t most_bytes = PTRDIFF_MAX;

[[nodiscard]] constexpr bool names_scalar(std::int32_t scalar) noexcept {
    return scalar >= 0 && scalar <= 255 && scalar_bits(static_cast<Scalar>(scalar)) != 0;
}
[[nodiscard]] constexpr bool is_within(std::int32_t value, std::int32_t last) noexcept {
    return value >= 0 && value <= last;
}
/// Whether an option is one of 0 to `last`, whose names `known` lists in their order.
inline uform_status_t check_option(char const *name, std::int32_t value, std::int32_t last, char const *known,
                                   char const **message) noexcept {
    if (is_within(value, last)) return uform_status_success_k;
    return refuse(Error::of(Status::invalid_argument, "options.", name, ": ", value, " names none of ", known),
                  message);
}
constexpr char known_scalars[] = " names none of f32 (0), f16 (1), bf16 (2), i8 (3), b1 (4), u8 (5), u32 (6), u64 (7)";
inline uform_status_t check_scalar_name(uform_scalar_t scalar, char const **message) noexcept {
    if (names_scalar(scalar)) return uform_status_success_k;
    return refuse(Error::of(Status::invalid_argument, "scalar: ", scalar, known_scalars), message);
}
inline uform_status_t check_text(char const *text, std::uint64_t size, char const **message) noexcept {
    if (!text && size) return bad("text: NULL, and its size isn't 0", message);
    if (size > most_bytes) return bad("size: more than can be addressed", message);
    return uform_status_success_k;
}

/// Options as this version knows them, from a structure of an older or a newer one.
template <class Options>
inline uform_status_t read_options(Options const *given, Options &options, char const **message) noexcept {
    options = {};
    if (!given) return uform_status_success_k;
    std::uint64_t size = 0; // read by itself: no more of the structure need be there
    std::memcpy(&size, given, sizeof size);
    if (size < sizeof(Options) || size > 4096)
        return refuse(Error::of(Status::invalid_argument, "options.size: ", size, " bytes, and the structure has ",
                                sizeof(Options)),
                      message);
    std::memcpy(&options, given, sizeof options);
    auto const *const bytes = reinterpret_cast<unsigned char const *>(given);
    for (std::uint64_t i = sizeof(Options); i != size; ++i)
        if (bytes[i])
            return refuse(Status::unsupported, "options: a field is set that a newer version of the library has",
                          message);
    return uform_status_success_k;
}

inline uform_status_t read_load_options(uform_load_options_t const *given, LoadOptions &options,
                                        char const **message) noexcept {
    uform_load_options_t plain;
    if (auto status = read_options(given, plain, message)) return status;
    if (!names_scalar(plain.compute))
        return refuse(Error::of(Status::invalid_argument, "options.compute: ", plain.compute, known_scalars), message);
    if (auto status = check_option("instruction_set", plain.instruction_set, uform_instruction_set_avx512_k,
                                   "best (0), portable (1), avx2 (2), avx512 (3)", message))
        return status;
    options.compute = static_cast<Scalar>(plain.compute);
    if (plain.instruction_set)
        options.instruction_set = static_cast<InstructionSet>(plain.instruction_set - uform_instruction_set_portable_k);
    return uform_status_success_k;
}

constexpr char known_truncates[] = "cut (0), refuse (1)";

inline uform_status_t read_encode_options(uform_encode_options_t const *given, EncodeOptions &options,
                                          char const **message) noexcept {
    uform_encode_options_t plain;
    if (auto status = read_options(given, plain, message)) return status;
    if (auto status = check_option("truncate", plain.truncate, uform_truncate_refuse_k, known_truncates, message))
        return status;
    if (auto status = check_option("normalize", plain.normalize, uform_normalize_off_k,
                                   "as_published (0), on (1), off (2)", message))
        return status;
    if (auto status = check_option("role", plain.role, uform_role_query_k, "document (0), query (1)", message))
        return status;
    if (plain.reserved) return bad("options.reserved: not 0", message);
    if (!plain.prompt && plain.prompt_size) return bad("options.prompt: NULL, and its size isn't 0", message);
    if (plain.prompt_size > most_bytes) return bad("options.prompt_size: more than can be addressed", message);
    if (plain.prompt)
        options.prompt = {plain.prompt, plain.prompt_size ? plain.prompt_size : std::strlen(plain.prompt)};
    options.truncate = static_cast<Truncate>(plain.truncate);
    options.normalize = static_cast<Normalize>(plain.normalize);
    options.role = static_cast<Role>(plain.role);
    options.dimensions = plain.dimensions, options.tokens_per_call = plain.tokens_per_call;
    if (plain.cancellation) options.cancel = &plain.cancellation->is_requested;
    return uform_status_success_k;
}

inline uform_status_t read_classify_options(uform_classify_options_t const *given, ClassifyOptions &options,
                                            char const **message) noexcept {
    uform_classify_options_t plain;
    if (auto status = read_options(given, plain, message)) return status;
    if (auto status = check_option("truncate", plain.truncate, uform_truncate_refuse_k, known_truncates, message))
        return status;
    if (auto status = check_option("activation", plain.activation, uform_activation_softmax_k,
                                   "as_published (0), none (1), sigmoid (2), softmax (3)", message))
        return status;
    options.truncate = static_cast<Truncate>(plain.truncate);
    options.activation = static_cast<Activation>(plain.activation);
    if (plain.cancellation) options.cancel = &plain.cancellation->is_requested;
    return uform_status_success_k;
}

/// Reads the tape that a verb calls `name`, with which its refusals begin.
inline uform_status_t read_tape(char const *name, uform_tape_t const *plain, TapeView &tape,
                                char const **message) noexcept {
    auto const bad_tape = [&](char const *what) {
        return refuse(Error::of(Status::invalid_argument, name, what), message);
    };
    if (!plain) return bad_tape(": NULL");
    if (plain->reserved) return bad_tape(".reserved: not 0");
    if (plain->size > most_bytes) return bad_tape(".size: more than can be addressed");
    if (!plain->bytes && plain->size) return bad_tape(".bytes: NULL, and the tape's size isn't 0");
    if (!plain->offsets) {
        if (plain->texts > 1) return bad_tape(".offsets: NULL, which is for one text of all bytes, or none");
        if (plain->texts) tape = std::string_view(static_cast<char const *>(plain->bytes), plain->size);
        return uform_status_success_k;
    }
    if (plain->offset_bytes != 4 && plain->offset_bytes != 8) return bad_tape(".offset_bytes: neither 4 nor 8");
    if (plain->texts >= most_bytes / plain->offset_bytes) return bad_tape(".texts: more than can be addressed");
    if (reinterpret_cast<std::uintptr_t>(plain->offsets) % plain->offset_bytes)
        return bad_tape(".offsets: not aligned to the tape's offset_bytes");
    if (!classify(plain->offsets).host_accessible)
        return refuse(Error::of(Status::device, name, ".offsets: in a device's memory, and they are read on the host"),
                      message);
    auto const read = [&]<class Integer>(Integer const *offsets) {
        return TapeView::of(plain->bytes, plain->size, std::span(offsets, plain->texts + 1));
    };
    auto const checked = plain->offset_bytes == 4 ? read(static_cast<std::uint32_t const *>(plain->offsets))
                                                  : read(static_cast<std::uint64_t const *>(plain->offsets));
    if (!checked) return refuse(Error::of(checked.error().status(), name, ": ", checked.error().what()), message);
    tape = *checked;
    return uform_status_success_k;
}

} // namespace uform::c_abi

#endif // UFORM_BINDINGS_C_ARGUMENTS_HPP
