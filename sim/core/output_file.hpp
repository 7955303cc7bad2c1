#pragma once

#include <string>
#include <string_view>

namespace gradwire {

/// Writes a whole file or none: a temporary of a name that nobody can guess beside the target, then
/// a rename, so that a reader never sees half a file; both are on the disk when it returns. Nothing
/// of the temporary is left where that fails.
///
/// The target's mode stays, a new file has 0666 less the umask. A symbolic link is followed: what
/// it points to is replaced, or made, and the link stays. (Another hard link keeps the former
/// content.) What is no regular file is written in place: pipes, devices, /dev/stdout (after what
/// has been printed), /dev/stderr and /dev/fd/N.
/// @throws std::runtime_error naming the file and the reason
void write_file(const std::string& path, std::string_view content);

}  // namespace gradwire
