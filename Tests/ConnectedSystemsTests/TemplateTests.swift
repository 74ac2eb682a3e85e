import AdapterKit
import Testing

@testable import ConnectedSystems

func mapping(_ name: String, _ type: FieldType, from: String? = nil) -> FieldMapping {
    FieldMapping(
        name: FieldName(name) ?? "invalid", type: type, from: DocumentPath(from ?? "/\(name)") ?? .root,
        isRequired: false, summary: "")
}

private let fields = [
    mapping("id", .string(maximumLength: 255)), mapping("count", .integer), mapping("tags", .strings),
    mapping("changed", .date(.unix)), mapping("title", .string(maximumLength: 100)),
]

private func render(
    _ template: String, _ values: WireDictionary, _ escaping: TemplateValues.Escaping = .none
) throws -> String {
    try TemplateValues(values: values, mappings: fields).render(Template(template, fields: fields), escaping)
}

@Suite struct TemplateTests {
    @Test func `fields stand in a text, and braces are doubled`() throws {
        #expect(try render("a/{id}/{count}", ["id": "x y", "count": 7]) == "a/x y/7")
        #expect(try render("{{\"id\": {count}}}", ["count": 1]) == "{\"id\": 1}")
        #expect(try render("", [:]) == "")
    }

    @Test func `functions write dates, lists, small letters and defaults`() throws {
        let changed = WireValue.date(WireDate(secondsSince1970: 1_700_000_000))
        #expect(try render("{changed}", ["changed": changed]) == "1700000000")
        #expect(try render("{date(changed)}", ["changed": changed]) == "2023-11-14T22:13:20Z")
        #expect(try render("{date(changed, day)}", ["changed": changed]) == "2023-11-14")
        #expect(try render("{date(changed, unixMilliseconds)}", ["changed": changed]) == "1700000000000")
        #expect(try render("{lower(title)}", ["title": "ÄB"]) == "äb")
        #expect(try render("{join(tags, \", \")}", ["tags": ["a", "b"]]) == "a, b")
        #expect(try render("{default(title, \"none}\")}", [:]) == "none}")
        #expect(try render("{default(title, \"none\")}", ["title": "x"]) == "x")
    }

    @Test func `a text that is one field or one date in a form goes out typed, and as null`() throws {
        let changed = WireValue.date(WireDate(secondsSince1970: 1_700_000_000))
        let expected: [(template: String, value: WireValue)] = [
            ("{changed}", 1_700_000_000), ("{date(changed, unix)}", 1_700_000_000),
            ("{date(changed, unixMilliseconds)}", 1_700_000_000_000), ("{date(changed, day)}", "2023-11-14"),
            ("{date(changed)}", "2023-11-14T22:13:20Z"),
        ]
        for (text, value) in expected {
            let only = try #require(try Template(text, fields: fields).onlyField, "\(text)")
            #expect(TemplateValues(values: ["changed": changed], mappings: fields).value(only) == value, "\(text)")
            #expect(TemplateValues(values: [:], mappings: fields).value(only) == .null, "\(text)")
        }
        for text in ["{lower(title)}", "{default(title, x)}", "{join(tags, x)}", "{changed} ", "{count}{count}"] {
            #expect(try Template(text, fields: fields).onlyField == nil, "\(text)")
        }
    }

    @Test func `values are escaped where they stand`() throws {
        #expect(try render("{id}", ["id": "a/../b?c&d é"], .path) == "a%2F..%2Fb%3Fc%26d%20%C3%A9")
        #expect(try render("<a b=\"{id}\">", ["id": "<&\"'>"], .xml) == "<a b=\"&lt;&amp;&quot;&apos;&gt;\">")
    }

    @Test(arguments: ["", ".", ".."])
    func `what would lead to another folder cannot stand in an address`(id: String) {
        #expect(throws: Template.Problem.self) { try render("users/{id}", ["id": .string(id)], .path) }
    }

