import AdapterKit
import Synchronization

/// The header fields that a program's mount may set: those that describe what it answers. All others are left out: they hold for the
/// whole origin, which it shares with the gateway and the other adapters, are the gateway's own (cookies, CORS, CSRF), or are an order to a proxy before the gateway. docs/protocol/adapter.md has the list.
final class ProgramFields: Sendable {
    private enum Value {
        case any
        /// A number of seconds; one that is too large is the largest (RFC 9111, section 1.2.2).
        case age
        /// RFC 9110, section 10.2.3.
        case secondsOrDate
        case date
        /// RFC 9110, section 8.8.3.
        case entityTag
        /// What a page of the program may load and do, and nothing on this origin (`sandbox` without `allow-same-origin`).
        case policy
    }

    private static let sandbox = "sandbox allow-downloads allow-forms allow-scripts"
    /// Names of a program's own begin so.
    private static let prefix = "x-adapter-"

    private static let fields: [String: Value] = [
        // Of the content.
        "accept-ranges": .any, "content-digest": .any, "content-disposition": .any, "content-encoding": .any,
        "content-language": .any, "content-location": .any, "content-range": .any,
        "content-security-policy": .policy, "content-type": .any,
        "etag": .entityTag, "last-modified": .date, "repr-digest": .any,
        // For caches.
        "age": .age, "cache-control": .any, "cache-status": .any, "expires": .any, "vary": .any,
        // Of what was done, and what can be done next.
        "accept-patch": .any, "accept-post": .any, "allow": .any, "deprecation": .any, "link": .any, "location": .any,
        "preference-applied": .any, "retry-after": .secondsOrDate, "sunset": .any,
        // Of contracts.
        "dataserviceversion": .any, "odata-entityid": .any, "odata-version": .any,
    ]

    /// Names that were left out already, so that an answer that is given often is one line in the log.
    private let reported = Mutex<Set<String>>([])
    private static let mostReported = 100

    /// What may be sent, in order. `now`: for dates that have a year of two digits.
    func permittedFields(_ headers: MountHeaders, now: WireDate, log: Log) -> MountHeaders {
        MountHeaders(
            headers.fields.compactMap { field in
                let name = field.name.lowercased()
                let known = Self.fields[name] ?? (name.utf8.starts(with: Self.prefix.utf8) ? .any : nil)
                guard let kind = known, let value = Self.value(field.value, of: kind, now: now) else {
                    report(name, isUnknown: known == nil, log: log)
                    return nil
                }
                return MountHeaders.Field(field.name, value)
            })
    }

    /// Nil for one that the field cannot have.
    private static func value(_ text: String, of kind: Value, now: WireDate) -> String? {
        switch kind {
        case .any: return text
        case .age: return seconds(text)
        case .secondsOrDate: return seconds(text) ?? (HTTPDate.date(text, now: now) == nil ? nil : text)
        case .date: return HTTPDate.date(text, now: now) == nil ? nil : text
        case .entityTag: return isEntityTag(text) ? text : nil
        // Policies that commas separate hold together (Content Security Policy 3, section 4.2).
        case .policy: return "\(text), \(Self.sandbox)"
        }
    }

    private static func seconds(_ text: String) -> String? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return String(min(Int64(text) ?? .max, Int64(Int32.max)))
    }

    private static func isEntityTag(_ text: String) -> Bool {
        let tag = text.utf8.starts(with: "W/".utf8) ? text.utf8.dropFirst(2) : text.utf8[...]
        let quote = UInt8(ascii: "\"")
        return tag.count >= 2 && tag.first == quote && tag.last == quote
            && tag.dropFirst().dropLast().allSatisfy { $0 != quote && $0 > 0x20 && $0 != 0x7F }
    }

    private func report(_ name: String, isUnknown: Bool, log: Log) {
        let isNew = reported.withLock { $0.count < Self.mostReported && $0.insert(name).inserted }
        guard isNew else { return }
        log.warning(
            isUnknown
                ? "a header field was left out that a program's mount may not set"
                : "a header field of a program's mount was left out: its value cannot stand there",
            ["field": .text(String(decoding: name.utf8.prefix(100), as: UTF8.self))])
    }
}
