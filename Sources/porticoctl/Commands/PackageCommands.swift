import ArgumentParser
import Foundation
import ValueTree

/// What every change of an installed adapter may say.
struct DeploymentOptions: ParsableArguments {
    @Flag(help: "Checks everything, and changes nothing.") var dryRun = false

    func body(_ more: WireDictionary = [:]) -> WireValue {
        var members = more
        members["dryRun"] = .bool(dryRun)
        return .dictionary(members)
    }

    func show(_ report: WireValue, _ options: ConnectionOptions) throws {
        let printer = Printer(style: options.output)
        guard options.output != .json else { return try printer.show(report) }
        for sentence in report["data"]?.arrayValue ?? [] { try printer.reportDone(sentence.stringValue ?? "") }
        let name = [report["name"], report["version"]].compactMap { $0?.stringValue }.joined(separator: " ")
        try printer.reportDone(
            report["applied"]?.boolValue == true ? "\(name): done." : "\(name): nothing was changed.")
    }
}

/// What an operator accepts in a change that would lose something.
struct LossOption: ParsableArguments {
    @Flag(
        help: "Do it even if it hides stored values, as a roll-back may, or renames collections that devices sync.")
    var acceptLoss = false
}

/// A file `NAME-VERSION.adapter`, sent piece by piece.
struct PackageArgument: ParsableArguments {
    /// Bytes of a piece.
    private static let piece = 4 << 20

    @Argument(help: "The package: NAME-VERSION.adapter.") var file: String
    @OptionGroup var loss: LossOption

    func deploy(isUpgrade: Bool, _ deployment: DeploymentOptions, _ options: ConnectionOptions) async throws {
        guard let handle = FileHandle(forReadingAtPath: file) else {
            throw CommandError.unreadable(file, exitStatus: 2)
        }
        defer { try? handle.close() }
        let report = try await options.withConnection { connection in
            guard let upload = try await connection.post("/admin/v1/packages/uploads", [:])["upload"]?.stringValue
            else {
                throw CommandError("The gateway takes no packages.")
            }
            let path = "/admin/v1/packages/uploads/\(upload.asPathSegment)"
            var offset = 0
            while let bytes = try handle.read(upToCount: Self.piece), !bytes.isEmpty {
                try await connection.post(
                    "\(path)?at=\(offset)", file: Array(bytes), type: "application/octet-stream")
                offset += bytes.count
            }
            return try await connection.post(
                "/admin/v1/packages",
                deployment.body([
                    "upload": .string(upload), "upgrade": .bool(isUpgrade), "acceptLoss": .bool(loss.acceptLoss),
                ]))
        }
        try deployment.show(report, options)
    }
}

struct InstallAdapter: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "install", abstract: "Installs a package: starts, checks and serves its adapter.",
        discussion: """
            The adapter stays installed when the gateway is restarted. Its options are below adapters.NAME of the configuration, \
            as for every adapter: write them there first.
            """)

    @OptionGroup var options: ConnectionOptions
    @OptionGroup var package: PackageArgument
    @OptionGroup var deployment: DeploymentOptions

    func run() async throws { try await package.deploy(isUpgrade: false, deployment, options) }
}

struct UpgradeAdapter: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "upgrade",
        abstract: "Replaces an installed adapter by a newer version, without a failed request.",
        discussion: """
            The new version starts beside the one that serves. If it does not start, or the tables cannot follow it, nothing \
            changes. If its program crashes within packages.probation, the gateway rolls back to the version before.
            """)

    @OptionGroup var options: ConnectionOptions
    @OptionGroup var package: PackageArgument
    @OptionGroup var deployment: DeploymentOptions

    func run() async throws { try await package.deploy(isUpgrade: true, deployment, options) }
}

struct RollbackAdapter: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rollback", abstract: "Replaces an installed adapter by the version before.",
        discussion:
            "If that would hide stored values, names the fields and changes nothing without --accept-loss.")

    @OptionGroup var options: ConnectionOptions
    @Argument(help: "The adapter's name.") var name: String
    @OptionGroup var deployment: DeploymentOptions
    @OptionGroup var loss: LossOption
    @OptionGroup var confirmation: Confirmation

    func run() async throws {
        if !deployment.dryRun { try confirmation.ask("Go back to the version before?") }
        let report = try await options.withConnection {
            try await $0.post(
                "/admin/v1/packages/\(name.asPathSegment)/rollback",
                deployment.body(["acceptLoss": .bool(loss.acceptLoss)]))
        }
        try deployment.show(report, options)
    }
}

struct RemoveAdapter: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Removes an installed adapter with all its versions; its tables are kept.",
        discussion: "Take its options out of the configuration first: afterwards they are unknown keys.")

    @OptionGroup var options: ConnectionOptions
    @Argument(help: "The adapter's name.") var name: String
    @OptionGroup var deployment: DeploymentOptions
    @OptionGroup var confirmation: Confirmation

    func run() async throws {
        if !deployment.dryRun { try confirmation.ask("Remove the adapter \(name)?") }
        let report = try await options.withConnection {
            try await $0.post("/admin/v1/packages/\(name.asPathSegment)/remove", deployment.body())
        }
        try deployment.show(report, options)
    }
}

struct RestartAdapter: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restart",
        abstract: "Replaces the running instance of an adapter by a new one, without a failed request.")

    @OptionGroup var options: ConnectionOptions
    @Argument(help: "The adapter's name.") var name: String
    @OptionGroup var deployment: DeploymentOptions

    func run() async throws {
        let report = try await options.withConnection {
            try await $0.post("/admin/v1/adapters/\(name.asPathSegment)/restart", deployment.body())
        }
        try deployment.show(report, options)
    }
}

struct InstalledPackages: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "packages", abstract: "Lists the adapters that were installed as packages.")

    @OptionGroup var options: ConnectionOptions

    func run() async throws {
        try await options.show(
            "/admin/v1/packages",
            columns: ["name", "version", "previous", "rollbackReason", "problem"], list: "packages")
    }
}
