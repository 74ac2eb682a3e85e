import AdapterKit
import HTTPTypes
import Identity
import ValueTree

/// The adapters that operators install as packages while the gateway serves.
///
/// Every change throws `request.invalid` for a package that is refused, `record.notFound` for what is not there,
/// `record.conflict` where what is there stands against it, and `record.preconditionFailed` where it would hide what is
/// stored and the operator has not accepted that. It has changed nothing then.
public protocol AdapterDeployment: Sendable {
    /// The packages that are installed.
    func packages() async throws -> [InstalledPackage]

    /// Begins an upload, and returns its name.
    func beginUpload() async throws -> String

    /// Adds the piece of an upload that begins at an offset, and returns how many bytes are there.
    func append(_ bytes: [UInt8], at offset: Int, to upload: String) async throws -> Int

    /// Starts the adapter of an uploaded package, checks it, and gives it the traffic. `isUpgrade`: in the place of another
    /// version; otherwise there must be none. The upload is removed.
    func install(_ upload: String, isUpgrade: Bool, _ request: DeploymentRequest) async throws -> DeploymentReport

    /// Gives the traffic to the version before.
    func rollBack(_ name: String, _ request: DeploymentRequest) async throws -> DeploymentReport

    /// Stops the adapter after its last call and removes its versions. Its tables stay.
    func remove(_ name: String, _ request: DeploymentRequest) async throws -> DeploymentReport

    /// Starts another instance, and stops the one before after its last call.
    func restart(_ name: String, _ request: DeploymentRequest) async throws -> DeploymentReport
}

/// An operator's wish about adapters.
public struct DeploymentRequest: Sendable {
    /// Everything is checked, and nothing changed.
    public let isDryRun: Bool
    /// Whether it may hide what is stored.
    public let acceptsLoss: Bool
    /// The operator.
    public let actor: Principal
    /// Where it comes from.
    public let address: String

    /// Takes these values.
    public init(isDryRun: Bool, acceptsLoss: Bool, actor: Principal, address: String) {
        self.isDryRun = isDryRun
        self.acceptsLoss = acceptsLoss
        self.actor = actor
        self.address = address
    }
}

/// The changes of adapters, made or proposed.
public struct DeploymentReport: Sendable {
    /// The adapter's name.
    public var name: String
    /// Nil: none is there any more, or it has none.
    public var version: String?
    /// The version before.
    public var previous: String?
    /// The key that signed the package.
    public var signer: String?
    /// The effects on what is stored, a sentence each.
    public var data: [String]
    /// False: it was only asked for.
    public var isApplied: Bool

    /// Takes these values.
    public init(
        name: String, version: String? = nil, previous: String? = nil, signer: String? = nil, data: [String] = [],
        isApplied: Bool = false
    ) {
        self.name = name
        self.version = version
        self.previous = previous
        self.signer = signer
        self.data = data
        self.isApplied = isApplied
    }
}

/// An adapter that was installed.
public struct InstalledPackage: Sendable {
    /// The adapter's name.
    public var name: String
    /// The version that is used; nil: it cannot be read.
    public var version: String?
    /// The version that a roll-back leads to.
    public var previous: String?
    /// Why the gateway itself has gone back from ``previous`` to ``version``; nil: it has not.
    public var rollbackReason: String?
    /// Why it is not used; nil: it is.
    public var problem: String?

    /// Takes these values.
    public init(
        name: String, version: String? = nil, previous: String? = nil, rollbackReason: String? = nil,
        problem: String? = nil
    ) {
        self.name = name
        self.version = version
        self.previous = previous
        self.rollbackReason = rollbackReason
        self.problem = problem
    }
}

/// `porticoctl adapters install`, `upgrade`, `rollback`, `remove`, `restart` and `packages`.
struct PackageRoutes: Sendable {
    /// Bytes of a piece of an upload.
    private static let piece = 8 << 20

    let deployment: any AdapterDeployment
    let services: GatewayServices

    private static let choices = [
        Member("dryRun", .bool, summary: "Checks everything and changes nothing."),
        Member("acceptLoss", .bool, summary: "What is stored may be hidden."),
    ]
    private static let change = ObjectShape("AdapterChange", members: choices)
    private static let installation = ObjectShape(
        "AdapterInstallation",
        members: [
            Member("upload", .string(maximumLength: 64), isRequired: true),
            Member("upgrade", .bool, summary: "In the place of another version."),
        ] + choices)

