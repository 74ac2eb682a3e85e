/// One change of one record of a mirror, to be made in the other system.
public struct MirrorChange: Sendable, Equatable {
    /// A kind of change.
    public enum Kind: String, Sendable, CaseIterable {
        /// The record is new.
        case create
        /// The named fields change, the others stay.
        case update
        /// Every field is set; the record may be new.
        case replace
        /// The record goes.
        case delete
    }

    /// The entity that is mirrored.
    public let entity: EntityName
    /// The record.
    public let id: RecordID
    /// The kind of the change.
    public let operation: Kind
    /// The fields that change; all that callers give, of a new or replaced record; none of a deleted one.
    public let fields: WireDictionary
    /// All fields before the change, as far as they are known here; nil: there was no such record.
    public let before: WireDictionary?
    /// Names the change, in whatever way it is sent: `Idempotency-Key`.
    public let idempotencyKey: String
    /// Whether the other system makes a change once however often it gets its key. Where it does not, the change is to be
    /// sent once: an ``UpstreamRequest/isIdempotent`` that is true would have it sent again.
    public let mayRepeat: Bool
    /// Whether its author changes the record only as it is in ``before``. An adapter that can read the record reads it first
    /// and does not make the change where the other system has it in another state (``refusal(over:_:in:)``).
    public let isConditional: Bool

    /// Creates a change with these values.
    public init(
        _ entity: EntityName, _ id: RecordID, _ operation: Kind, fields: WireDictionary = [:],
        before: WireDictionary? = nil, idempotencyKey: String, mayRepeat: Bool, isConditional: Bool = false
    ) {
        self.entity = entity
        self.id = id
        self.operation = operation
        self.fields = fields
        self.before = before
        self.idempotencyKey = idempotencyKey
        self.mayRepeat = mayRepeat
        self.isConditional = isConditional
    }

    /// All fields after the change; nil: there is no record any more.
    public var after: WireDictionary? {
        switch operation {
        case .create, .replace: return fields
        case .update:
            var after = before ?? [:]
            for field in fields { after[field.key] = field.value }
            return after
        case .delete: return nil
        }
    }
}

/// Another system's response to a change.
public enum MirrorWriteResult: Sendable, Equatable {
    /// Made. The record as the other system has it now; nil: it did not say.
    case stored(WireDictionary?)
    /// Refused for good: it would be refused again. The sentence may be shown to callers.
    case refused(ErrorCode, String)
    /// Not made, and it may be sent again later. The detail is for operators.
    case notMade(String)
    /// It cannot be known whether it was made. The detail is for operators.
    case unknown(String)
}

/// One record as another system has it.
public enum MirrorRecord: Sendable, Equatable {
    /// The record's fields.
    case found(WireDictionary)
    /// There is no such record.
    case absent
    /// It cannot be asked for one record.
    case unavailable
}

extension MirrorWriteResult {
    /// Reads the status of an answer to a change (RFC 9110, section 15).
    ///
    /// 401, 407, 425, 429 and 503 say that nothing was done. 408, a redirect and every other error of the server say
    /// nothing. Other errors of the client refuse the change for good.
    public init(_ response: UpstreamResponse, of upstream: UpstreamName) {
        let status = response.status
        let detail = "\(response.address.logged) answered \(status)"
        switch status {
        case 200..<300: self = .stored(nil)
        case 401, 407, 425, 429, 503: self = .notMade(detail)
        case 403: self = .refused(.accessDenied, "The system \(upstream) does not allow the change.")
        case 404, 410: self = .refused(.recordNotFound, "The system \(upstream) has no such record.")
        case 409, 412: self = .refused(.recordConflict, "The system \(upstream) has the record in another state.")
        case 400..<500 where status != 408:
            self = .refused(.requestInvalid, "The system \(upstream) refused the change (\(status)).")
        default: self = .unknown(detail)
        }
    }

    /// Reads the answer to a change whose author names the state of the record (``MirrorChange/isConditional``), to which 412 says that it is
    /// another one.
    public init(_ response: UpstreamResponse, to change: MirrorChange, of upstream: UpstreamName) {
        self = change.isConditional && response.status == 412 ? .outdated(upstream) : Self(response, of: upstream)
    }

    static func outdated(_ upstream: UpstreamName) -> MirrorWriteResult {
        .refused(
            .preconditionFailed, "The system \(upstream) has the record in another state than the one that is named.")
    }

    /// A refusal with the other system's own words, for the author of the change; any other result as it is.
    ///
    /// Of the words 300 characters are kept, in one line, without what controls a terminal or turns the direction of text.
    public func quoting(_ words: String?) -> MirrorWriteResult {
        guard case .refused(let code, let message) = self, let shown = words?.asWordsOfAnother else { return self }
        return .refused(code, "\(message) It says: \(shown)")
    }

    /// Reads the error of a change that an adapter was to make: only where nothing can have been sent, it was not made.
    public init(_ error: any Error) {
        switch error {
        case let failure as UpstreamFailure where failure.kind.sentNothing: self = .notMade("\(failure)")
        case let error as PorticoError where error.code == .adapterUnavailable: self = .notMade("\(error)")
        default: self = .unknown("\(error)")
        }
    }
}

extension UpstreamFailure.Kind {
    /// Whether the other system cannot have got the request, where it was tried once.
    var sentNothing: Bool {
        switch self {
        case .destinationRefused, .unreachable, .overloaded, .circuitOpen, .credentialsRefused, .signInRequired: true
        case .redirectRefused, .broken, .timedOut, .answerTooLarge, .cancelled: false
        }
    }
}

extension String {
    /// The first 300 characters of what another system says, in one line, without what controls a terminal or turns the
    /// direction of text. Nil where nothing is left.
    var asWordsOfAnother: String? {
        var shown = ""
        var isGap = false
        for scalar in unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .spaceSeparator, .privateUse, .unassigned:
                isGap = !shown.isEmpty
                continue
            default: break
            }
            if isGap { shown.append(" ") }
            isGap = false
            shown.unicodeScalars.append(scalar)
            // A letter may have any number of marks.
            if shown.unicodeScalars.count >= 300 {
                shown.append("…")
                break
            }
        }
        return shown.isEmpty ? nil : shown
    }
}
