#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "strategies/servers/server_exchanges.hpp"

namespace gradwire {

/// A key is declared number << key_part_bits + part (BytePS, operations.cc:306-311).
constexpr int key_part_bits = 16;

/// How BytePS lays keys on servers.
struct KeyHash {
  std::string function = "djb2";        ///< a name of key_hashes()
  std::int64_t built_in_coef = 1;       ///< BYTEPS_BUILT_IN_HASH_COEF
  std::int64_t mixed_mode_bound = 101;  ///< BYTEPS_MIXED_MODE_BOUND
};

/// "djb2", "naive", "built_in", "sdbm", "mixed".
[[nodiscard]] std::span<const std::string> key_hashes();

/// djb2 of the decimal digits of a key: h = 33 h + digit, from 5381, modulo 2^64.
[[nodiscard]] std::uint64_t djb2(std::uint64_t key);

/// The share of the keys that "mixed" gives to the servers on machines without ranks, so that no
/// machine's NIC is busier than another: 2 M (N - 1) / (N (N + M) - 2 M).
/// @param workers   N, machines with ranks, each with a server; >= 1
/// @param separate  M, servers on machines of their own
/// @return in [0, 1]; 1 where there are more separate servers than workers, which BytePS refuses.
[[nodiscard]] double separate_share(int workers, int separate);

/// The server of a key.
///
/// Source: BytePS, byteps/common/global.cc (EncodeDefaultKey, Hash_*, Hash_Mixed_Mode). There the
/// hash reads a string that has been freed; here it reads the string that was meant. "built_in" is
/// the standard library's hash, so it is as portable as that.
[[nodiscard]] int server_of(std::uint64_t key, const KeyHash& hash, const ServerLayout& layout);

}  // namespace gradwire
