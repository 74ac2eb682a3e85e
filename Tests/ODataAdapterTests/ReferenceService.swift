import AdapterKit
import Foundation
import MemoryStore
import ODataReference
import RecordStorage
import SQLiteStore
import Synchronization
import Testing
import WireFormats

@testable import ODataAdapter

/// Which store is below the adapter: every test is run on each.
enum StoreKind: String, CaseIterable, Sendable {
    case memory, sqlite
}

/// The OData adapter with the reference model and its seed (`Config/odata`), without a gateway: requests in, responses
/// out. Errors become responses as in the gateway.
final class ReferenceService: Sendable {
    static let version4 = "/odata/v4/reference/"
    static let version2 = "/odata/v2/reference/"
    static let origin = "https://portico.example"

    let clock = TestClock()
    private let adapter: any Adapter
    private let declaration: AdapterDeclaration
    private let store: any Store
    private let folder: TemporaryFolder

    /// `settings` are those of the service, `limits` those of the adapter.
    init(_ kind: StoreKind, settings: WireDictionary = [:], limits: WireDictionary = [:]) async throws {
        folder = try TemporaryFolder()
        let configuration = AdapterConfiguration(
            ["services": ["reference": .dictionary(Self.settings(adding: settings))], "limits": .dictionary(limits)],
            directory: Self.models)
        declaration = try ODataModule.declare(configuration)
        adapter = try ODataModule.make(configuration)
        store =
            switch kind {
            case .memory: MemoryStore(clock: clock)
            case .sqlite: try SQLiteStore(SQLiteStoreSettings(path: folder.path("store.sqlite"), clock: clock))
            }
        try await store.install(declaration.entities.map { CollectionDeclaration(adapter: "odata", entity: $0) })
        let operations = try ODataReferenceModule.make(
            AdapterConfiguration(["seed": "reference.seed.json"], directory: Self.models)
        ).serviceOperations
        try await adapter.start(
            AdapterContext(
                records: AdapterRecords(store: store, declaration: declaration), accounts: NoAccounts(),
                log: .discarding, clock: clock, serviceOperations: operations, scratch: folder))
    }

    private static let models = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Config/odata").path

    private static func settings(adding more: WireDictionary) -> WireDictionary {
        var settings: WireDictionary = [
            "model": "reference.csdl.xml", "seed": "reference.seed.json", "access": "public",
            "search": ["Products/Name", "ProductDescriptions/Description"], "unique": ["Categories/Name"],
            "discriminators": ["Products/ProductType"],
        ]
        for member in more { settings[member.key] = member.value }
        return settings
    }

    /// `target` is below the root, or an absolute address that a response had.
    func send(
        _ method: String, _ target: String, body: [UInt8] = [], headers: MountHeaders = [:],
        root: String = version4, as caller: Principal = .anonymous
    ) async throws -> ServiceResponse {
        let path =
            target.hasPrefix(Self.origin) ? String(target.dropFirst(Self.origin.count)) : root + Self.encoded(target)
        let mount = try #require(
            declaration.mounts.first { path.hasPrefix($0.path.description) || path == $0.path.description })
        let records = AdapterRecords(store: store, declaration: declaration, principal: caller)
        let request = MountRequest(
            mount: mount.name, method: method, target: path, origin: Self.origin, headers: headers, body: body,
            caller: caller, requestID: "r1", deadline: .now + .seconds(60), records: records, log: .discarding)
        do {
            return try await ServiceResponse(adapter.handle(request))
        } catch let error as PorticoError {
            let failure = MountFailure(
                mount: mount.name, method: method, target: path, headers: headers, requestID: "r1")
            let answer = adapter.errorResponse(for: error, status: BatchFailure.status(error.code), to: failure)
            return try await ServiceResponse(#require(answer))
        }
    }

    /// With a JSON body.
    func send(
        _ method: String, _ target: String, _ value: WireValue, headers: MountHeaders = [:], root: String = version4
    ) async throws -> ServiceResponse {
        var headers = headers
        headers["Content-Type"] = headers["Content-Type"] ?? "application/json"
        return try await send(method, target, body: JSONFormat().write(value), headers: headers, root: root)
    }

