#pragma once

#include <string>
#include <vector>

#include "calibration/capture/inject/settings.hpp"

namespace gradwire::calibration {

/// What a recording says of the program that was recorded, in one line: its name, and how many
/// words follow, "python3 (4 words not recorded)", since words may be secrets. Where `whole`, all
/// words, with a mask "***" for the values of those that are named like secrets (--api-key=...,
/// --token ..., HF_TOKEN=...) and for the user of an address (https://user:password@host).
[[nodiscard]] std::string command_text(const std::vector<std::string>& words, bool whole);

/// The words of /proc/self/cmdline.
[[nodiscard]] std::vector<std::string> own_command_line();

/// The recording's file: FOLDER/MODE.rankRANK.HOST.PID.gwr, HOST as host_part() says.
[[nodiscard]] std::string recording_path(const Settings& settings);

}  // namespace gradwire::calibration
