/// Something an adapter can be asked to do.
///
/// It is reached by its bindings; one without any has the path `/api/v1/{adapter}/operations/{name}`.
public struct Operation: Sendable, Equatable {
    public let name: OperationName
    public let summary: String
    public let effect: Effect
    /// Whether doing it twice is the same as once, so that a call may be repeated after a failure.
    public let isIdempotent: Bool
    public let input: ObjectShape
    public let output: Shape
    /// The media type of a document that is answered instead of a value of `output`; nil: a value.
    public let documentType: String?
    public let admission: Admission
    /// In addition to the adapter's access; nil: that alone.
    public let access: Access?
    /// How long it may take; nil: the gateway's request deadline.
    public let deadline: Duration?
    public let answers: CacheLifetime
    public let audience: Audience
    public let bindings: [HTTPBinding]

    public init(
        _ name: OperationName, summary: String, effect: Effect, isIdempotent: Bool? = nil,
        input: ObjectShape? = nil, output: Shape, documentType: String? = nil, admission: Admission = .byAccess,
        access: Access? = nil, deadline: Duration? = nil,
        answers: CacheLifetime = .once, audience: Audience = .callers, bindings: [HTTPBinding] = []
    ) {
        self.name = name
        self.summary = summary
        self.effect = effect
        self.isIdempotent = isIdempotent ?? (effect == .reads)
        self.input = input ?? ObjectShape("\(name.text)Input", members: [])
        self.output = output
        self.documentType = documentType
        self.admission = admission
        self.access = access
        self.deadline = deadline
        self.answers = answers
        self.audience = audience
        self.bindings = bindings
    }
}

/// Who decides whether a caller may make a call.
public enum Admission: Sendable, Equatable {
    /// The adapter's access, and the operation's own where it has one, before the operation is asked.
    case byAccess
    /// The operation, by what it is asked for: every caller gets as far as the adapter, which throws `auth.required` or
    /// `access.denied` (``Access/admit(_:effect:)``). Its decision depends on whether the caller is anonymous and on the
    /// roles alone, so that an answer may be kept for callers of the same roles.
    case byOperation
}

/// How long an answer stays true.
public enum CacheLifetime: Sendable, Equatable {
    /// Not at all: every call is made.
    case once
    /// Until any record of this adapter changes, for every caller that may call at all: the answer depends on the input
    /// and the adapter's records alone.
    case untilRecordsChange
}

/// Who an operation is for.
public enum Audience: Sendable, Equatable {
    /// Whoever the access lets in, over the gateway.
    case callers
    /// Operators, over the admin socket only.
    case operators
}
