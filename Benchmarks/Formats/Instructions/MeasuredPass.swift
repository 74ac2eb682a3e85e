/// The pass to be counted. Only the main thread reads and writes it.
nonisolated(unsafe) var current: () throws -> Int = { 0 }

/// Named for C, because callgrind switches its counters on and off at a function by its symbol.
@c(measured_pass) @inline(never)
func measuredPass() -> Int {
    (try? current()) ?? 0
}
