import AdapterKit

/// How much one batch may hold. Nesting has no number: a change set holds requests, and never another one.
struct BatchLimits: Sendable {
    /// Requests, those of change sets included; a change set counts as one where it holds none.
    var requests = 1_000
    /// Bytes of one request: its part of a multipart body, or its body in JSON.
    var part = 8 << 20
    /// Bytes of its header fields, and of those of its part.
    var head = 16 << 10
    /// How many header fields, those of its part each by themselves.
    var fields = 100
    /// Characters of a boundary (RFC 2046, section 5.1.1, allows 70).
    var boundary = 70

    func checkRequests(_ count: Int) throws(PorticoError) {
        try check(count, requests, "A batch has at most \(requests) requests.")
    }

    func checkPart(_ bytes: Int) throws(PorticoError) {
        try check(bytes, part, "A request of a batch has at most \(part) bytes.")
    }

    func checkHead(fields count: Int, bytes: Int) throws(PorticoError) {
        try check(count, fields, "A request of a batch has at most \(fields) header fields.")
        try check(bytes, head, "The header fields of a batch's request have at most \(head) bytes.")
    }

    func checkBoundary(_ text: String) throws(PorticoError) {
        try check(text.utf8.count, boundary, "A boundary has at most \(boundary) characters.")
    }

    private func check(_ value: Int, _ most: Int, _ message: String) throws(PorticoError) {
        guard value <= most else { throw PorticoError(.requestLimitExceeded, message) }
    }
}
