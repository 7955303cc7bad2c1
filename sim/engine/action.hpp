#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace gradwire {

/// Something to be done, by whoever holds it. What it needs lies within it up to `inline_bytes`, so
/// that an event asks for no memory of its own.
class Action {
 public:
  static constexpr std::size_t inline_bytes = 48;

  Action() = default;
  template <std::invocable Do>
  requires(!std::same_as<std::remove_cvref_t<Do>, Action>)
      Action(Do act) {  // NOLINT(google-explicit-constructor): a lambda stands for it
    if constexpr (fits<Do>) {
      hold(std::move(act));
    } else {
      hold([far = std::make_unique<Do>(std::move(act))] { (*far)(); });
    }
  }
  Action(Action&& other) noexcept { take(other); }
  Action& operator=(Action&& other) noexcept {
    if (this == &other) return *this;
    drop();
    take(other);
    return *this;
  }
  Action(const Action&) = delete;
  Action& operator=(const Action&) = delete;
  ~Action() { drop(); }

  /// REQUIRES: it is something.
  void operator()() { kind_->run(place_); }

 private:
  struct Kind {
    void (*run)(void* held);
    void (*move)(void* held, void* to) noexcept;  ///< and drops what is left
    void (*drop)(void* held) noexcept;
  };
  template <class Do>
  static constexpr bool fits =
      sizeof(Do) <= inline_bytes &&  // NOLINT(misc-redundant-expression): not of every type
      alignof(Do) <= alignof(std::max_align_t) && std::is_nothrow_move_constructible_v<Do>;
  template <class Do>
  static constexpr Kind kind_of = {[](void* held) { (*static_cast<Do*>(held))(); },
                                   [](void* held, void* to) noexcept {
                                     new (to) Do(std::move(*static_cast<Do*>(held)));
                                     static_cast<Do*>(held)->~Do();
                                   },
                                   [](void* held) noexcept { static_cast<Do*>(held)->~Do(); }};

  template <class Do>
  void hold(Do act) {
    new (place_) Do(std::move(act));
    kind_ = &kind_of<Do>;
  }
  void take(Action& other) noexcept {
    kind_ = std::exchange(other.kind_, nullptr);
    if (kind_ != nullptr) kind_->move(other.place_, place_);
  }
  void drop() noexcept {
    if (const Kind* kind = std::exchange(kind_, nullptr)) kind->drop(place_);
  }

  alignas(std::max_align_t) std::byte place_[inline_bytes];  // NOLINT(*-avoid-c-arrays): raw
  const Kind* kind_ = nullptr;
};

}  // namespace gradwire
