import ODataLanguage
import Testing

/// Addresses of OData 2.0: what they become, and where they go wrong.
@Suite struct Version2RequestTests {
    private func target(_ text: String) throws(SyntaxError) -> RequestTarget { try RequestTarget(text, version: .v2) }

    private func failure(_ text: String) -> Int? {
        do {
            _ = try target(text)
            return nil
        } catch {
            return error.position
        }
    }

    /// Options as version 4 would write them, as far as `$select` and `$expand` go.
    private func written(_ options: [QueryOption]) -> String {
        options.compactMap { option in
            switch option.form {
            case .select(let items): "$select=" + items.map { text($0.path) }.joined(separator: ",")
            case .expand(let items):
                "$expand="
                    + items.map { item in
                        item.options.isEmpty ? text(item.path) : "\(text(item.path))(\(written(item.options)))"
                    }.joined(separator: ",")
            default: nil
            }
        }.joined(separator: ";")
    }

    private func text(_ path: MemberPath) -> String {
        path.segments.map { $0.name?.description ?? "*" }.joined(separator: "/")
    }

    @Test(arguments: [
        ("$expand=A", "$expand=A"), ("$expand=A/B,C", "$expand=A($expand=B),C"),
        ("$expand=A,A/B,A/C/D", "$expand=A($expand=B,C($expand=D))"),
        ("$select=Name,A/Size&$expand=A", "$select=Name,A;$expand=A($select=Size)"),
        ("$select=Name&$expand=A", "$select=Name"), ("$select=*&$expand=A", "$select=*;$expand=A"),
        ("$select=A&$expand=A/B", "$select=A;$expand=A($expand=B)"),
        ("$select=A/B/Size&$expand=A/B", "$select=A;$expand=A($select=B;$expand=B($select=Size))"),
        ("$select=Address/City", "$select=Address/City"),
        // Which is refused later.
        ("$select=A&$select=B", "$select=A;$select=B"), ("$expand=A&$expand=B", "$expand=A;$expand=B"),
    ])
    func `paths of expand and select become levels`(query: String, expected: String) throws {
        #expect(written(try target("Set?\(query)").options) == expected)
    }

    @Test func `links are references`() throws {
        guard case .path(let segments) = try target("Orders(1)/$links/Items(2)").resource else {
            Issue.record("no path")
            return
        }
        #expect(segments.last?.form == .ref)
        #expect(segments.map(\.name?.name) == ["Orders", nil, "Items", nil, nil])
    }

    @Test func `counts of all pages and tokens are the common options`() throws {
        let options = try target("Set?$inlinecount=allpages&$skiptoken=a%20b&!deltatoken='x''y'&sap-client=100").options
        #expect(
            options.map(\.form) == [
                .count(true), .skipToken("a b"), .deltaToken("x'y"),
                .custom(name: "sap-client", value: "100", valueRange: SourceRange(73, 76)),
            ])
    }

    @Test func `a condition is the common tree`() throws {
        let options = try target(
            "Set?$filter=substringof('x',Name)%20eq%20true%20and%20At%20ge%20datetime'2024-01-15T10:30'"
        ).options
        guard case .filter(let condition)? = options.first?.form,
            case .binary(.and, let left, let right) = condition.form,
            case .binary(.equal, let call, _) = left.form, case .call(.substringof, let arguments) = call.form,
            case .binary(.greaterOrEqual, _, let instant) = right.form
        else {
            Issue.record("another tree")
            return
        }
        #expect(arguments.first?.form == .literal(.string("x")))
        #expect(instant.form == .literal(.dateTimeOffset("2024-01-15T10:30:00Z")))
    }

    @Test(arguments: [
        ("Set?$count=true", 4), ("Set?$top=x", 9), ("Set?$filter=contains(Name,'x')", 25),
        ("Set?$filter=A in (1)", 14), ("Set?$filter=At eq datetime'2024-13-01T00:00'", 33),
        ("Set?$filter=At eq datetime'2024-01-01'", 37), ("Set?$filter=Id eq guid'0g'", 24),
        ("Set?$filter=N eq 1X", 18), ("Set?$filter=N eq X'0'", 20), ("Set?$inlinecount=all", 17),
        ("Set?$expand=A($select=B)", 13), ("Set(1)/$ref", 8), ("Set(1)/$links", 13), ("$all", 0), ("$entity?$id=A", 0),
        ("Set?$filter=T eq time'PT25H'", 22), ("Set?$filter=T gt datetime'2023-02-29T00:00'", 26),
        ("Set?$filter=Name eq", 19), ("Set?$filter=startswith(Name)", 27),
    ])
    func `an error has its position`(text: String, position: Int) {
        #expect(failure(text) == position)
    }

    @Test func `names of options and functions have one case`() throws {
        guard case .custom? = try target("Set?filter=true").options.first?.form else {
            Issue.record("an option without a dollar is the application's own")
            return
        }
        #expect(failure("Set?$Filter=true") == 4)
        guard case .custom? = try target("Set?!DeltaToken='x'").options.first?.form else {
            Issue.record("a delta token has one case")
            return
        }
        #expect(failure("Set(1)/$VALUE") != nil && failure("Set/$Count") != nil && failure("Set(1)/$Links/A") != nil)
        #expect(failure("Set?$filter=StartsWith(A,'x')%20or%20A%20GT%201") != nil)
    }
}
