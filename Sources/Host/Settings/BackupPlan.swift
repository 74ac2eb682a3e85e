import AdapterKit
import Backups
import Foundation
import Gateway
import HostConfiguration
import RecordStorage
import ServiceLifecycle
import Upstream

/// Where backups go and when they are made: what is configured below `backups`.
struct BackupPlan {
    /// Of the data directory.
    private static let workFolderName = "backups"

    private enum Place {
        case folder(FolderTarget)
        case objectStorage(S3Place, UpstreamName)
    }

    let settings: BackupSettings
    private let place: Place

    /// Nil where `backups.target` is left out. Throws ``ConfigurationErrors``.
    init?(
        _ resolved: ResolvedConfiguration, _ upstreams: [UpstreamName: UpstreamPlan], data: URL, directory: String
    ) throws {
        let values = SettingValues(resolved)
        func wrong(_ key: String, _ message: String) -> ConfigurationErrors {
            ConfigurationErrors([
                ConfigurationError(message, at: resolved.location(of: key) ?? .commandLine(key))
            ])
        }
        let below = resolved.settings(below: "backups.target").map { $0.path.joined(separator: ".") }
        let asksForStorage = below.contains { $0.hasPrefix("s3.") && $0 != "s3.region" && $0 != "s3.prefix" }
        if let text = resolved["backups.target.folder"]?.text, !text.isEmpty {
            guard !asksForStorage else {
                throw wrong("backups.target.folder", "Backups go to a folder or to S3, not to both.")
            }
            let base = URL(fileURLWithPath: directory, isDirectory: true)
            let path = URL(fileURLWithPath: text, relativeTo: base).standardizedFileURL.path
            let own = data.standardizedFileURL.path
            guard path != own, !path.hasPrefix(own + "/") else {
                throw wrong("backups.target.folder", "A folder of the data directory is lost with it.")
            }
            place = .folder(FolderTarget(path))
        } else if asksForStorage {
            let section = SectionValues("backups.target.s3", resolved)
            let upstream = try section.upstream(in: upstreams)
            guard !upstream.actsForCallers else {
                throw section.wrong(
                    "upstream", "This upstream is called in its callers' names, and backups have no caller.")
            }
            let location = S3Place(
                bucket: try section.text("bucket"), region: try section.text("region"),
                prefix: section["prefix"]?.text ?? "", accessKey: try section.secret("accessKey"),
                secretKey: try section.secret("secretKey"))
            guard let location else {
                throw section.wrong(
                    "bucket", "Bucket, region and prefix have letters, digits, hyphens, underscores and full stops.")
            }
            place = .objectStorage(location, upstream.settings.name)
        } else {
            return nil
        }
        guard let schedule = BackupSchedule(values.text("backups.schedule")) else {
            throw wrong(
                "backups.schedule",
                "Here stands how often, such as 12h or 1d, or a time of the day in UTC, such as 03:30.")
        }
        settings = BackupSettings(
            schedule: schedule, keep: values.integer("backups.keep"),
            interval: max(values.duration("backups.interval"), .milliseconds(200)),
            waiting: Int64(values.size("backups.waiting")), work: data.appendingPathComponent(Self.workFolderName).path)
    }

    /// `upstreams`: with their credentials.
    func target(_ upstreams: [UpstreamName: any AdapterKit.Upstream]) throws -> any BackupTarget {
        switch place {
        case .folder(let folder): return folder
        case .objectStorage(let location, let name):
            guard let upstream = upstreams[name] else {
                throw HostCommandError("backups.target.s3: there is no upstream \(name).")
            }
            return S3Target(location, through: upstream, clock: SystemClock())
        }
    }

    /// Why no backup can be made, as far as that is known without asking another system; nil: nothing is known.
    var warning: String? {
        guard case .folder(let folder) = place else { return nil }
        do {
            try folder.check()
            return nil
        } catch {
            return "backups: " + ((error as? PorticoError)?.message ?? "\(error)")
        }
    }
}

/// Makes backups while the gateway runs.
struct BackupLoopService: Service {
    let backups: BackupService

    func run() async throws {
        await cancelWhenGracefulShutdown { await backups.run() }
    }
}

/// Backups as operators see them at the admin socket.
struct GatewayBackups: BackupControl {
    let service: BackupService
    let target: String

    func status() -> WireValue {
        let figures = service.figures
        func time(_ seconds: Double?) -> WireValue {
            seconds.map { .date(WireDate(secondsSince1970: $0).cut(toFractionDigits: 0)) } ?? .null
        }
        return [
            "target": .string(target), "state": time(figures.state), "copy": time(figures.copy),
            "copies": .int64(Int64(figures.verifiedCopies)),
            "problem": figures.problem.map { .string($0) } ?? .null,
        ]
    }

    func copies() async throws -> [WireValue] {
        try await service.copies().map { copy in
            guard let manifest = copy.manifest else {
                return [
                    "name": .string(copy.name.text), "verified": false,
                    "problem": copy.problem.map { .string($0) } ?? .null,
                ]
            }
            return .dictionary(manifest.members(isVerified: copy.isVerified))
        }
    }

    func makeCopy() async throws -> WireValue {
        .dictionary(try await service.makeCopyNow().members(isVerified: true))
    }

    func verify(_ name: String?) async throws -> WireValue {
        let found = try await service.verify(copyNamed: name)
        var members = found.manifest.members(isVerified: true)
        members["position"] = .int64(found.summary.position.number)
        members["missingPiece"] = found.database.missing.map { .int64($0) } ?? .null
        return .dictionary(members)
    }
}
