#include "strategies/poster.hpp"

#include <utility>

namespace gradwire {

OperationId Poster::post(Operation operation) {
  operations_.push_back(std::move(operation));
  return posted_++;
}

Operations Poster::take() {
  return std::exchange(operations_, {});
}

}  // namespace gradwire
