#include "strategies/parts/poster.hpp"

namespace gradwire {

OperationId Poster::post(Operation&& operation, Then then) {
  const OperationId id = writer_.post(std::move(operation));
  follows_.push_back(std::move(then));
  return id;
}

void Poster::post_in_turn(Operations operations, const Then& then) {
  post_from(std::make_shared<const Operations>(std::move(operations)), 0, then);
}

void Poster::post_from(const std::shared_ptr<const Operations>& operations, std::size_t next,
                       const Then& then) {
  if (next == operations->size()) {
    then();
    return;
  }
  post(Operation((*operations)[next]),
       [this, operations, next, then] { post_from(operations, next + 1, then); });
}

void Poster::done(OperationId operation) {
  const auto at = static_cast<std::size_t>(operation);
  if (at < awaited_ || at >= follows_.size() || !follows_[at]) return;
  const Then then = std::exchange(follows_[at], {});
  while (awaited_ < follows_.size() && !follows_[awaited_]) ++awaited_;
  follows_.forget_before(awaited_);
  then();
}

}  // namespace gradwire
