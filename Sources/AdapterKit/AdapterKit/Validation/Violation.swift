/// What is wrong with a value, and where. The path is put together only on the way out, so that a value without faults
/// costs no texts.
struct Violation: Error {
    /// Completes the sentence that begins with the path: `must be an integer`.
    let message: String
    private(set) var path: String = ""

    init(_ message: String) {
        self.message = message
    }

    func below(_ position: Int) -> Violation {
        var outer = self
        outer.path = path.isEmpty || path.hasPrefix("[") ? "[\(position)]\(path)" : "[\(position)].\(path)"
        return outer
    }

    func below(_ member: String) -> Violation {
        var outer = self
        outer.path = path.isEmpty || path.hasPrefix("[") ? member + path : "\(member).\(path)"
        return outer
    }

    func asError(at start: String) -> PorticoError {
        let target = start.isEmpty ? path : below(start).path
        let subject = target.isEmpty ? "The value" : target
        return PorticoError(.requestInvalid, "\(subject) \(message).", target: target.isEmpty ? nil : target)
    }
}
