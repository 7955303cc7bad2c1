#pragma once

#include <cstdint>
#include <vector>

#include "sim/engine/quotient.hpp"

namespace gradwire {

/// When the messages of a phase may be sent: one after the other by each sender, and each when the
/// messages that it forwards have arrived (Coupling says which). A sender is a flow of the plan:
/// group after group, in the order of its members.
///
/// REQUIRES of the phase: each class has one flow, or whole messages are sent on.
class MessageOrder {
 public:
  MessageOrder() = default;
  explicit MessageOrder(const PhaseClasses& phase);

  [[nodiscard]] std::uint32_t senders() const { return static_cast<std::uint32_t>(sent_.size()); }

  /// Calls send(sender) for each that may send its first message.
  template <class Send>
  void begin(Send send) {
    for (std::uint32_t sender = 0; sender < senders(); ++sender) send_if_ready(sender, send);
  }

  /// A sender's message has arrived: calls send(sender) for each that may send now.
  template <class Send>
  void arrived(std::uint32_t sender, Send send) {
    sent_[sender].sending = false;
    ++sent_[sender].arrived;
    send_if_ready(sender, send);
    for (const std::uint32_t after : sent_[sender].after) send_if_ready(after, send);
  }

 private:
  /// What it waits for, what waits for it, and how far it is.
  struct Sender {
    std::vector<std::uint32_t> before;
    std::vector<std::uint32_t> after;
    int arrived = 0;  ///< messages
    bool sending = false;
  };

  template <class Send>
  void send_if_ready(std::uint32_t sender, Send send) {
    if (!is_ready(sent_[sender])) return;
    sent_[sender].sending = true;
    send(sender);
  }
  [[nodiscard]] bool is_ready(const Sender& sender) const;

  Coupling coupling_ = Coupling::independent;
  int steps_ = 1;
  std::vector<Sender> sent_;
};

}  // namespace gradwire
