import AdapterKit
import Foundation
import Synchronization

/// What a writer meant to do and what was acknowledged, line by line in a file. A line that `write` took outlives the
/// process, which is all that SIGKILL ends.
///
///     begin ID STATE              before the change is asked for
///     done ID STATE REVISION      once it is acknowledged
///     found ID STATE              what the check after a kill saw: one of the states that were possible
///
/// A state is the text of the record, or `-` for none.
final class Ledger: Sendable {
    private let file: Mutex<FileHandle>

    init(_ path: String) throws {
        if !FileManager.default.fileExists(atPath: path) { try Data().write(to: URL(filePath: path)) }
        let handle = try FileHandle(forUpdating: URL(filePath: path))
        try handle.seekToEnd()
        file = Mutex(handle)
    }

    func append(_ words: String...) throws {
        let line = Data((words.joined(separator: " ") + "\n").utf8)
        try file.withLock { try $0.write(contentsOf: line) }
    }
}

/// What a ledger says about one record.
struct LedgerEntry {
    /// The last state that is certain.
    var certain = "-"
    /// States that were asked for since.
    var begun: [String] = []

    var possible: [String] { [certain] + begun }
}

/// A ledger, read.
struct LedgerState {
    private(set) var entries: [String: LedgerEntry] = [:]
    /// Records by the positions of their acknowledged changes.
    private(set) var acknowledged: [Int64: String] = [:]

    init(contentsOf path: String) throws {
        for line in try String(contentsOf: URL(filePath: path), encoding: .utf8).split(separator: "\n") {
            let words = line.split(separator: " ").map { String($0) }
            // The kill may have cut the last line.
            guard words.count >= 3 else { continue }
            read(words)
        }
    }

    private mutating func read(_ words: [String]) {
        let (id, state) = (words[1], words[2])
        switch words[0] {
        case "begin": entries[id, default: LedgerEntry()].begun.append(state)
        case "found": entries[id] = LedgerEntry(certain: state)
        case "done":
            entries[id] = LedgerEntry(certain: state)
            if words.count == 4, let position = Int64(words[3]) { acknowledged[position] = id }
        default: break
        }
    }
}
