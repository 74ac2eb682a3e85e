import AdapterKit
import Foundation
import Synchronization

@testable import Backups

/// A target that fails by a seed: it refuses, does what it is asked and says that it failed, leaves half of what was written, lists
/// what is not there and not what is.
final class FaultyTarget: BackupTarget {
    private struct State {
        var random: SeededNumbers
        /// One call in so many fails; nil: none.
        var rate: Int?
        var faults = 0
    }

    private let target: any BackupTarget
    private let state: Mutex<State>

    init(_ target: any BackupTarget, seed: UInt64, oneIn rate: Int) {
        self.target = target
        state = Mutex(State(random: SeededNumbers(seed: seed), rate: rate))
    }

    var place: String { target.place }

    /// Everything succeeds from now on.
    func heal() { state.withLock { $0.rate = nil } }

    var faults: Int { state.withLock { $0.faults } }

    private enum Fault: CaseIterable { case refused, doneAndRefused, cut }

    private func fault() -> Fault? {
        state.withLock { state in
            guard let rate = state.rate, Int.random(in: 0..<rate, using: &state.random) == 0 else { return nil }
            state.faults += 1
            return Fault.allCases.randomElement(using: &state.random)
        }
    }

    private static let failure = PorticoError(.upstreamTimeout, "The target did not answer in time.")

    func write(_ bytes: [UInt8], to name: BackupObjectName) async throws {
        switch fault() {
        case nil: try await target.write(bytes, to: name)
        case .doneAndRefused:
            try await target.write(bytes, to: name)
            throw Self.failure
        case .cut where name.text.hasPrefix("copies/"):
            try await target.write(Array(bytes.prefix(bytes.count / 2)), to: name)
        default: throw Self.failure
        }
    }

    func write(file path: String, to name: BackupObjectName) async throws {
        switch fault() {
        case nil: try await target.write(file: path, to: name)
        case .doneAndRefused:
            try await target.write(file: path, to: name)
            throw Self.failure
        case .cut:
            let bytes = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
            try await target.write(Array(bytes.prefix(bytes.count / 2)), to: name)
            // Of a database nothing is said: its check has to find it.
            guard name.text.hasSuffix("/store") else { throw Self.failure }
        default: throw Self.failure
        }
    }

    func read(_ name: BackupObjectName, limit: Int) async throws -> [UInt8] {
        if fault() != nil { throw Self.failure }
        return try await target.read(name, limit: limit)
    }

    func read(_ name: BackupObjectName, into path: String) async throws {
        if fault() != nil { throw Self.failure }
        try await target.read(name, into: path)
    }

    func list(_ folder: BackupObjectName) async throws -> [BackupObject] {
        let objects = try await target.list(folder)
        switch fault() {
        case nil: return objects
        // Out of date: what was written last is not in it, and something that was removed is.
        case .doneAndRefused: return Array(objects.dropLast(objects.count / 3))
        case .cut:
            guard let removed = BackupObjectName("\(folder.text)/20200101T000000Z-00000000/manifest.json") else {
                return objects
            }
            return [BackupObject(removed, size: 1)] + objects
        default: throw Self.failure
        }
    }

    func remove(_ name: BackupObjectName) async throws {
        if fault() != nil { throw Self.failure }
        try await target.remove(name)
    }
}

/// A target whose pieces of the log are written just after they were asked for the first time, as while a gateway writes.
final class LateTarget: BackupTarget {
    private let target: any BackupTarget
    private let asked = Mutex<Set<BackupObjectName>>([])

    init(_ target: any BackupTarget) { self.target = target }

    var place: String { target.place }

    func write(_ bytes: [UInt8], to name: BackupObjectName) async throws { try await target.write(bytes, to: name) }

    func write(file path: String, to name: BackupObjectName) async throws {
        try await target.write(file: path, to: name)
    }

    func read(_ name: BackupObjectName, limit: Int) async throws -> [UInt8] {
        try await target.read(name, limit: limit)
    }

    func read(_ name: BackupObjectName, into path: String) async throws {
        let isFirst = asked.withLock { $0.insert(name).inserted }
        guard !isFirst || !name.text.hasPrefix("log/") else {
            throw PorticoError(.recordNotFound, "There is no \(name).")
        }
        try await target.read(name, into: path)
    }

    func list(_ folder: BackupObjectName) async throws -> [BackupObject] { try await target.list(folder) }

    func remove(_ name: BackupObjectName) async throws { try await target.remove(name) }
}
