#pragma once

#include "sim/models/model.hpp"

namespace gradwire {

// Language model of two LSTM layers of 1500 units on Penn Treebank ("large" of Zaremba et al.,
// arXiv 1409.2329), tensors named as in the profile of the Espresso authors. Options:
// sequence_length (35 steps), vocabulary (10000), tied (false: output and input embedding share one
// table).
[[nodiscard]] ModelDescription lstm_ptb(const ModelOptions& options);

}  // namespace gradwire
