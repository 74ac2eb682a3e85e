import AdapterKit

/// What a worker says of itself in its response to `hello`.
public struct HelloResponse: MessageValue {
    /// The version of the protocol that both sides speak from now on.
    public let version: Int
    /// The adapter's name.
    public let name: AdapterName
    /// The version of the adapter's program.
    public let program: String
    /// What the worker was built with.
    public let sdk: String
    /// The keys below `adapters.{name}` that the adapter understands.
    public let options: [ConfigurationOption]

    /// Creates a response with these values.
    public init(version: Int, name: AdapterName, program: String, sdk: String, options: [ConfigurationOption]) {
        self.version = version
        self.name = name
        self.program = program
        self.sdk = sdk
        self.options = options
    }

    public var message: WireValue {
        .map(
            ("version", version.message), ("name", name.message), ("program", program.message), ("sdk", sdk.message),
            ("options", options.message))
    }

    public init(message: WireValue) throws {
        let map = try MessageMap(message)
        self.init(
            version: try map("version"), name: try map("name"), program: try map("program", default: ""),
            sdk: try map("sdk", default: ""), options: try map("options", default: []))
    }
}

/// What an adapter offers with one configuration: the response to `declare`.
public struct DeclareResponse: MessageValue {
    /// The declaration, without rules.
    public let declaration: AdapterDeclaration
    /// Whether the adapter has rules for its records, which are asked as questions.
    public let hasRules: Bool
    /// Its rules' ``RecordRules/maximumFirst``. Nil: ``PreparedChange/maximumFirst``.
    public let maximumFirst: Int?
    /// The names of each of its ``Adapter/serviceOperations``.
    public let services: [[String]]
    /// Records to show it with.
    public let samples: [SampleRecords]
    /// The mounts whose error responses it shapes.
    public let shapedErrors: [OperationName]
    /// Whether it answers `shapeError`, which the first workers do not.
    public let answersErrors: Bool
    /// Whether it takes `activate` and `drain`: what it does beside its calls begins and ends with them.
    public let worksBesideCalls: Bool

    /// Creates a response with these values.
    public init(
        declaration: AdapterDeclaration, hasRules: Bool, maximumFirst: Int? = nil, services: [[String]],
        samples: [SampleRecords], shapedErrors: [OperationName], answersErrors: Bool,
        worksBesideCalls: Bool
    ) {
        self.declaration = declaration
        self.hasRules = hasRules
        self.maximumFirst = maximumFirst
        self.services = services
        self.samples = samples
        self.shapedErrors = shapedErrors
        self.answersErrors = answersErrors
        self.worksBesideCalls = worksBesideCalls
    }

    public var message: WireValue {
        .map(
            ("declaration", declaration.message), ("hasRules", hasRules.message),
            ("maximumFirst", maximumFirst?.message), ("services", services.message),
            ("samples", samples.message), ("shapedErrors", shapedErrors.message),
            ("answersErrors", answersErrors.message), ("worksBesideCalls", worksBesideCalls.message))
    }

    public init(message: WireValue) throws {
        let map = try MessageMap(message)
        self.init(
            declaration: try map("declaration"), hasRules: try map("hasRules", default: false),
            maximumFirst: try map.optional("maximumFirst"),
            services: try map("services", default: []), samples: try map("samples", default: []),
            shapedErrors: try map("shapedErrors", default: []),
            answersErrors: try map("answersErrors", default: false),
            worksBesideCalls: try map("worksBesideCalls", default: false))
    }
}

/// A system that the adapter may call, as the worker knows it.
public struct UpstreamDescription: MessageValue, Sendable {
    /// The name of the upstream in the configuration.
    public let name: UpstreamName
    /// The configured address.
    public let url: UpstreamAddress
    /// Whether calls are made in a caller's name.
    public let actsForCallers: Bool

    /// Creates a description with these values.
    public init(name: UpstreamName, url: UpstreamAddress, actsForCallers: Bool) {
        self.name = name
        self.url = url
        self.actsForCallers = actsForCallers
    }

    public var message: WireValue {
        .map(("name", name.message), ("url", url.message), ("actsForCallers", actsForCallers.message))
    }

    public init(message: WireValue) throws {
        let map = try MessageMap(message)
        self.init(name: try map("name"), url: try map("url"), actsForCallers: try map("actsForCallers"))
    }
}

/// What an adapter is started with: the parameters of `start`.
public struct StartParameters: MessageValue, Sendable {
    /// The name of the upstream of `adapters.{name}.upstream`.
    public let upstream: UpstreamName?
    /// All that it may call.
    public let upstreams: [UpstreamDescription]
    /// The push services that are configured.
    public let platforms: [PushPlatform]

    /// Creates parameters with these values.
    public init(upstream: UpstreamName?, upstreams: [UpstreamDescription], platforms: [PushPlatform]) {
        self.upstream = upstream
        self.upstreams = upstreams
        self.platforms = platforms
    }

    public var message: WireValue {
        .map(("upstream", upstream?.message), ("upstreams", upstreams.message), ("platforms", platforms.message))
    }

    public init(message: WireValue) throws {
        let map = try MessageMap(message)
        self.init(
            upstream: try map.optional("upstream"), upstreams: try map("upstreams", default: []),
            platforms: try map("platforms", default: []))
    }
}

/// The request that is being answered, as far as the adapter needs to know it. The time that is left crosses instead of the deadline.
public struct ContextValues: MessageValue, Sendable {
    /// The context.
    public let context: CallContext

    /// Wraps a context.
    public init(_ context: CallContext) { self.context = context }

    public var message: WireValue {
        .map(
            ("left", (context.deadline - .now).message), ("requestID", context.requestID.message),
            ("traceParent", context.traceParent?.message), ("traceState", context.traceState?.message))
    }

    public init(message: WireValue) throws {
        let map = try MessageMap(message)
        self.init(
            CallContext(
                deadline: .now + (try map("left")), requestID: try map("requestID"),
                traceParent: try map.optional("traceParent"), traceState: try map.optional("traceState")))
    }
}