    @Test(arguments: ["a/{id}{title}", "a/.{id}/b", "a/{id}%2e?q", "a/{id}%2E", "{id}/{title}"])
    func `fields do not make a folder of dots together`(text: String) {
        #expect(throws: Template.Problem.self) { try render(text, ["id": ".", "title": "."], .path) }
    }

    @Test func `dots that lead nowhere may stand in an address`() throws {
        #expect(try render("../v2/{id}/{title}", ["id": "...", "title": "a."], .path) == "../v2/.../a.")
        #expect(try render("a/{id}{title}?up=../{id}", ["id": ".", "title": "x"], .path) == "a/.x?up=../.")
    }

    @Test(arguments: [
        ("{other}", "There is no field `other`: there are id, count, tags, changed, title."),
        ("{upper(id)}", "There is no function `upper`: there are date, lower, join and default."),
        ("{date(id)}", "`date` takes a date, and id is none."), ("{date(changed, year)}", "`date` knows"),
        ("{join(id, x)}", "`join` takes a list, and id is none."), ("{join(tags)}", "The function `join` is written"),
        ("{lower(count)}", "`lower` takes a text, and count is none."), ("{id", "A `{` is not closed"),
        ("id}", "A `}` closes nothing"), ("{lower(id}", "The function in `{lower(id}` is not closed."),
        ("{}", "There is no field ``"), ("{default(id)}", "The function `default` is written"),
        ("{lower(id, x)}", "The function `lower` is written"),
        ("{lower(lower(id))}", "There is no field `lower(id)`"),
    ])
    func `a template that cannot be right is refused with the reason`(text: String, reason: String) {
        let problem = #expect(throws: Template.Problem.self) { try Template(text, fields: fields) }
        #expect(problem?.message.hasPrefix(reason) == true, "\(problem?.message ?? "")")
    }

    @Test func `length and number of fields are limited`() {
        #expect(throws: Template.Problem.self) {
            try Template(String(repeating: "a", count: Template.maximumLength + 1), fields: fields)
        }
        #expect(throws: Template.Problem.self) {
            try Template(String(repeating: "{id}", count: Template.maximumFields + 1), fields: fields)
        }
    }

    @Test func `a list without join is refused when it is written`() {
        #expect(throws: Template.Problem.self) { try render("{tags}", ["tags": ["a"]]) }
    }
}

@Suite struct BodyTemplateTests {
    @Test func `a text that is one field keeps the field's value, whatever it has in it`() throws {
        let body = BodyTemplate(
            format: .json,
            content: .members([
                (name: "n", content: .text(try Template("{count}", fields: fields))),
                (name: "t", content: .text(try Template("{title}", fields: fields))),
                (name: "l", content: .list([.text(try Template("{tags}", fields: fields)), .literal(true)])),
                (name: "d", content: .text(try Template("{changed}", fields: fields))),
            ]))
        let values = TemplateValues(
            values: [
                "count": 3, "title": "\",\"x\":\"", "tags": ["a"],
                "changed": .date(WireDate(secondsSince1970: 5)),
            ], mappings: fields)
        let text = String(decoding: try body.bytes(values, changed: nil), as: UTF8.self)
        #expect(text == #"{"n":3,"t":"\",\"x\":\"","l":[["a"],true],"d":5}"#)
        let changed = String(decoding: try body.bytes(values, changed: ["count"]), as: UTF8.self)
        #expect(changed == #"{"n":3}"#)
    }

    @Test func `a form has the members that have a value`() throws {
        let body = BodyTemplate(
            format: .form,
            content: .members([
                (name: "a b", content: .text(try Template("{title}", fields: fields))),
                (name: "none", content: .text(try Template("{id}", fields: fields))),
            ]))
        let values = TemplateValues(values: ["title": "x&y=é"], mappings: fields)
        #expect(String(decoding: try body.bytes(values, changed: nil), as: UTF8.self) == "a+b=x%26y%3D%C3%A9")
    }
}
