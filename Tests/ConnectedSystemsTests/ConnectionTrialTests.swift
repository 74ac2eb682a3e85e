import AdapterKit
import AdapterTesting
import Testing

@testable import ConnectedSystems

private let base = UpstreamAddress("https://hr.example/api/")!

private struct FixedClock: WallClock {
    func now() -> WireDate { WireDate(secondsSince1970: 1_795_000_000) }
}

private func rows(_ count: Int, from first: Int = 1, _ more: String = "") -> String {
    (first..<(first + count)).map { #"{"id": \#($0)\#(more)}"# }.joined(separator: ",")
}

/// What is reported of an entity with these keys. `answer`: the status and the body for a target.
private func report(
    _ keys: String = "", fields: String = "id: integer", link: String? = nil, headers: [String: String] = [:],
    answer: @escaping @Sendable (String) -> (Int, String)
) async throws -> WireDictionary {
    let text = """
        title: People
        upstream: upstream
        entities:
          people:
            address: people
            list: /items
            key: id
            fields: {\(fields)}
        \(keys.split(separator: "\n").map { "    " + $0 }.joined(separator: "\n"))
        """
    let upstream = ScriptedUpstream(url: base) { request, _ throws(UpstreamFailure) in
        let (status, body) = answer(request.address.description)
        if status == 0 { throw UpstreamFailure(.destinationRefused, of: "upstream") }
        var fields: UpstreamHeaders = ["Content-Type": "application/json"]
        fields["Link"] = link
        for (name, value) in headers { fields[name] = value }
        return UpstreamResponse(address: base, status: status, fields: fields, body: Array(body.utf8))
    }
    let trial = ConnectionTrial(
        try Connection(text, file: "c.yaml"), directory: "/", upstream: upstream, clock: FixedClock(), showing: 1)
    return await trial.report("people")
}

extension WireDictionary {
    fileprivate func texts(_ name: String) -> [String] { self[name]?.arrayValue?.compactMap(\.stringValue) ?? [] }
}

@Suite struct ConnectionTrialTests {
    @Test func `rows that all fit have nothing said about them`() async throws {
        let found = try await report { _ in (200, #"{"items": [\#(rows(3))], "total": 3, "next": null}"#) }
        #expect(found["problems"] == [] && found["warnings"] == [] && found["unused"] == [])
        #expect(found["usable"] == true)
        #expect(found["rows"]?.arrayValue?.count == 1)
    }

    @Test(arguments: [
        (#""total": 4"#, "/total is 4"), (#""paging": {"totalResults": 9}"#, "/paging/totalResults is 9"),
        (#""next": "abc""#, "/next is a text"), (#""meta": {"next_cursor": 7}"#, "/meta/next_cursor is a number"),
        (#""has_more": true"#, "/has_more is true"), (#""@odata.nextLink": "x""#, "/@odata.nextLink is a text"),
    ])
    func `an answer that says there is more is warned of where there is no paging`(member: String, sign: String)
        async throws
    {
        let found = try await report { _ in (200, #"{"items": [\#(rows(3))], \#(member)}"#) }
        #expect(found.texts("warnings") == ["There may be more rows: \(sign), and the file has no `paging`."])
    }

    @Test(arguments: [
        ("Next-Page", "https://hr.example/api/people?_token=x", "`Next-Page` names a next page"),
        ("X-Next-Page", "2", "`X-Next-Page` names a next page"), ("X-Total-Count", "4", "`X-Total-Count` is 4"),
        ("Total-Records", "12", "`Total-Records` is 12"),
    ])
    func `fields of an answer are signs of more as well`(name: String, value: String, sign: String) async throws {
        for paging in ["", "paging: {kind: link}"] {
            let found = try await report(paging, headers: [name: value]) { _ in (200, #"{"items": [\#(rows(3))]}"#) }
            let reason = paging.isEmpty ? "the file has no `paging`" : "`paging` finds no next page"
            #expect(found.texts("warnings") == ["There may be more rows: \(sign), and \(reason)."])
        }
        let whole = try await report(headers: ["X-Total-Count": "3", "X-Next-Page": ""]) { _ in
            (200, #"{"items": [\#(rows(3))]}"#)
        }
        #expect(whole["warnings"] == [])
    }

    @Test func `signs of more are told where paging looks for them elsewhere`() async throws {
        let found = try await report("paging: {kind: link}") { _ in
            (200, #"{"items": [\#(rows(3))], "count": 230, "next": "https://hr.example/api/people?page=2"}"#)
        }
        #expect(
            found.texts("warnings")
                == ["/count is 230", "/next is a text"].map {
                    "There may be more rows: \($0), and `paging` finds no next page."
                })
    }

    @Test func `a full page and a link are signs of more as well`() async throws {
        let full = try await report { _ in (200, #"{"items": [\#(rows(100))]}"#) }
        #expect(full.texts("warnings").count == 1)
        let linked = try await report(link: "<https://hr.example/api/people?page=2>; rel=next") { _ in
            (200, #"{"items": [\#(rows(3))]}"#)
        }
        #expect(linked.texts("warnings").first?.contains("`Link` names a next page") == true)
    }

    @Test func `a second page with the rows of the first says that paging is wrong`() async throws {
        let paging = "paging: {kind: page, query: page, limit: limit, size: 3}"
        let stuck = try await report(paging) { _ in (200, #"{"items": [\#(rows(3))]}"#) }
        #expect(stuck.texts("warnings").first?.hasPrefix("The second page: ") == true)
        #expect(stuck["usable"] == false)
        let total = "paging: {kind: offset, query: offset, total: /total}"
        let twice = try await report(total) { _ in (200, #"{"items": [\#(rows(3))], "total": 6}"#) }
        #expect(twice.texts("warnings").first?.contains("it has the rows of the first") == true)
        let good = try await report(paging) { target in
            (200, #"{"items": [\#(rows(3, from: target.contains("page=2") ? 4 : 1))]}"#)
        }
        #expect(good["warnings"] == [] && good["usable"] == true)
    }

    @Test func `a place that no row has is told`() async throws {
        let found = try await report(fields: "id: integer, title: {type: string, from: /titel}") { _ in
            (200, #"{"items": [\#(rows(2, #", "title": "x""#))]}"#)
        }
        #expect(found.texts("warnings") == ["No row has anything at /titel, from where the field title is read."])
        #expect(found.texts("unused") == ["title"])
    }

    @Test func `what is wrong with several rows is told once, with the first of them`() async throws {
        let found = try await report(fields: "id: integer, n: integer") { _ in
            (200, #"{"items": [\#(rows(3)), \#(rows(40, from: 7, #", "n": "x""#))]}"#)
        }
        #expect(
            found["problems"] == [
                [
                    "count": 40, "row": 4, "key": 7, "field": "n", "reason": "n must be an integer. It is a text.",
                ]
            ])
        #expect(found["usable"] == true)
        let none = try await report { _ in (200, #"{"items": [{"id": "x"}, {}]}"#) }
        #expect(none["usable"] == false)
    }

    @Test func `rows that are gone need nothing but their key`() async throws {
        let found = try await report("deleted: /gone", fields: "id: integer, n: {type: integer, required: true}") { _ in
            (200, #"{"items": [{"id": 1, "n": 2}, {"id": 2, "gone": true}]}"#)
        }
        #expect(found["problems"] == [] && found["deleted"] == 1 && found["unused"] == [])
    }

    @Test(arguments: [
        (401, "{}", "`credentials`"), (403, "{}", "`credentials`"), (0, "", "`networks`"),
        (200, #"{"data": {"people": []}, "all": []}"#, "see `list`; there is one at /data/people, /all"),
        (200, "[]", "there is one at the root"), (200, "{}", "the answer has none"),
    ])
    func `a failure names what to look at`(status: Int, body: String, hint: String) async throws {
        let found = try await report { _ in (status, body) }
        #expect(found["failure"]?.stringValue?.contains(hint) == true, "\(found)")
        #expect(found["usable"] == false)
    }
}
