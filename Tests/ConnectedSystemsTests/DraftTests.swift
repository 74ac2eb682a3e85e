import AdapterKit
import Foundation
import Testing

@testable import ConnectedSystems

@Suite struct DraftTests {
    @Test func `a file's types and key are told by its values`() throws {
        let csv = """
            Name,Emp No,zip,paid,since,share,active,note
            Ann,7,01234,12.50,2026-01-31,1,true,
            Ann,8,98765,3,2026-02-28,2,false,x

            """
        let text = try FileDraft.text(
            Array(csv.utf8), format: "csv", file: "e.csv", entity: "staff", title: "Staff: all")
        #expect(
            text == """
                # yaml-language-server: $schema=connect.schema.json
                # Made from e.csv. Look at the guesses, name this file in the configuration (`adapters: { NAME: { connect: FILE } }`), \
                then `porticoctl connect try FILE --config CONFIG`.
                title: "Staff: all"
                entities:
                  staff:
                    file: e.csv
                    format: csv
                    key: Emp_No # guess: every row has another value
                    fields:
                      Name: string
                      Emp_No: { type: integer, from: "/Emp No" }
                      zip: string
                      paid: decimal
                      since: { type: date, form: day }
                      share: integer
                      active: boolean
                      note: string

                """)
        _ = try Connection(text, file: "c.yaml")
    }

    @Test func `members of members are fields, and what no field can have is left out`() throws {
        let json =
            #"{"people": [{"id": "a", "at": {"city": "x", "geo": {"lat": 1}}, "tags": ["t"], "n": null, "mixed": [1, "a"]}]}"#
        let text = try FileDraft.text(
            Array(json.utf8), format: "json", file: "p.json", entity: "people", title: "People")
        #expect(text.contains("list: /people # guess: the only list"))
        #expect(text.contains("at_city: { type: string, from: /at/city }"))
        #expect(text.contains("tags: strings"))
        #expect(!text.contains("mixed"))
        #expect(!text.contains("geo"))
        _ = try Connection(text, file: "c.yaml")
    }

    @Test(arguments: [
        (
            #"{"data": {"items": [{"id": "a"}], "tags": ["t"]}, "meta": {"n": 1}}"#,
            "/data/items # guess: the only list of rows"
        ),
        (#"{"data": {"items": [{"id": "a"}]}}"#, "/data/items # guess: the only list"),
        (#"{"rows": [{"id": "a"}], "data": {"items": [{"id": "b"}]}}"#, "/rows # guess: the only list"),
        (#"{"errors": [], "rows": [{"id": "a"}], "columns": ["id"]}"#, "/rows # guess: the only list of rows"),
    ])
    func `the list of rows is found up to two levels deep, the outermost first`(json: String, list: String) throws {
        let text = try FileDraft.text(
            Array(json.utf8), format: "json", file: "p.json", entity: "people", title: "People")
        #expect(text.contains("list: \(list)\n"), "\(text)")
        _ = try Connection(text, file: "c.yaml")
    }

    @Test func `several lists of rows are named`() throws {
        let json = #"{"data": {"people": [{"id": "a"}], "rooms": [{"id": "b"}]}}"#
        let problem = try #require(throws: DraftProblem.self) {
            try FileDraft.text(Array(json.utf8), format: "json", file: "p.json", entity: "people", title: "People")
        }
        #expect(problem.description.contains("/data/people, /data/rooms"))
    }

    @Test(arguments: ["[]", "{}", "7", "[1]", "{\"a\": [], \"b\": []}", "{\"a\": [{}]}", "x"])
    func `what has no rows is refused`(json: String) {
        #expect(throws: DraftProblem.self) {
            try FileDraft.text(Array(json.utf8), format: "json", file: "p.json", entity: "people", title: "People")
        }
    }

    @Test func `a description's lists, keys and pages are guessed and marked`() throws {
        let description = """
            openapi: 3.0.3
            info: {title: "Tracker: \\n# x", version: "1"}
            servers: [{url: "https://t.example/v1"}]
            paths:
              /projects:
                get:
                  parameters:
                    - {$ref: "#/components/parameters/limit"}
                    - {name: offset, in: query, schema: {type: integer}}
                    - {name: updated_since, in: query, schema: {type: string}}
                  responses:
                    "200":
                      content:
                        application/json:
                          schema:
                            type: object
                            properties:
                              total: {type: integer}
                              items: {type: array, items: {$ref: "#/components/schemas/Project"}}
              /projects/{projectId}: {get: {responses: {}}}
              /users:
                get:
                  summary: Lists users.
                  responses:
                    "200":
                      headers: {Link: {schema: {type: string}}}
                      content: {application/json: {schema: {type: array, items: {$ref: "#/components/schemas/User"}}}}
              /circle: {get: {responses: {"200": {content: {application/json: {schema: {$ref: "#/components/schemas/Circle"}}}}}}}
              /login: {post: {responses: {}}}
            components:
              parameters:
                limit: {name: limit, in: query, schema: {type: integer, maximum: 50}}
              schemas:
                Circle: {$ref: "#/components/schemas/Circle"}
                Base: {type: object, required: [id], properties: {id: {type: integer}, updated_at: {type: string, format: date-time}}}
                Project:
                  allOf:
                    - {$ref: "#/components/schemas/Base"}
                    - type: object
                      properties:
                        name: {type: string}
                        state: {type: string, enum: [open, "closed: 1"]}
                        owner: {$ref: "#/components/schemas/User"}
                        tags: {type: array, items: {type: string}}
                        parent: {$ref: "#/components/schemas/Project"}
                User: {type: object, properties: {login: {type: string}, born: {type: [string, "null"], format: date}}}

            """
        let text = try OpenAPIDraft.text(Array(description.utf8), source: "t.yaml", upstream: "tracker")
        let connection = try Connection(text, file: "c.yaml")
        #expect(connection.entities.map(\.name.text) == ["projects", "users"])
        let projects = connection.entities[0]
        #expect(projects.rows.list == DocumentPath(tokens: ["items"]))
        #expect(
            projects.paging
                == {
                    var paging = Paging(kind: .offset(query: "offset"))
                    paging.limit = (name: "limit", size: 50)
                    paging.total = DocumentPath(tokens: ["total"])
                    return paging
                }())
        #expect(projects.changes?.field.name == "updated_at")
        #expect(projects.record?.address.fields == ["id"])
        #expect(
            projects.entity.fields.map(\.name.text) == [
                "id", "updated_at", "name", "state", "owner_login", "owner_born", "tags", "parent_id",
                "parent_updated_at", "parent_name", "parent_state", "parent_tags",
            ])
        #expect(connection.entities[1].paging.kind == .link(nil))
        #expect(connection.entities[1].rows.key == "login")
        #expect(text.components(separatedBy: "guess").count > 6)
        #expect(!text.contains("\n# x"))
    }

    @Test func `schemas that many others are made of are followed once`() throws {
        let levels = (0..<15).map { level in
            "    S\(level): {allOf: ["
                + Array(repeating: "{$ref: '#/components/schemas/S\(level + 1)'}", count: 16)
                .joined(separator: ", ") + "], properties: {p\(level): {type: string}}}\n"
        }
        let description = """
            openapi: 3.0.3
            servers: [{url: "https://user:secret@t.example/v1?token=secret"}]
            paths:
              /people: {get: {responses: {"200": {content: {application/json: {schema: {type: array,
                items: {$ref: "#/components/schemas/S0"}}}}}}}}
            components:
              schemas:
                S15: {properties: {id: {type: string}}}
            \(levels.joined())
            """
        let text = try OpenAPIDraft.text(
            Array(description.utf8), source: "http://user:secret@h.example:8080/a.yaml?token=secret#secret",
            upstream: "tracker")
        for field in ["id", "p0", "p14"] { #expect(text.contains("      \(field): string\n"), "\(text)") }
        #expect(!text.contains("secret"))
        #expect(text.contains("Made from http://h.example:8080/a.yaml."))
        _ = try Connection(text, file: "c.yaml")
    }

    @Test(arguments: [
        ("https://a:b@[::1]:80/x?y#z", "https://[::1]:80/x"), ("http://user:pa/ss@h/x", "http://…"),
        ("http://user:pa?ss@h/x", "http://…"), ("a?b@c.yaml", "a?b@c.yaml"), ("http://a@b@h", "http://h"),
    ])
    func `an address is shown without what may be secret`(address: String, shown: String) {
        #expect(OpenAPIDraft.shown(address) == shown)
    }

    @Test func `a draft has numbers as numbers, lengths, and notes on what it leaves out`() throws {
        let description = """
            openapi: 3.0.3
            paths:
              /people:
                get:
                  parameters: [{name: page, in: query}, {name: limit, in: query, schema: {type: integer, maximum: 200}}]
                  responses:
                    "200":
                      content:
                        application/json:
                          schema:
                            type: array
                            items:
                              type: object
                              properties:
                                id: {type: string, maxLength: 40}
                                text: {type: string, maxLength: 9000000000}
                                phones: {type: array, items: {type: object, properties: {number: {type: string}}}}
                post: {}
              /people/{id}: {get: {}, put: {}, delete: {}}
              /people/{id}/photo: {put: {}}

            """
        let text = try OpenAPIDraft.text(Array(description.utf8), source: "t.yaml", upstream: "tracker")
        #expect(text.contains("size: 200 }"))
        #expect(text.contains("id: { type: string, maximumLength: 40 }"))
        #expect(text.contains("text: string\n"))
        #expect(text.contains("# Left out, because a field has one value or a list of texts: /phones.\n"))
        #expect(
            text.contains(
                "# Left out: `write`, for which there are POST /people, PUT /people/{id}, DELETE /people/{id}.\n"))
        _ = try Connection(text, file: "c.yaml")
    }

    /// As Django REST Framework describes itself: slashes at the end, `next` as an address, references within `allOf`.
    @Test func `paths with a slash at the end and the next page's address are read`() throws {
        let description = """
            openapi: 3.0.3
            paths:
              /api/customers/:
                get:
                  parameters: [{name: page, in: query, schema: {type: integer}}]
                  responses: {"200": {content: {application/json: {schema: {$ref: "#/components/schemas/Page"}}}}}
                post: {}
              /api/customers/{id}/: {get: {}, put: {}, patch: {}, delete: {}}
              /api/customers/{id}/orders/: {get: {}}
              /api/login/: {post: {}}
            components:
              schemas:
                Page:
                  type: object
                  required: [count, results]
                  properties:
                    count: {type: integer}
                    next: {type: string, nullable: true, format: uri, example: "http://api.example.org/accounts/?page=4"}
                    results: {type: array, items: {$ref: "#/components/schemas/Customer"}}
                Customer:
                  type: object
                  required: [id, name, changed]
                  properties:
                    id: {type: integer, readOnly: true}
                    name: {type: string}
                    changed: {type: string, format: date-time, readOnly: true}
                    state: {allOf: [{$ref: "#/components/schemas/State"}]}
                    level: {oneOf: [{$ref: "#/components/schemas/State"}, {enum: [""]}, {enum: [null]}]}
                    email: {oneOf: [{type: string, format: email, maxLength: 254}, {type: string, maxLength: 0}]}
                    code: {anyOf: [{type: string, format: uuid}, {type: string, format: uri}]}
                    mixed: {oneOf: [{type: string}, {type: integer}]}
                    lost: {$ref: "#/components/schemas/Nothing"}
                State: {type: string, enum: [open, closed]}

            """
        let text = try OpenAPIDraft.text(Array(description.utf8), source: "t.yaml", upstream: "tracker")
        let connection = try Connection(text, file: "c.yaml")
        #expect(connection.entities.map(\.name.text) == ["customers"])
        let customers = connection.entities[0]
        #expect(customers.paging.kind == .link(DocumentPath(tokens: ["next"])), "\(text)")
        #expect(text.contains("address: api/customers/\n"), "\(text)")
        #expect(text.contains(#"record: { address: "api/customers/{id}/" } # guess: `{id}` is the key"#), "\(text)")
        #expect(text.contains("state: { type: choice, values: [open, closed] }"), "\(text)")
        #expect(text.contains("email: { type: string, maximumLength: 254 }\n"), "\(text)")
        #expect(text.contains("code: string\n"), "\(text)")
        #expect(
            text.contains("name: { type: string, required: true }\n") && text.contains("changed: date\n"), "\(text)")
        #expect(text.contains("level: { type: choice, values: [open, closed] }"), "\(text)")
        #expect(
            text.contains("# Left out, because a field has one value or a list of texts: /mixed, /lost.\n"), "\(text)")
        #expect(
            text.contains("PUT /api/customers/{id}/, PATCH /api/customers/{id}/, DELETE /api/customers/{id}/.\n"))
        #expect(
            text.contains("# Left out, because their addresses have a parameter: GET /api/customers/{id}/orders/.\n"))
        #expect(text.contains("# Left out, because they are no list that GET reads: POST /api/login/.\n"), "\(text)")
    }

    @Test(arguments: [
        (#"links: {type: object, properties: {next: {type: string}}}"#, "/links/next"),
        (
            #"_links: {type: object, properties: {next: {type: object, properties: {href: {type: string}}}}}"#,
            "/_links/next/href"
        ),
        (#"paging: {type: object, properties: {next: {type: string, format: uri}}}"#, "/paging/next"),
        (#""@odata.nextLink": {type: string}"#, "/@odata.nextLink"),
        (#"next_page_url: {type: [string, "null"]}"#, "/next_page_url"),
    ])
    func `a next page's address is found where links stand`(member: String, place: String) throws {
        let description = """
            openapi: 3.1.0
            paths:
              /people:
                get:
                  responses:
                    "200":
                      content:
                        application/json:
                          schema:
                            type: object
                            properties:
                              \(member)
                              data: {type: array, items: {type: object, properties: {id: {type: string}}}}

            """
        let text = try OpenAPIDraft.text(Array(description.utf8), source: "t.yaml", upstream: "tracker")
        let connection = try Connection(text, file: "c.yaml")
        #expect(connection.entities[0].paging.kind == .link(DocumentPath(place)), "\(text)")
    }

    @Test(arguments: [
        "{}", "{\"swagger\": \"2.0\"}", "{\"openapi\": \"3.1.0\"}", "openapi: 3.0.0\npaths: {/a: {get: {}}}", "[",
        "a: &b [*b]",
        "{\"openapi\": \"3.0.0\", \"paths\": []}",
    ])
    func `what describes no list is refused with a sentence`(text: String) {
        #expect(throws: DraftProblem.self) {
            try OpenAPIDraft.text(Array(text.utf8), source: "t", upstream: "tracker")
        }
    }
}
