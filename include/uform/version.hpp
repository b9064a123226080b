/// The version of the library, as numbers and as text.
#ifndef UFORM_VERSION_HPP
#define UFORM_VERSION_HPP

#define UFORM_VERSION_MAJOR 0
#define UFORM_VERSION_MINOR 1
#define UFORM_VERSION_PATCH 0

namespace uform {

/// "major.minor.patch", static storage.
inline constexpr char const *version = "0.1.0";

} // namespace uform

#endif // UFORM_VERSION_HPP
