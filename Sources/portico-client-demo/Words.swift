import Client

/// How things are put in the terminal.
enum Words {
    static let titles = RecordQuery("notes", order: [.ascending("title")])

    static func line(_ number: Int, _ note: Record) -> String {
        let title = note["title"]?.stringValue ?? "(no title)"
        let text = note["text"]?.stringValue ?? ""
        return
            "  \(number). \(title)\(text.isEmpty ? "" : ": \(text)")\(note.isWaiting ? "   … waits for the network" : "")"
    }

    static func status(_ status: SyncStatus, isOnline: Bool) -> String {
        var parts = [isOnline ? "online" : "OFFLINE"]
        if let received = status.received, received > 0 { parts.append("receiving, \(received) so far") }
        if status.waiting > 0 { parts.append("\(status.waiting) to be sent") }
        if !status.problems.isEmpty { parts.append("\(status.problems.count) to be resolved") }
        if status.phase == .signInNeeded { parts.append("sign in again") }
        return parts.joined(separator: ", ")
    }

    static func problem(_ problem: SyncProblem) -> [String] {
        let wanted: String =
            switch problem.edit {
            case .create(let fields), .update(let fields): "\"\(fields["text"]?.stringValue ?? "")\""
            case .delete: "to delete it"
            }
        switch problem.cause {
        case .conflict(let server):
            return [
                "This device wanted:  \(wanted)",
                "The server has:      "
                    + (server.map { "\"\($0["text"]?.stringValue ?? "")\"" } ?? "nothing, it was deleted"),
            ]
        case .rejected(let code): return ["The server refused \(wanted): \(code)"]
        }
    }

    static func reason(_ error: any Error) -> String {
        switch error {
        case ClientError.unreachable(let reason): "no gateway answers (is `make run` running?): \(reason)"
        case ClientError.refused(let refusal): "\(refusal.message) (\(refusal.code))"
        default: "\(error)"
        }
    }
}
