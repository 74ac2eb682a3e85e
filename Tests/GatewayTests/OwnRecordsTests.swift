import AdapterKit
import HTTPTypes
import Synchronization
import Testing

@testable import Gateway

@Suite struct `What an adapter asks wrongly` {
    @Test func `of its own records is its mistake, and with its caller's rights the caller's`() async throws {
        let adapter = WritingAdapter()
        let host = try await NotesGateway(adapter: adapter)
        func write(_ id: String, _ field: String) async throws -> GatewayAnswerRead {
            try await host.send(
                .post, "/api/v1/notes/operations/share", ["id": .string(id), "with": .string(field)])
        }
        let callers = try await write("caller", "colour")
        #expect(callers.status == 400 && callers.code == "request.invalid", "\(callers)")
        let own = try await write("own", "colour")
        #expect(own.status == 500 && own.code == "server.internal", "\(own)")
        #expect(own.json["error"]?["message"] == "Something went wrong on the server.")
        #expect(try await write("own", "title").status == 200)

        let records = try #require(adapter.context.withLock { $0 }).records
        for ask in [
            { _ = try await records.create(["title": "t", "colour": 1], in: "notes") },
            { _ = try await records.query(Query(.isNull("colour")), in: "notes") },
            { _ = try await records.count(.isNull("colour"), in: "notes") },
        ] as [@Sendable () async throws -> Void] {
            await #expect {
                try await ask()
            } throws: { error in
                let error = error as? PorticoError
                return error?.code == .serverInternal
                    && error?.logDetail?.hasSuffix("has no field `colour`. (colour)") == true
            }
        }
        await #expect {
            try await records.update("none", ["title": "t"], in: "notes")
        } throws: {
            ($0 as? PorticoError)?.code == .recordNotFound
        }
    }
}

/// Writes a note with the field that its caller names.
private final class WritingAdapter: Adapter {
    let context = Mutex<AdapterContext?>(nil)

    func start(_ context: AdapterContext) async throws { self.context.withLock { $0 = context } }

    func handle(_ call: Call) async throws -> OperationResult {
        let own = call["id"] == "own" ? context.withLock { $0 }?.records : nil
        var fields: WireDictionary = ["title": "t"]
        fields[call["with"].stringValue ?? ""] = "red"
        let note = try await (own ?? call.records).create(fields, in: "notes")
        return .value(["sharedWith": note["sharedWith"]])
    }
}
