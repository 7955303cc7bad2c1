#include "strategies/parts/poster.hpp"

#include <utility>

namespace gradwire {

OperationId Poster::post(Operation operation, Then then) {
  const OperationId id = writer_.post(std::move(operation));
  if (then) continuations_.emplace(id, std::move(then));
  return id;
}

void Poster::done(OperationId operation) {
  auto node = continuations_.extract(operation);
  if (!node.empty()) node.mapped()();
}

}  // namespace gradwire
