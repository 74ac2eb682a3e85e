/// A promise of the protocol that a run has broken.
public struct Violation: Error, Sendable, CustomStringConvertible {
    /// The invariant's number in the protocol document.
    public let invariant: Int
    public let what: String

    /// `what` names the records and the devices.
    public init(_ invariant: Int, _ what: String) {
        self.invariant = invariant
        self.what = what
    }

    public var description: String { "invariant \(invariant): \(what)" }
}

/// What a run breaks on purpose, to show that it would be noticed.
public enum Sabotage: String, Sendable, CaseIterable {
    /// Of two changes made on one base the server takes both, the later one over the other.
    case tieBreak = "tie-break"
    /// The server forgets which mutations it has made.
    case deduplication = "de-duplication"
    /// A device that was away for longer than the log reaches back is served all the same.
    case tombstoneWindow = "tombstone-window"
    /// The device applies each page as it comes.
    case atomicApply = "atomic-apply"
    /// A device's file has a pull's checkpoint in a transaction before that of its rows.
    case checkpointFirst = "checkpoint-first"
}

/// What a run does.
public struct SimulationPlan: Sendable {
    public let seed: UInt64
    public let operations: Int
    public let sabotage: Sabotage?
    /// Whether every event is written down.
    public let keepsTrace: Bool
    /// In every how many-th seed one device has its data in a file, as an app has it; 0: in none.
    public let filesEvery: Int

    /// The device with a file. By the seed alone, so that whatever else happens is the same without it.
    var deviceInFile: Int? {
        guard filesEvery > 0, seed.isMultiple(of: UInt64(filesEvery)) else { return nil }
        return Int(seed / UInt64(filesEvery) % 3)
    }

    public init(
        seed: UInt64, operations: Int, sabotage: Sabotage? = nil, keepsTrace: Bool = false, filesEvery: Int = 8
    ) {
        self.filesEvery = filesEvery
        self.seed = seed
        self.operations = operations
        self.sabotage = sabotage
        self.keepsTrace = keepsTrace
    }
}

/// What happened in a run, line by line.
public struct Trace: Sendable {
    private let isKept: Bool
    /// In the order in which they were added.
    public private(set) var lines: [String] = []
    /// FNV-1a of all lines: two runs of one seed have the same.
    public private(set) var digest: UInt64 = 0xCBF2_9CE4_8422_2325

    /// Nothing is added where it is not kept.
    public init(isKept: Bool) {
        self.isKept = isKept
    }

    /// Adds a line, which is not made where it is not kept.
    public mutating func add(_ line: @autoclosure () -> String) {
        guard isKept else { return }
        let line = line()
        lines.append(line)
        for byte in line.utf8 { digest = (digest ^ UInt64(byte)) &* 0x100_0000_01B3 }
    }
}
