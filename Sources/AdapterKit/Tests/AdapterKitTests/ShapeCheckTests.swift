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
            // As C's `%.17g` writes 0.1 and the least double.
            (.double, .decimal(WireDecimal("0.10000000000000001")!), true),
            (.double, .decimal(WireDecimal("4.9406564584124654e-324")!), true),
            (.double, .decimal(WireDecimal("1234567890123456.7")!), false),
            (.double, .decimal(WireDecimal("1.7976931348623157e308")!), true), (.double, .double(.infinity), false),
            (.decimal(scale: nil), .decimal(WireDecimal("1e400")!), true),
            (.decimal(scale: nil), .decimal(WireDecimal("1e5000")!), false),
            (.decimal(scale: nil), .decimal(WireDecimal("1.5e-400")!), false),
            (.integer, 1.0, false), (.integer, .uint64(.max), false), (.decimal(scale: 2), 1, true),
            (.decimal(scale: 2), 1.25, true), (.decimal(scale: 2), 1.125, false),
            (.decimal(scale: nil), .double(.infinity), false), (.bool, 1, false), (.string, 1, false),
            (.integer(IntegerRange(1...3)), 3, true), (.integer(IntegerRange(1...3)), 4, false),
        ]
        for (shape, value, isFine) in fits {
            #expect(((try? shape.check(value)) != nil) == isFine, "\(value) as \(shape)")
        }
    }

    static let uncarried: [(value: WireValue, target: String?)] = [
        ("\0", nil), ("a\u{1}b", nil), ("\u{FFFE}x", nil), ("12345678\u{FFFF}", nil), ("\u{1B}", nil), ("\u{8}", nil),
        (["a": "\u{1F}"], "a"), (["a": ["b": ["x", "\u{B}"]]], "a.b[1]"), (["k\u{2}": 1], "k\u{FFFD}"),
        (.double(.nan), nil), (["a": .double(-.infinity)], "a"), ([1, .null], "[1]"), (["a": [.null]], "a[0]"),
        (.uid(1), nil), (["CF$UID": 1], nil), (["a": ["CF$UID": .uint64(.max)]], "a"),
        (.date(WireDate(secondsSinceReferenceDate: 252_423_993_600)), nil),
        (.date(WireDate(secondsSinceReferenceDate: -63_145_526_401)), nil),
        (.decimal(WireDecimal("1e-400")!), nil), (.decimal(WireDecimal("1e4096")!), nil),
    ]

    @Test(arguments: uncarried)
    func `what some format cannot carry is refused, undeclared and as a further member`(value: WireValue, path: String?)
    {
        let error = #expect(throws: PorticoError.self) { try Shape.any.check(value, at: "") }
        #expect(error?.target == path && error?.code == .requestInvalid)
        let open = Shape.object(ObjectShape("Open", isOpen: true, members: [Member("known", .integer)]))
        let further = #expect(throws: PorticoError.self) { try open.check(["known": 1, "x": value]) }
        #expect(further?.target?.hasPrefix("x") == true)
    }

    @Test func `declared texts and dates are held to what every format carries`() throws {
        for text in ["\0", "line\u{C}", "12345678\u{FFFE}", "\u{1}"] {
            #expect(throws: PorticoError.self) { try Shape.string.check(.string(text)) }
            #expect(throws: PorticoError.self) { try Shape.list(of: .string).check(["a", .string(text)]) }
        }
        try Shape.string.check("tab\tline\nreturn\r \u{7F}\u{85}\u{FFFD}\u{10FFFF} ￯￼ ﷿")
        let late = WireValue.date(WireDate(secondsSinceReferenceDate: 1e15))
        #expect(throws: PorticoError.self) { try Shape.date.check(late) }
    }

    @Test func `depth is limited so that a page around it can still be written`() throws {
        func nested(_ depth: Int) -> WireValue { (1..<depth).reduce([]) { value, _ in [value] } }
        try Shape.any.check(nested(RepresentableValue.maximumDepth))
        #expect(throws: PorticoError.self) { try Shape.any.check(nested(RepresentableValue.maximumDepth + 1)) }
    }

    @Test func `every scalar is judged alike, wherever it stands`() {
        for value in (0...0x20 as ClosedRange<UInt32>).map({ $0 }) + [
            0xD7FF, 0xE000, 0xFFEF, 0xFFFD, 0xFFFE, 0xFFFF, 0x10000,
        ] {
            let scalar = Unicode.Scalar(value)!
            let isCarried = [9, 10, 13].contains(value) || (value >= 0x20 && value != 0xFFFE && value != 0xFFFF)
            for before in 0..<17 {
                let text = String(repeating: "a", count: before) + String(scalar) + "é"
                #expect(
                    text.isRepresentableInEveryFormat == isCarried, "U+\(String(value, radix: 16)) behind \(before)")
                let mended = String(repeating: "a", count: before) + "\u{FFFD}é"
                #expect(text.replacedForEveryFormat == (isCarried ? text : mended))
            }
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

    @Test func `lengths that no text has refuse every text`() {
        for (least, most) in [(5, 3), (Int.max, Int.max), (Int.max, 3)] {
            let shape = Shape.string(TextLimits(minimumLength: least, maximumLength: most))
            for text in ["", "abcd", "äöü"] {
                #expect(throws: PorticoError.self) { try shape.check(.string(text)) }
            }
        }
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
