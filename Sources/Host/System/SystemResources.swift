import AdapterKit
import Foundation
import Glibc

/// How many processors this process may run on: those of the machine, less those that its affinity (taskset, a
/// container's cpuset) leaves to others. Foundation counts the machine's.
enum Processors {
    /// The kernel writes them as a mask in hexadecimal digits (proc(5)); where there is no such file, the machine's.
    static var allowed: Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("Cpus_allowed:") } ?? ""
        let count = line.drop { $0 != ":" }.compactMap(\.hexDigitValue).reduce(0) { $0 + $1.nonzeroBitCount }
        return count > 0 ? count : ProcessInfo.processInfo.activeProcessorCount
    }
}

/// Every connection is a descriptor, and shells give 1,024 of them by default where they would allow many more.
enum DescriptorLimit {
    static func raise() {
        let descriptors = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        guard getrlimit(descriptors, &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        _ = setrlimit(descriptors, &limit)
    }
}

/// The machine's time of day, in whole milliseconds: finer digits are noise, and every format that has fractions at all
/// shows them shortly.
struct SystemClock: WallClock {
    func now() -> WireDate {
        WireDate(secondsSinceReferenceDate: (Date.now.timeIntervalSinceReferenceDate * 1_000).rounded() / 1_000)
    }
}

/// The release that this program is of.
public enum PorticoRelease {
    /// By the rules of semantic versioning.
    public static let version = "0.1.0"
}

/// Memory that was needed once, and that the allocator would keep.
enum FreeMemory {
    /// Gives it back to the system where the C library can: malloc_trim(3), which Swift's overlay of it does not have.
    static func giveBack() {
        guard let function = dlsym(nil, "malloc_trim") else { return }
        _ = unsafeBitCast(function, to: (@convention(c) (Int) -> CInt).self)(0)
    }
}
