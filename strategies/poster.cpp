#include "strategies/poster.hpp"

#include <utility>

namespace gradwire {

OperationId Poster::post(Operation operation, Then then) {
  if (then) continuations_.emplace(posted_, std::move(then));
  operations_.push_back(std::move(operation));
  return posted_++;
}

void Poster::done(OperationId operation) {
  auto node = continuations_.extract(operation);
  if (!node.empty()) node.mapped()();
}

Operations Poster::take() {
  return std::exchange(operations_, {});
}

}  // namespace gradwire
