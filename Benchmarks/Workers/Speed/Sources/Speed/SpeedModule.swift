import AdapterKit
import Synchronization

/// An adapter that answers at once, so that what a call costs is the way to it and back.
public enum SpeedModule: AdapterModule {
    public static let name: AdapterName = "speed"

    public static func declare(_ configuration: AdapterConfiguration) throws -> AdapterDeclaration {
        AdapterDeclaration(
            name: name, title: "Speed", summary: "Answers at once.", version: "1", access: .public,
            operations: [
                Operation(
                    "small", summary: "A row of 300 bytes.", effect: .reads, input: question, output: .object(row)),
                Operation(
                    "large", summary: "Rows of 100 KB.", effect: .reads, input: question,
                    output: .list(of: .object(row))),
            ],
            mounts: [
                HTTPMount(
                    "bytes", summary: "Bytes, whole or as a stream.", path: "/speed", methods: ["GET"],
                    mediaType: "text/plain")
            ])
    }

    public static func make(_ configuration: AdapterConfiguration) throws -> any Adapter { SpeedAdapter() }

    private static let question = ObjectShape("Question", members: [Member("id", .string), Member("text", .string)])

    private static let row = ObjectShape(
        "Row",
        members: [
            Member("id", .integer), Member("firstName", .string), Member("lastName", .string),
            Member("department", .string), Member("email", .string), Member("phone", .string), Member("room", .string),
            Member("isManager", .bool), Member("salary", .double), Member("since", .date), Member("summary", .string),
        ])
}

struct SpeedAdapter: Adapter {
    private let small: WireValue = .dictionary(Self.row(1))
    private let large: WireValue = .array((0..<340).map { .dictionary(Self.row($0)) })
    private let smallBytes = [UInt8](repeating: 0x78, count: 300)
    private let largeBytes = [UInt8](repeating: 0x78, count: 100_000)

    /// About 300 bytes as JSON.
    private static func row(_ number: Int) -> WireDictionary {
        [
            "id": .int64(Int64(number)), "firstName": "Grace", "lastName": "Hopper", "department": "Engineering",
            "email": "grace.hopper@example.com", "phone": "+1 555 0100", "room": "B-210", "isManager": true,
            "salary": 123_456.78, "since": .date(WireDate(secondsSince1970: 1_700_000_000)),
            "summary": .string(String(repeating: "x", count: 60)),
        ]
    }

    func handle(_ call: Call) async throws -> OperationResult { .value(call.operation == "large" ? large : small) }

    func handle(_ request: MountRequest) async throws -> MountResponse {
        let body: MountResponse.Body =
            switch request.target {
            case "/speed/small": .bytes(smallBytes)
            case "/speed/large": .bytes(largeBytes)
            default: .stream(Pieces(of: largeBytes))
            }
        return MountResponse(200, headers: ["Content-Type": "text/plain"], body: body)
    }
}

/// Bytes in pieces of 16 KiB.
final class Pieces: ByteStream {
    private let rest: Mutex<ArraySlice<UInt8>>

    init(of bytes: [UInt8]) { rest = Mutex(bytes[...]) }

    func next() async throws -> [UInt8]? {
        rest.withLock { rest in
            guard !rest.isEmpty else { return nil }
            defer { rest = rest.dropFirst(16 << 10) }
            return Array(rest.prefix(16 << 10))
        }
    }

    func cancel() { rest.withLock { $0 = [] } }
}
