import AdapterKit
import Foundation
import Testing
import WireFormats

private struct AllShapes: Codable, Equatable {
    var flag = true
    var small: Int8 = -128
    var large = UInt64.max
    var real = -0.0
    var float: Float = 0.1
    var text = "e\u{301}"
    var data = Data([0, 255])
    var date = Date(timeIntervalSinceReferenceDate: 0.1)
    var amount = Decimal(string: "12.50")!
    var link = URL(string: "https://example.com/a?b=c")!
    var absent: String?
    var list = [[1, 2], []]
    var table = ["é": 1, "b": 2]
    var choice = Choice.second(name: "x")
    var nested = [Nested(id: 1), nil, Nested(id: 2)]

    enum Choice: Codable, Equatable {
        case first
        case second(name: String)
    }
    struct Nested: Codable, Equatable { var id: Int }
}

private class Animal: Codable {
    var name: String
    init(name: String) { self.name = name }
}

private final class Dog: Animal {
    private enum CodingKeys: String, CodingKey { case tricks }
    var tricks: [String]

    init(name: String, tricks: [String]) {
        self.tricks = tricks
        super.init(name: name)
    }

    required init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        tricks = try container.decode([String].self, forKey: .tricks)
        try super.init(from: container.superDecoder())
    }

    override func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(tricks, forKey: .tricks)
        try super.encode(to: container.superEncoder())
    }
}

@Suite struct CodingTests {
    @Test func `a struct of everything survives the tree`() throws {
        let tree = try WireEncoder().encode(AllShapes())
        #expect(tree["data"] == .data([0, 255]) && tree["large"] == .uint64(.max) && tree["absent"] == nil)
        #expect(try WireDecoder().decode(AllShapes.self, from: tree) == AllShapes())
    }

    @Test(arguments: [true, false]) func `a struct survives the formats`(isBinary: Bool) throws {
        let format: any WireFormat = isBinary ? BinaryPropertyListFormat() : JSONFormat()
        var value = AllShapes()
        value.nested.remove(at: 1)
        let bytes = try WireEncoder().encode(value, in: format)
        #expect(try WireDecoder().decode(AllShapes.self, from: bytes, in: format) == value)
    }

    @Test(arguments: ["7", "\"x\"", "[1,null]", "null", "{\"a\":1.5}"])
    func `a tree is a value of its own`(json: String) throws {
        let value = try JSONFormat().read(Array(json.utf8))
        #expect(try WireDecoder().decode(WireValueHolder.self, from: ["value": value]).value == value)
        #expect(try WireEncoder().encode(WireValueHolder(value: value)) == ["value": value])
    }

    @Test func `a class hierarchy goes through super`() throws {
        let tree = try WireEncoder().encode(Dog(name: "Rex", tricks: ["sit"]))
        #expect(tree == ["tricks": ["sit"], "super": ["name": "Rex"]])
        #expect(try WireDecoder().decode(Dog.self, from: tree).name == "Rex")
    }

    static let mistakes: [(tree: WireValue, path: String)] = [
        ([["id": 1], ["id": "x"]], "Index 1.id"), ([["id": .double(1)]], "Index 0.id"), ([["id": .null]], "Index 0.id"),
        ([["id": 1], 5], "Index 1"), (["id": 1], ""), ([["id": .uint64(.max)]], "Index 0.id"), ([[:]], "Index 0"),
    ]

    @Test(arguments: mistakes) func `an error names the path`(tree: WireValue, path: String) {
        #expect { try WireDecoder().decode([AllShapes.Nested].self, from: tree) } throws: { error in
            self.path(of: error) == path
        }
    }

    private func path(of error: any Error) -> String? {
        switch error as? DecodingError {
        case .typeMismatch(_, let context), .valueNotFound(_, let context), .keyNotFound(_, let context),
            .dataCorrupted(let context):
            context.codingPath.map(\.stringValue).joined(separator: ".")
        default: nil
        }
    }

    @Test func `under Foundation's coder a tree is plain JSON`() throws {
        let tree: WireValue = ["a": [1, .double(1.5), "x", true, .null], "b": .data([0])]
        let read = try JSONFormat().read([UInt8](JSONEncoder().encode(tree)))
        #expect(read["a"] == tree["a"] && read["b"] == "AA==")
        #expect(throws: EncodingError.self) { try JSONEncoder().encode([WireValue.uid(1)]) }
    }

    @Test func `what has no form is an encoding error`() {
        #expect(throws: EncodingError.self) { try WireEncoder().encode([Decimal.nan]) }
    }

    @Test func `an integer beyond a double's precision is not rounded into one`() {
        #expect(throws: DecodingError.self) {
            try WireDecoder().decode(Double.self, from: .int64((1 << 53) + 1))
        }
        #expect(throws: DecodingError.self) { try WireDecoder().decode(Float.self, from: .double(1e300)) }
    }
}

private struct WireValueHolder: Codable {
    var value: WireValue
}
