#pragma once

namespace gradwire {

/// Span::worker of the bars that a strategy's own timeline has, as the original prints them: a row
/// (Span::resource) a tensor.
inline constexpr const char* tensor_timeline = "tensors";

}  // namespace gradwire
