import Foundation
import Synchronization
import ValueTree

/// Sends a file of records part by part, each a transaction, and says what of it was loaded.
struct ImportUpload {
    let file: ImportedFile
    let adapter: String
    /// What the adapter asks for besides the rows.
    let beside: [String: String]
    /// The line or row at which it begins.
    let from: Int
    let options: ConnectionOptions

    private struct Outcome {
        var created: Int64 = 0
        var deleted: Int64 = 0
    }

    func run() async throws {
        Interruption.watch()
        let progress = ProgressBar()
        defer { progress.end() }
        let outcome = try await options.withConnection { connection in
            if try isLong() {
                try await send(over: connection, checking: true, progress)
            }
            return try await send(over: connection, checking: false, progress)
        }
        progress.end()
        try Printer(style: options.output).show([
            "created": .int64(outcome.created), "deleted": .int64(outcome.deleted),
        ])
    }

    /// Whether there is more than one part: a single one is checked by its own transaction.
    private func isLong() throws -> Bool {
        let parts = try PartReader(file.file, from: from)
        return try parts.next() != nil && parts.next() != nil
    }

    @discardableResult
    private func send(
        over connection: Connection, checking: Bool, _ progress: ProgressBar
    ) async throws -> Outcome {
        let parts = try PartReader(file.file, from: from)
        var (outcome, isFirst) = (Outcome(), true)
        while let part = try parts.next() {
            if Interruption.isAsked { throw stopped(before: part, outcome, checking) }
            let step = checking ? "checking" : "loading, \(outcome.created) rows are kept"
            progress.show("\(step) (\(part.place))", parts.fraction)
            let mode = checking ? "check" : isFirst ? file.mode.rawValue : ImportedFile.Mode.append.rawValue
            do {
                let path = ImportedFile.path(adapter, mode: mode, beside: beside.merging(part.position) { $1 })
                let answer = try await connection.post(path, file: part.bytes, type: parts.mediaType)
                outcome.created += answer["created"]?.int64Value ?? 0
                outcome.deleted += answer["deleted"]?.int64Value ?? 0
            } catch let failure as Failure {
                throw explained(failure, part, outcome, checking)
            }
            isFirst = false
        }
        return outcome
    }

    private func stopped(before part: PartReader.Part, _ outcome: Outcome, _ checking: Bool) -> Failure {
        Failure("Stopped before \(part.place). \(kept(outcome, before: part, checking))")
    }

    private func explained(
        _ failure: Failure, _ part: PartReader.Part, _ outcome: Outcome, _ checking: Bool
    ) -> Failure {
        let doubt =
            failure.isUnanswered && !checking
            ? " Whether the part that begins at \(part.place) was loaded is not known." : ""
        let kept = kept(outcome, before: part, checking)
        return Failure("\(failure.message)\(doubt) \(kept)", exitStatus: failure.exitStatus)
    }

    private func kept(_ outcome: Outcome, before part: PartReader.Part, _ checking: Bool) -> String {
        guard !checking, outcome.created + outcome.deleted > 0 else { return "Nothing was loaded." }
        let removed = outcome.deleted > 0 ? " \(outcome.deleted) that were there before were removed." : ""
        return
            "\(outcome.created) rows before \(part.place) are kept.\(removed) `--from \(part.first)` goes on after them."
    }
}

/// Whether Ctrl-C was pressed. The second time ends the program at once, as it would without this.
enum Interruption {
    private static let asked = Atomic<Bool>(false)

    static func watch() {
        // A handler may do little; atomics and write(2) are safe in it (signal-safety(7)).
        signal(SIGINT) { _ in
            if Interruption.asked.exchange(true, ordering: .relaxed) {
                signal(SIGINT, SIG_DFL)
                raise(SIGINT)
            }
            let words: StaticString = "\nstops after the part that is under way\n"
            _ = write(STDERR_FILENO, words.utf8Start, words.utf8CodeUnitCount)
        }
    }

    static var isAsked: Bool { asked.load(ordering: .relaxed) }
}
