#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace gradwire::cli {

/// What became of a task.
struct TaskOutcome {
  bool done = false;
  std::string text;  ///< the task's answer, or why there is none
};

/// Runs each of the tasks 0..tasks-1 in a forked copy of this process, at most `workers` at a time.
/// A copy shares what has been loaded and starts with SimGrid untouched, so that an answer does not
/// depend on which tasks ran before. `on_done` is called here, once a task, in order of completion.
/// A task that throws, crashes or is killed costs its own outcome only, and is not tried again.
/// Nothing that a task prints is flushed. A copy ends with this process, whatever ends that.
/// Where the system has no room for so many copies, fewer run, which standard error says once.
/// REQUIRES: no other thread runs.
/// @throws Interrupted on an interrupt, after all copies have been ended.
void run_in_workers(std::size_t tasks, int workers,
                    const std::function<std::string(std::size_t)>& task,
                    const std::function<void(std::size_t, const TaskOutcome&)>& on_done);

/// Cores that this process may use, at least 1.
[[nodiscard]] int available_cores();

}  // namespace gradwire::cli
