#pragma once

namespace gradwire {

/// What other flows have of a link beside copies that come and go, changed only where a window of
/// time ends: to their share at some time in it, so chosen that over the windows the sum is their
/// shares'. Not to the mean: messages that want 8 of 12 GB/s lose 2 while copies leave them 6, but
/// nothing of a mean of 11.
class LaggingShare {
 public:
  /// @param whole  of the link: what they have without copies.
  explicit LaggingShare(double whole);

  /// Their share is this from `now` on.
  void change(double now, double share);
  /// Their share.
  [[nodiscard]] double share() const { return share_; }
  /// A window has ended; the next one is as long. @return what they have in it.
  double next(double now, double window);
  /// They have their share, and had it in the whole of the last window.
  [[nodiscard]] bool is_level() const { return level_; }
  /// What they had too much or too little is forgotten.
  void forget() { owed_ = owed_before_ = 0; }

 private:
  void count(double now);

  double whole_;
  double share_;
  double given_;            ///< what they have
  double least_;            ///< share since the last window's end
  double since_ = 0;        ///< counted until then
  double owed_ = 0;         ///< bytes that they should have had more than they were given
  double owed_before_ = 0;  ///< when this window began
  bool level_ = true;
};

}  // namespace gradwire
