import AdapterKit
import AdapterTesting
import Testing

/// Each access to the records fails once, under adapters that write in one step, in two, and that hide a failure.
@Suite struct `A store that fails under an operation` {
    @Test(
        arguments: [
            (.atOnce, nil), (.repeatable, nil),
            (.inTwoSteps, "is half done, and a repetition does not end it"),
            (.internalError, "fails with an internal error"),
            (.gaveUp, "does not answer once the store is there again"),
        ] as [(Way, String?)])
    func `leaves nothing half done, and is told as what it is`(way: Way, problem: String?) async {
        await Way.$current.withValue(way) {
            let found = await AdapterConformance(Removals.self, examples: [.init("move", ["id": "box"])]).problems()
            guard let problem else { return #expect(found == []) }
            #expect(!found.isEmpty && found.allSatisfy { $0.contains(problem) }, "\(found)")
        }
    }
}

/// How ``Removals`` moves something.
enum Way: Sendable {
    case atOnce, repeatable, inTwoSteps, internalError, gaveUp

    @TaskLocal static var current = Way.atOnce
}

/// An adapter that moves things, which writes two records.
private enum Removals: AdapterModule {
    static let name: AdapterName = "removals"
    static let things: EntityName = "things"
    static let moves: EntityName = "moves"

    static func declare(_ configuration: AdapterConfiguration) -> AdapterDeclaration {
        AdapterDeclaration(
            name: name, title: "Removals", summary: "Moves things.", version: "1",
            access: AccessRights(write: .login),
            entities: [
                Entity(
                    things, summary: "What can be moved.", key: EntityKey("id"),
                    fields: [Field("id", .string, isRequired: true), Field("place", .string, isRequired: true)]),
                Entity(
                    moves, summary: "What was moved.", key: EntityKey("id"),
                    fields: [Field("id", .string, isRequired: true)]),
            ],
            operations: [
                Operation(
                    "move", summary: "Moves something.", effect: .writes,
                    input: ObjectShape("Move", members: [Member("id", .string, isRequired: true)]),
                    output: .object(ObjectShape("Moved", members: [Member("place", .string, isRequired: true)])))
            ])
    }

    static func make(_ configuration: AdapterConfiguration) -> any Adapter { RemovalsAdapter() }
}

private actor RemovalsAdapter: Adapter {
    private var gaveUp = false

    func handle(_ call: Call) async throws -> OperationResult {
        guard call.operation == "move" else { throw PorticoError(.routeNotFound, "There is no such operation.") }
        guard let text = call["id"].stringValue, let id = RecordID(text),
            try await call.records.record(id, in: Removals.things) != nil
        else { throw PorticoError(.recordNotFound, "There is no such thing.") }
        if gaveUp { throw PorticoError(.overloaded, "It was too much.") }
        do { try await move(id, call.records) } catch {
            gaveUp = Way.current == .gaveUp
            guard Way.current == .internalError else { throw error }
            throw PorticoError(.serverInternal, "It did not work.")
        }
        return .value(["place": "cellar"])
    }

    private func move(_ id: RecordID, _ records: any RecordStore) async throws {
        let placed = RecordChange(Removals.things, .update(id, ["place": "cellar"]))
        switch Way.current {
        case .inTwoSteps:
            try await records.create(["id": .string(id.text)], in: Removals.moves)
            _ = try await records.apply([placed])
        case .repeatable:
            _ = try await records.apply([
                RecordChange(Removals.moves, .replace(id, ["id": .string(id.text)], orCreate: true))
            ])
            _ = try await records.apply([placed])
        default:
            _ = try await records.apply([
                placed, RecordChange(Removals.moves, .replace(id, ["id": .string(id.text)], orCreate: true)),
            ])
        }
    }

    nonisolated func sampleRecords() -> [SampleRecords] {
        [SampleRecords(Removals.things, [["id": "box", "place": "attic"]])]
    }
}
