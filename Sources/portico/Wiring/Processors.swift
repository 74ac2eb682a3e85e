import Foundation

/// How many processors this process may run on: those of the machine, less those that its affinity (taskset, a
/// container's cpuset) leaves to others. Foundation counts the machine's.
enum Processors {
    /// The kernel tells them as a mask in hexadecimal digits (proc(5)); where there is no such file, the machine's.
    static var allowed: Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("Cpus_allowed:") } ?? ""
        let count = line.drop { $0 != ":" }.compactMap(\.hexDigitValue).reduce(0) { $0 + $1.nonzeroBitCount }
        return count > 0 ? count : ProcessInfo.processInfo.activeProcessorCount
    }
}