    /// The operators' import of rows: what it answers.
    func load(
        _ rows: WireValue, into set: String, mode: String = "append", service: String = "reference",
        more: WireDictionary = [:]
    ) async throws -> WireValue {
        var input: WireDictionary = [
            "service": .string(service), "set": .string(set), "rows": rows, "mode": .string(mode),
        ]
        for member in more { input[member.key] = member.value }
        let call = Call(
            operation: "import", input: input, caller: .system, requestID: "r1", deadline: .now + .seconds(60),
            records: AdapterRecords(store: store, declaration: declaration), log: .discarding)
        guard case .value(let value) = try await adapter.handle(call).content else { return .null }
        return value
    }

    func get(_ target: String, _ headers: MountHeaders = [:], root: String = version4) async throws -> ServiceResponse {
        try await send("GET", target, headers: headers, root: root)
    }

    /// The entities that a request for a collection answers.
    func rows(_ target: String, _ headers: MountHeaders = [:]) async throws -> [WireValue] {
        let answer = try await get(target, headers)
        return try #require(answer.json["value"]?.arrayValue, "\(target): \(answer)")
    }

    /// One property of each of them.
    func column(_ name: String, of target: String) async throws -> [WireValue] {
        try await rows(target).map { $0[name] ?? .null }
    }

    func names(_ target: String) async throws -> [String] {
        try await column("Name", of: target).compactMap(\.stringValue)
    }

    /// `Products(…)` of the product with this name.
    func product(_ name: String) async throws -> String {
        "Products(\(try await key(of: name, in: "Products")))"
    }

    func key(of name: String, in set: String) async throws -> String {
        let rows = try await rows("\(set)?$filter=Name eq '\(name)'&$select=ID")
        return try #require(rows.first?["ID"]?.stringValue)
    }

    private static func encoded(_ text: String) -> String {
        text.utf8.map { byte in
            let isPlain = byte > 0x20 && byte < 0x7F && !"+^{}\"<>|\\`[]#".utf8.contains(byte)
            return isPlain ? String(Unicode.Scalar(byte)) : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
    }
}

/// A response with its body collected.
struct ServiceResponse: CustomStringConvertible {
    let status: Int
    let headers: MountHeaders
    let body: [UInt8]
    /// Whether the body was streamed.
    let isStream: Bool

    init(_ response: MountResponse) async throws {
        (status, headers) = (response.status, response.headers)
        switch response.body {
        case .bytes(let bytes): (body, isStream) = (bytes, false)
        case .stream(let pieces):
            var bytes: [UInt8] = []
            while let piece = try await pieces.next() { bytes += piece }
            (body, isStream) = (bytes, true)
        }
    }

    var text: String { String(decoding: body, as: UTF8.self) }
    /// Null where the body is no JSON.
    var json: WireValue { (try? JSONFormat().read(body)) ?? .null }
    /// The message of an error of version 4.
    var error: String { json["error"]?["message"]?.stringValue ?? "" }

    var description: String { "\(status) \(text.prefix(400))" }
}

extension WireValue {
    /// The member's name without a control information's prefix.
    var members: Set<String> { Set(dictionaryValue?.keys ?? []) }
}

/// Stands still until it is set.
final class TestClock: WallClock {
    func now() -> WireDate { WireDate(secondsSince1970: 1_767_225_600) }
}

private struct NoAccounts: AccountLookup {
    func account(named name: String) async throws -> AccountSummary? { nil }
    func accounts(after name: String?, limit: Int) async throws -> [AccountSummary] { [] }
}

/// A folder for one service's files, removed with it.
private final class TemporaryFolder: ScratchStorage {
    private let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appending(path: "odata-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    func path(_ name: String) -> String { url.appending(path: name).path }
    func create() throws -> any ScratchFile { MemoryFile() }
}

private final class MemoryFile: ScratchFile {
    private let bytes = Mutex<[UInt8]>([])

    func append(_ more: [UInt8]) throws { bytes.withLock { $0 += more } }

    func contents() throws -> any ByteStream {
        let pieces = BufferedChunks()
        pieces.send(bytes.withLock { $0 })
        return pieces
    }
}
