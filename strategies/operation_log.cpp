#include "strategies/operation_log.hpp"

namespace gradwire {

OperationId OperationLog::post(Operation operation) {
  pending_.push_back(std::move(operation));
  return posted_++;
}

}  // namespace gradwire
