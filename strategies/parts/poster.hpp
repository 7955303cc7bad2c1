#pragma once

#include <functional>
#include <memory>
#include <unordered_map>

#include "strategies/parts/operation_writer.hpp"

namespace gradwire {

/// An OperationWriter that keeps what is to happen when each operation has ended.
class Poster {
 public:
  using Then = std::function<void()>;

  /// Posts an operation.
  /// @param then  called by done() once it has ended.
  /// @return its id.
  OperationId post(Operation operation, Then then = {});

  /// Posts operations one after the other, each when the one before it has ended.
  /// @param then  called once the last has ended; at once where there is none.
  void post_in_turn(Operations operations, const Then& then);

  /// An operation has ended: goes on with what was to follow it.
  void done(OperationId operation);

  /// What was posted since the last call, to be returned from on_event.
  Operations take() { return writer_.take(); }

 private:
  void post_from(const std::shared_ptr<const Operations>& operations, std::size_t next,
                 const Then& then);

  OperationWriter writer_;
  std::unordered_map<OperationId, Then> continuations_;  // looked up only, never walked
};

}  // namespace gradwire
