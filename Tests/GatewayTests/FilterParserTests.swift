import AdapterKit
import Testing

@testable import Gateway

private let entity = Entity(
    "notes", summary: "", key: EntityKey("id"),
    fields: [
        Field("id", .string), Field("title", .string), Field("count", .integer), Field("done", .bool),
        Field("modified", .date), Field("sharedWith", .list(of: .string)),
        Field("secret", .string, isFilterable: false),
    ])

@Suite struct FilterParserTests {
    @Test(arguments: [
        ("title eq 'x'", Filter.compare("title", .equal, "x")),
        ("title eq 'it''s'", .compare("title", .equal, "it's")),
        ("count ge -5", .compare("count", .greaterOrEqual, -5)),
        ("done ne true", .compare("done", .notEqual, true)),
        ("title eq null", .isNull("title")),
        ("title ne null", .not(.isNull("title"))),
        ("modified lt '2001-01-01T00:00:01Z'", .compare("modified", .less, .date(.init(secondsSinceReferenceDate: 1)))),
        ("count in (1, 2)", .oneOf("count", [1, 2])),
        ("startsWith(title, 'a')", .hasPrefix("title", "a")),
        ("endsWith(title,'a')", .hasSuffix("title", "a")),
        ("contains(title,'a')", .containsText("title", "a")),
        ("has(sharedWith, 'bob')", .listContains("sharedWith", "bob")),
        ("search('red blue')", .search(words: ["red", "blue"])),
        (
            "not done eq true or count eq 1 and title eq 'x'",
            .any([
                .not(.compare("done", .equal, true)),
                .all([.compare("count", .equal, 1), .compare("title", .equal, "x")]),
            ])
        ),
        ("((count eq 1))", .compare("count", .equal, 1)),
    ])
    func `an expression becomes a filter`(text: String, filter: Filter) throws {
        #expect(try FilterParser.parse(text, for: entity) == filter)
    }

    @Test(arguments: [
        ("", "character 1"), ("title", "character 6"), ("title eq", "character 9"),
        ("title like 'x'", "There are eq, ne, lt, le, gt, ge, in"),
        ("title eqq 'x'", "Did you mean eq?"), ("titel eq 'x'", "no field titel. Did you mean title?"),
        ("startswith(title, 'x')", "no function startswith. Did you mean startsWith? There are startsWith, endsWith"),
        ("count eq 1 and lenght(title) eq 3", "no function lenght. There are"),
        ("colour eq 1", "no field colour"), ("not contains(secret, 'x')", "notes cannot be filtered by secret"),
        ("count eq 1 or secret in ('x')", "notes cannot be filtered by secret"),
        ("count eq 'x'", "must be an integer"),
        ("count eq 1.5", "must be an integer"),
        ("modified gt 'yesterday'", "must be a date such as 2024-01-15T10:20:30Z"),
        ("title eq 'x", "no closing quote"), ("(title eq 'x'", ") is missing"),
        ("title eq 'x' title", "follows the end"),
        ("has(title, 'x')", "has is no function of the field title"), ("count lt null", "eq and ne"),
        ("title eq 'x' ; drop", "character 14"),
        (String(repeating: "(", count: 40) + "count eq 1" + String(repeating: ")", count: 40), "too complex"),
    ])
    func `a mistake is told with its position`(text: String, message: String) throws {
        let error = try #require(throws: PorticoError.self) { try FilterParser.parse(text, for: entity) }
        #expect(error.message.contains(message), "\(error.message)")
        #expect(error.target == "filter")
    }
}

@Suite struct FilterExamplesTests {
    @Test func `examples have the entity's own fields, and are filters of it`() throws {
        let examples = FilterExamples(entity).all
        #expect(examples.count == 3)
        for example in examples { _ = try FilterParser.parse(example, for: entity) }
        let bare = Entity("flags", summary: "", key: EntityKey("id"), fields: [Field("id", .bool)])
        #expect(FilterExamples(bare).all == ["id eq true"])
    }
}
