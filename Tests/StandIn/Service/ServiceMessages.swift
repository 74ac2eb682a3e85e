import AdapterKit
import Foundation
import WireFormats

/// A request as the service's parts see it.
struct ServiceRequest: Sendable {
    let method: String
    /// Decoded, without empty segments.
    let segments: [String]
    let path: String
    /// Decoded; of a name that comes twice, the first.
    let query: [String: String]
    let fields: [(name: String, value: String)]
    let body: [UInt8]

    /// Nil for a target that cannot be decoded.
    init?(method: String, target: String, fields: [(name: String, value: String)] = [], body: [UInt8] = []) {
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        guard let path = parts.first, path.hasPrefix("/") else { return nil }
        var segments: [String] = []
        for segment in path.split(separator: "/") {
            guard let text = segment.removingPercentEncoding else { return nil }
            segments.append(text)
        }
        var query: [String: String] = [:]
        for pair in (parts.count > 1 ? parts[1] : "").split(separator: "&") {
            let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = halves[0].removingPercentEncoding,
                let value = (halves.count > 1 ? halves[1] : "").removingPercentEncoding
            else { return nil }
            query[name] = query[name] ?? value
        }
        self.method = method
        self.segments = segments
        self.path = String(path)
        self.query = query
        self.fields = fields
        self.body = body
    }

    subscript(name: String) -> String? { fields.first { $0.name.lowercased() == name.lowercased() }?.value }

    var isRead: Bool { method == "GET" || method == "HEAD" }

    /// The body as JSON. Throws `invalid` for anything else.
    func json() throws(ServiceError) -> WireValue {
        do { return try JSONFormat().read(body) } catch { throw .invalid("The body is no JSON: \(error)") }
    }

    /// A number of the query, within a range. Throws `invalid` for another text.
    func number(_ name: String, in range: ClosedRange<Int>) throws(ServiceError) -> Int? {
        guard let text = query[name] else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw .invalid("\(name) is a number from \(range.lowerBound) to \(range.upperBound).")
        }
        return number
    }
}

/// A whole answer.
struct ServiceResponse: Sendable, Equatable {
    var status: Int
    var contentType: String
    var fields: [String: String]
    var body: [UInt8]

    init(_ status: Int, contentType: String = "application/json", fields: [String: String] = [:], body: [UInt8] = []) {
        self.status = status
        self.contentType = contentType
        self.fields = fields
        self.body = body
    }

    static func json(_ value: WireValue, status: Int = 200, fields: [String: String] = [:]) -> Self {
        // Every value here is one that JSON has.
        Self(status, fields: fields, body: (try? JSONFormat().write(value)) ?? [])
    }

    /// 304 where the client has it already.
    func conditional(_ request: ServiceRequest) -> Self {
        guard let tag = fields["ETag"], request.isRead, let known = request["If-None-Match"],
            known == "*"
                || known.split(separator: ",").contains(where: { $0.trimmingCharacters(in: .whitespaces) == tag })
        else { return self }
        return Self(304, contentType: contentType, fields: fields)
    }
}

/// A request that is not carried out.
struct ServiceError: Error, Equatable {
    let status: Int
    let code: String
    let message: String
    var fields: [String: String] = [:]

    static func invalid(_ message: String) -> Self { Self(status: 400, code: "invalid", message: message) }
    /// Understood, and against a rule: trying again does not help.
    static func refused(_ message: String) -> Self { Self(status: 422, code: "refused", message: message) }
    static func missing(_ message: String) -> Self { Self(status: 404, code: "missing", message: message) }

    /// In the shape of the mobile contract, which all JSON paths share.
    var response: ServiceResponse {
        .json(["errorCode": .string(code), "errorMessage": .string(message)], status: status, fields: fields)
    }
}

extension String {
    /// As the content of an element or of an attribute within double quotes.
    var escapedForXML: String {
        guard utf8.contains(where: { [0x22, 0x26, 0x3C, 0x3E].contains($0) }) else { return self }
        return replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
            .replacing("\"", with: "&quot;")
    }
}
