import AdapterKit
import Testing

@Suite struct ShapeCheckTests {
    private let shape = Shape.object(
        ObjectShape(
            "Order",
            members: [
                Member("name", .string(maximumLength: 3), isRequired: true),
                Member("lines", .list(of: .object(ObjectShape("Line", members: [Member("count", .integer)])))),
                Member("note", .string, isNullable: true),
            ]))

    @Test func `the target is the path of the part at fault`() {
        #expect(target(["name": "ab", "lines": [["count": 1], ["count": "x"]]]) == "lines[1].count")
        #expect(target(["name": "abcd"]) == "name")
        #expect(target([:]) == "name")
        #expect(target(["name": "a", "other": 1]) == "other")
        #expect(target(["name": "a", "lines": [["other": 1]]]) == "lines[0].other")
        #expect(target(["name": .null]) == "name")
    }

    @Test func `the path begins where the value stands`() {
        let error = #expect(throws: PorticoError.self) { try shape.check(["name": 1], at: "orders[2]") }
        #expect(error?.target == "orders[2].name")
        #expect(error?.code == .requestInvalid)
    }

    @Test func `what fits is let through`() throws {
        try shape.check(["name": "äöü", "lines": [["count": -1], [:]], "note": .null])
        try Shape.any.check(.null)
    }

    @Test func `numbers fit where nothing of them is lost`() {
        let fits: [(Shape, WireValue, Bool)] = [
            (.double, 1, true), (.double, .int64(.max), false), (.double, .double(.nan), false),
            (.double, .decimal(WireDecimal("0.5")!), true),
            (.double, .decimal(WireDecimal("0.10000000000000000001")!), false),
            (.integer, 1.0, false), (.integer, .uint64(.max), false), (.decimal(scale: 2), 1, true),
            (.decimal(scale: 2), 1.25, true), (.decimal(scale: 2), 1.125, false),
            (.decimal(scale: nil), .double(.infinity), false), (.bool, 1, false), (.string, 1, false),
            (.integer(IntegerRange(1...3)), 3, true), (.integer(IntegerRange(1...3)), 4, false),
        ]
        for (shape, value, isFine) in fits {
            #expect(((try? shape.check(value)) != nil) == isFine, "\(value) as \(shape)")
        }
    }

    @Test func `lengths count Unicode scalars`() {
        let limits = Shape.string(TextLimits(minimumLength: 2, maximumLength: 3))
        #expect((try? limits.check("é\u{301}\u{1F600}")) != nil)
        #expect((try? limits.check("a")) == nil)
        #expect((try? limits.check("abcd")) == nil)
    }

    @Test func `the canonical value has the type of its shape`() {
        #expect(Shape.double.canonical(1) == 1.0)
        #expect(Shape.double.canonical(.double(-0.0)) == .double(0))
        #expect(Shape.decimal(scale: nil).canonical(1.5) == .decimal(WireDecimal("1.5")!))
        #expect(Shape.list(of: .double).canonical([1, 2.5]) == [1.0, 2.5])
    }

    private func target(_ value: WireValue) -> String? {
        do {
            try shape.check(value)
            return nil
        } catch {
            return error.target
        }
    }
}
