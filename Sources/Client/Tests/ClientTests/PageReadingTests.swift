import SyncMessages
import Testing
import ValueTree
import WireFormats

@testable import Client

@Suite("A page that is read from its tape")
struct PageReadingTests {
    private static let page = PullPage(
        reset: ["notes"],
        operations: [
            RecordOperation(
                collection: "notes", id: "a", rev: 7,
                kind: .put([
                    "title": "\"é\n\"", "list": ["x", ["y": 1]], "none": .null, "big": .uint64(.max),
                    "half": .double(0.5),
                    "map": ["deep": ["deeper": [:]]],
                ])),
            RecordOperation(collection: "notes", id: "b", rev: -1, kind: .remove()),
            RecordOperation(collection: "notes", id: "c", rev: 8, kind: .remove(movedTo: "d")),
            RecordOperation(collection: "", id: "", rev: 0, kind: .put([:])),
        ],
        ending: .complete(
            PullCompletion(
                checkpoint: "c", position: 9, scopes: [ScopeSummary(scope: "notes", count: 1, checksum: "00")])))

    @Test("is the page that was written", arguments: [CBORFormat(), JSONFormat()] as [any WireFormat])
    func same(_ format: any WireFormat) throws {
        let bytes = try format.write(Self.page.wireValue)
        let found = try PullPage(reading: try format.readTape(bytes, limits: ReadingLimits()))
        #expect(found == Self.page)
        #expect(found == (try PullPage(from: try format.read(bytes))))
    }

    @Test(
        "is refused where the same as a value is, and for the same reason",
        arguments: [
            .null, [], [:], ["operations": 1, "next": "n"], ["operations": []], ["operations": [1], "next": "n"],
            ["operations": [["collection": "c", "id": 1, "rev": 1, "operation": "put"]], "next": "n"],
            ["operations": [["collection": "c", "id": "i", "rev": 1, "operation": "put", "fields": 5]], "next": "n"],
            [
                "operations": [["collection": "c", "id": "i", "rev": 1, "operation": "lift", "fields": [:]]],
                "next": "n",
            ],
            [
                "operations": [["collection": "c", "id": "i", "rev": 1, "operation": "put", "fields": .null]],
                "next": "n",
            ],
        ] as [WireValue])
    func refused(_ value: WireValue) throws {
        let tape = try CBORFormat().readTape(try CBORFormat().write(value), limits: ReadingLimits())
        let (expected, found) = (
            Result { try PullPage(from: value) }.mapError { "\($0)" as Reason },
            Result { try PullPage(reading: tape) }.mapError { "\($0)" as Reason }
        )
        #expect(found == expected)
    }
}

private struct Reason: Error, Equatable, ExpressibleByStringInterpolation {
    let text: String

    init(stringLiteral text: String) { self.text = text }
}
