import Foundation

/// The seeds of a test that repeats.
public enum Seeds {
    /// 20,000, or as many as ``ADMISSION_SEEDS`` says. Stops after `TEST_SECONDS` where that is set, and says how many it gave.
    public static func taken(_ label: String = #function, from first: UInt64 = 0) -> some Sequence<UInt64> {
        let variables = ProcessInfo.processInfo.environment
        let count = variables["ADMISSION_SEEDS"].flatMap(UInt64.init) ?? 20_000
        let end = variables["TEST_SECONDS"].flatMap(Double.init).map { ContinuousClock.now + .seconds($0) }
        return sequence(state: first) { seed -> UInt64? in
            if seed >= first + count || seed > first && end.map({ ContinuousClock.now >= $0 }) ?? false {
                print("\(label): \(seed - first) seeds")
                return nil
            }
            defer { seed += 1 }
            return seed
        }
    }
}
