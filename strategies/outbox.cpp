#include "strategies/outbox.hpp"

namespace gradwire {

OperationId Outbox::post(Operation operation) {
  pending_.push_back(std::move(operation));
  return posted_++;
}

}  // namespace gradwire
