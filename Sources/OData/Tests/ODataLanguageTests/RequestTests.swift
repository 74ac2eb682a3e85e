import AdapterKit
import ODataLanguage
import Testing

@Suite struct RequestTests {
    @Test func `a path is names, parentheses and what begins with a dollar`() throws {
        let target = try RequestTarget("Products(1)/Shop.Special/Parts/$count?$filter=Size%20gt%203")
        guard case .path(let segments) = target.resource else {
            Issue.record("no path")
            return
        }
        #expect(segments.map(\.name?.description) == ["Products", nil, "Shop.Special", "Parts", nil])
        #expect(segments.last?.form == .count([]))
        #expect(target.options.count == 1)
    }

    @Test func `keys may be segments, encoded slashes included`() throws {
        let target = try RequestTarget("People/O'Neil%2FMac/17")
        guard case .path(let segments) = target.resource else {
            Issue.record("no path")
            return
        }
        #expect(segments.dropFirst().map(\.form) == [.text("O'Neil/Mac"), .text("17")])
    }

    @Test func `an unencoded slash ends a key, even in quotes`() throws {
        #expect(try failure("odataRelativeUri", "People('a/b')") == 9)
        #expect(try failure("odataRelativeUri", "People('a%2Fb')") == nil)
    }

    @Test func `names of options need no dollar and any case`() throws {
        for name in ["$filter", "filter", "$Filter"] {
            let target = try RequestTarget("Products?\(name)=true")
            guard case .filter? = target.options.first?.form else {
                Issue.record("\(name) is not the filter")
                return
            }
        }
    }

    @Test func `what an application adds is left to it`() throws {
        let target = try RequestTarget("Products?sap-client=100&x=%26%3D&@p=5")
        #expect(
            target.options.map(\.form).prefix(2) == [
                .custom(name: "sap-client", value: "100", valueRange: SourceRange(20, 23)),
                .custom(name: "x", value: "&=", valueRange: SourceRange(26, 32)),
            ])
    }

    @Test(arguments: [
        ("Products?$unknown=1", 9), ("Products?$count", 15), ("Products?$top=-1", 14), ("Products?$levels=1", 9),
        ("Products?$expand=Parts/$ref($select=Name)", 28), ("Products/$count/Name", 15), ("Products/$ref/x", 13),
        ("Products?$filter=Name eq", 24), ("Products?$filter=Name%20eq%20'a", 31), ("$entity?$format=json", 20),
        ("Products?$select=Name,", 22), ("Products?$orderby=Name ascending", 26),
    ])
    func `a request is refused at the byte where it goes wrong`(text: String, position: Int) throws {
        let found = try failure("odataRelativeUri", text)
        #expect(found == position)
    }

    @Test func `a plus is a space only where the query makes no sense otherwise`() throws {
        let form = try RequestTarget("Products?$filter=Name+eq+'a+b'")
        let plain = try RequestTarget("Products?$filter=Name%20eq%20'a+b'")
        guard case .filter(let first)? = form.options.first?.form, case .filter(let second)? = plain.options.first?.form
        else {
            Issue.record("no filters")
            return
        }
        #expect(first.grouped == "(Name eq 'a b')")
        #expect(second.grouped == "(Name eq 'a+b')")
    }

    // Each with the same text percent-encoded.
    @Test(arguments: [
        "A gt +3", "A eq 1e+3", "A in (+1,-2,+3)", "At gt 2024-01-15T00:00:00+02:00", "A add +1 eq +2.5E+1",
        "round(+1.5) eq 2", "P eq geography'SRID=4326;Point(+1 -2e+1)'", "E eq Shop.Color'+4'",
    ])
    func `a plain plus is the sign of a number or an offset`(text: String) throws {
        let spaced = text.replacing(" ", with: "%20")
        let encoded = spaced.replacing("+", with: "%2B")
        for frame in [
            "B?$filter=\u{1}", "B?$apply=filter(\u{1})", "B?$expand=C($filter=\u{1})", "B?$compute=\u{1}%20as%20D",
            "B?%24orderby=\u{1}&%24top=1", "B?$filter=@p&@p=\u{1}",
        ] {
            let plain = try RequestTarget(frame.replacing("\u{1}", with: spaced))
            let same = try RequestTarget(frame.replacing("\u{1}", with: encoded))
            #expect(Self.outline(plain) == Self.outline(same), "\(frame)")
        }
    }

    @Test func `a plain plus is a sign in paths too, and in version 2`() throws {
        for (plain, version) in [
            ("Shelves(2024-01-15T00:00:00+02:00)", LanguageVersion.v4), ("Books(+7)", .v4), ("Near(a=+1.5e+3)", .v4),
            ("Books?$filter=At%20gt%20datetimeoffset'2024-01-15T00:00:00+02:00'", .v2),
        ] {
            let encoded = try RequestTarget(plain.replacing("+", with: "%2B"), version: version)
            #expect(Self.outline(try RequestTarget(plain, version: version)) == Self.outline(encoded))
        }
    }

    /// Without where it stands.
    private static func outline(_ target: RequestTarget) -> WireValue { unplaced(TreeOutline.outline(of: target)) }

    private static func unplaced(_ value: WireValue) -> WireValue {
        if let items = value.arrayValue { return .array(items.map(unplaced)) }
        guard let members = value.dictionaryValue else { return value }
        var kept = WireDictionary()
        for member in members where !member.key.lowercased().hasSuffix("range") {
            kept[member.key] = unplaced(member.value)
        }
        return .dictionary(kept)
    }

    @Test func `queries that forms encode are read as forms mean them`() throws {
        let target = try RequestTarget(
            "Products?%24filter=contains%28Name%2C%27a+b%27%29+or+Category%2FName+eq+%27c%2Bd%27&%24expand=Parts%28%24top%3D1%3B%24skip%3D2%29"
        )
        guard case .filter(let filter)? = target.options.first?.form,
            case .binary(.or, let left, let right) = filter.form, case .call(.contains, let arguments) = left.form,
            case .expand(let items)? = target.options.last?.form
        else {
            Issue.record("not the filter that was meant")
            return
        }
        #expect(arguments.last?.form == .literal(.string("a b")))
        #expect(right.grouped == "(Category/Name eq 'c+d')")
        #expect(items.first?.options.count == 2)
    }

    @Test func `case does not matter, nor do options need their dollar, except in OData 2`() throws {
        for text in ["A?$Filter=true", "A?$filter=B%20GT%201", "A?$filter=TRIM(B)%20eq%201"] {
            #expect(throws: SyntaxError.self) { try RequestTarget(text, version: .v2) }
            #expect(throws: Never.self) { try RequestTarget(text) }
        }
        guard case .filter = try RequestTarget("Products?filter=true").options.first?.form else {
            Issue.record("filter is an option of the application's own")
            return
        }
    }

    @Test func `a count that is no boolean is a parameter of that name`() throws {
        let target = try RequestTarget("GetTop()?count=5")
        #expect(target.options.first?.form == .custom(name: "count", value: "5", valueRange: SourceRange(15, 16)))
        #expect(try RequestTarget("Products?count=true").options.first?.form == .count(true))
        #expect(throws: SyntaxError.self) { try RequestTarget("Products?$count=5") }
    }
}
