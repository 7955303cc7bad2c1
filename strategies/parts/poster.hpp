#pragma once

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

#include "sim/core/sliding_list.hpp"
#include "strategies/parts/operation_writer.hpp"

namespace gradwire {

/// Something to be done, which may be nothing. Copies are one and the same: what is to follow is
/// handed on through many hands.
class Then {
 public:
  Then() = default;
  template <std::invocable Action>
  requires(!std::same_as<std::remove_cvref_t<Action>, Then>)
      Then(Action action)  // NOLINT(google-explicit-constructor): a lambda stands for it
      : action_(std::make_shared<Held<Action>>(std::move(action))) {}

  /// REQUIRES: it is something.
  void operator()() const { action_->run(); }
  explicit operator bool() const { return action_ != nullptr; }

 private:
  struct Holder {
    virtual ~Holder() = default;
    virtual void run() = 0;
  };
  template <class Action>
  struct Held final : Holder {
    explicit Held(Action held) : action(std::move(held)) {}
    void run() override { action(); }
    Action action;
  };

  std::shared_ptr<Holder> action_;
};

/// An OperationWriter that keeps what is to happen when each operation has ended.
class Poster {
 public:
  using Then = gradwire::Then;

  /// Posts an operation.
  /// @param then  called by done() once it has ended.
  /// @return its id.
  OperationId post(Operation&& operation, Then then = {});

  /// Posts operations one after the other, each when the one before it has ended.
  /// @param then  called once the last has ended; at once where there is none.
  void post_in_turn(Operations operations, const Then& then);

  /// An operation, posted here or not, has ended: goes on with what was to follow it.
  void done(OperationId operation);

  /// What was posted since the last call, to be returned from on_event.
  Operations take() { return writer_.take(); }

 private:
  void post_from(const std::shared_ptr<const Operations>& operations, std::size_t next,
                 const Then& then);

  OperationWriter writer_;
  SlidingList<Then> follows_;  ///< by operation; nothing where nothing follows, or it has
  std::size_t awaited_ = 0;    ///< nothing follows those before it any more
};

}  // namespace gradwire
