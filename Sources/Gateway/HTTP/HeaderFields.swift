import AdapterKit
import HTTPTypes

/// The number of header fields that a head may have, and of bytes that they may take.
struct HeaderLimits: Sendable {
    let fields: Int
    /// Bytes of names and values together, with four for the separators of each field.
    let bytes: Int

    /// Limits of adapters' answers. Far below the 65,535 fields at which `HTTPFields` traps.
    static let response = HeaderLimits(fields: 1_000, bytes: 1 << 20)
}

extension GatewayLimits {
    /// `http.limits.fields` and `http.limits.head`, for every head that is not read by the HTTP/1 decoder.
    var requestHead: HeaderLimits { HeaderLimits(fields: fields, bytes: head) }
}

/// Collects header fields that come from outside into an `HTTPFields`, within limits.
///
/// The only way to build fields out of input: `HTTPFields` traps beyond 65,535 of them, and its setter by name looks
/// through all that are there. Appending costs the same whatever the number.
struct HeaderFields {
    enum Failure: Error, Equatable {
        /// The name or the value is not allowed in a head.
        case invalid
        case tooLarge
    }

    private(set) var fields = HTTPFields()
    private let limits: HeaderLimits
    private var bytes = 0

    init(_ limits: HeaderLimits) {
        self.limits = limits
    }

    mutating func append(_ name: String, _ value: String) throws(Failure) {
        let size = name.utf8.count + value.utf8.count + 4
        guard fields.count < limits.fields, size <= limits.bytes - bytes else { throw .tooLarge }
        // Cannot trap: appended within limits.
        guard let name = HTTPField.Name(name), HTTPField.isValidValue(value) else { throw .invalid }
        bytes += size
        fields.append(HTTPField(name: name, value: value))
    }
}

extension PorticoError {
    static var addressTooLong: PorticoError { PorticoError(.requestURITooLong, "The address is too long.") }
}

extension HTTPFields {
    /// The value of `self[name]`, without a new text where the field stands once, as nearly all do.
    func text(_ name: HTTPField.Name) -> String? {
        var found: String?
        for field in self where field.name == name {
            guard found == nil else { return self[name] }
            found = field.value
        }
        return found
    }

    /// Does `self[name] = value`. That builds an index by names first, which costs more than looking through the few
    /// fields that a response has.
    mutating func put(_ name: HTTPField.Name, _ value: String) {
        if contains(where: { $0.name == name }) {
            self[name] = value
        } else {
            append(HTTPField(name: name, value: value))
        }
    }
}
