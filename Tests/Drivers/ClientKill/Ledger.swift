import Foundation
import Synchronization

/// What the app meant to do and what it was told is done, line by line in a file. A line that `write` took outlives the
/// process, which is all that SIGKILL ends.
final class Ledger: Sendable {
    struct Entry {
        /// The last text that is certain; `-` for none.
        var certain = "-"
        /// Texts that were asked for since.
        var begun: [String] = []
        /// Edits that became certain.
        var edits = 0

        var possible: [String] { [certain] + begun }
    }

    private struct State {
        var file: FileHandle
        var entries: [String: Entry]
    }

    private let state: Mutex<State>
    var entries: [String: Entry] { state.withLock { $0.entries } }

    init(_ url: URL) throws {
        if !FileManager.default.fileExists(atPath: url.path) { try Data().write(to: url) }
        var entries: [String: Entry] = [:]
        for line in try String(contentsOf: url, encoding: .utf8).split(separator: "\n") {
            Self.take(line.split(separator: " ").map { String($0) }, &entries)
        }
        let file = try FileHandle(forUpdating: url)
        try file.seekToEnd()
        state = Mutex(State(file: file, entries: entries))
    }

    func append(_ words: String...) throws {
        try state.withLock { state in
            try state.file.write(contentsOf: Data((words.joined(separator: " ") + "\n").utf8))
            Self.take(words, &state.entries)
        }
    }

    private static func take(_ words: [String], _ entries: inout [String: Entry]) {
        // The kill may have cut the last line.
        guard words.count == 3 else { return }
        let (id, text) = (words[1], words[2])
        var entry = entries[id] ?? Entry()
        switch words[0] {
        case "begin": entry.begun.append(text)
        case "done": entry = Entry(certain: text, edits: entry.edits + 1)
        // One that was begun and is there has become certain by that.
        case "found": entry = Entry(certain: text, edits: entry.edits + (text == entry.certain ? 0 : 1))
        default: break
        }
        entries[id] = entry
    }
}