    func routes() -> [Route] {
        [
            Route(
                .get, "/admin/v1/packages",
                AdministrationEndpoint(
                    "packages.list", .read, "The adapters that were installed as packages.", services: services
                ) { _, _ in ["packages": .array(try await deployment.packages().map(Self.value))] }),
            Route(
                .post, "/admin/v1/packages/uploads",
                AdministrationEndpoint(
                    "packages.upload", .grant, "Begins the upload of a package.", services: services
                ) { _, _ in ["upload": .string(try await deployment.beginUpload())] }),
            Route(
                .post, "/admin/v1/packages/uploads/{upload}",
                PackagePieceEndpoint(deployment: deployment, services: services, limit: Self.piece)),
            Route(
                .post, "/admin/v1/packages",
                AdministrationEndpoint(
                    "packages.install", .grant, "Installs an uploaded package, or upgrades to it.",
                    input: Self.installation, services: services, isAwaited: false
                ) { request, input in
                    Self.value(
                        try await deployment.install(
                            input.text("upload"), isUpgrade: input["upgrade"]?.boolValue ?? false,
                            Self.request(request, input)))
                }),
            changing("packages/{name}/rollback", "packages.rollback", .grant, "Goes back to the version before.") {
                try await deployment.rollBack($0, $1)
            },
            changing("packages/{name}/remove", "packages.remove", .grant, "Removes an adapter that was installed.") {
                try await deployment.remove($0, $1)
            },
            changing(
                "adapters/{name}/restart", "adapters.restart", .change, "Starts another instance of an adapter."
            ) { try await deployment.restart($0, $1) },
        ]
    }

    private func changing(
        _ path: String, _ name: String, _ action: AdministrationAction, _ summary: String,
        _ body: @escaping @Sendable (String, DeploymentRequest) async throws -> DeploymentReport
    ) -> Route {
        Route(
            .post, PathTemplate(stringLiteral: "/admin/v1/\(path)"),
            AdministrationEndpoint(
                name, action, summary, input: Self.change, services: services, isAwaited: false
            ) { request, input in
                Self.value(try await body(request["name"], Self.request(request, input)))
            })
    }

    private static func request(_ request: AuthenticatedRequest, _ input: WireDictionary) -> DeploymentRequest {
        DeploymentRequest(
            isDryRun: input["dryRun"]?.boolValue ?? false, acceptsLoss: input["acceptLoss"]?.boolValue ?? false,
            actor: request.caller.principal, address: request.request.peer)
    }

    private static func text(_ text: String?) -> WireValue { text.map { .string($0) } ?? .null }

    private static func value(_ package: InstalledPackage) -> WireValue {
        [
            "name": .string(package.name), "version": text(package.version), "previous": text(package.previous),
            "rollbackReason": text(package.rollbackReason), "problem": text(package.problem),
        ]
    }

    private static func value(_ report: DeploymentReport) -> WireValue {
        [
            "name": .string(report.name), "version": text(report.version), "previous": text(report.previous),
            "signer": text(report.signer), "data": .array(report.data.map { .string($0) }),
            "applied": .bool(report.isApplied),
        ]
    }
}

/// `POST /admin/v1/packages/uploads/{upload}?at=OFFSET`: a piece of a package.
private struct PackagePieceEndpoint: Endpoint {
    let deployment: any AdapterDeployment
    let services: GatewayServices
    let limit: Int

    var properties: EndpointProperties {
        EndpointProperties(
            name: "admin.packages.upload.piece", access: .login, effect: .writes, bodyLimit: limit,
            adminRole: AdministrationAction.grant.role, isAudited: false)
    }

    let description = EndpointDescription(summary: "Adds a piece to an upload.", tag: "Administration")

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        guard let offset = try request.request.target.number("at", in: 0...Int.max) else {
            throw PorticoError(.requestInvalid, "at is where the piece begins, in bytes.", target: "at")
        }
        let bytes = try await services.bodies.bytes(of: request.request, limit: limit)
        let received = try await deployment.append(bytes, at: offset, to: request["upload"])
        return try services.encoder.write(
            ["received": .int64(Int64(received))], to: request.request, presentation: Presentation(), validators: nil,
            isDone: true)
    }
}
