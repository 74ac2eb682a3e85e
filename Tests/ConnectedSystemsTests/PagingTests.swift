import AdapterKit
import Testing

@testable import ConnectedSystems

private let address = UpstreamAddress("https://api.example/v1/things?page=1")!

private func answer(
    _ document: WireValue = [:], rows: Int64 = 1, fingerprint: UInt64 = 0, last: WireDictionary? = nil,
    links: [String] = []
) -> Paging.Answer {
    Paging.Answer(
        document: document, isXML: false, rowCount: rows, lastRow: last, fingerprint: fingerprint, linkField: links,
        address: address)
}

/// The places of the pages that a system of these answers is asked for; nil at the end.
private func walk(_ paging: Paging, _ answers: [Paging.Answer]) throws -> [String] {
    var position = PagePosition()
    var places: [String] = []
    for answer in answers {
        guard let next = try paging.next(after: position, answer, of: "hr") else { return places }
        // The host keeps a position as its text.
        position = try #require(PagePosition(next.text))
        #expect(position == next)
        places.append(position.place)
    }
    return places + ["…"]
}

@Suite struct PagingTests {
    @Test func `offsets go on by the rows that came until there are no more`() throws {
        let paging = Paging(kind: .offset(query: "start"))
        #expect(
            try walk(paging, [answer(rows: 50, fingerprint: 1), answer(rows: 7, fingerprint: 2), answer(rows: 0)]) == [
                "50", "57",
            ])
        var counted = paging
        counted.total = DocumentPath("/total")
        #expect(
            try walk(counted, [answer(["total": 57], rows: 50), answer(["total": "57"], rows: 7, fingerprint: 1)]) == [
                "50"
            ])
    }

    @Test func `fewer or more rows than the system says, or another number, end the refresh`() {
        var paging = Paging(kind: .offset(query: "start"))
        paging.total = DocumentPath("/total")
        for answers in [
            [answer(["total": 5], rows: 6)], [answer(["total": 5], rows: 0)], [answer([:], rows: 5)],
            [answer(["total": -1], rows: 5)], [answer(["total": 5.5], rows: 5)],
        ] {
            #expect(throws: MirrorRefusal.self) { try walk(paging, answers) }
        }
        #expect(throws: PorticoError.self) {
            try walk(paging, [answer(["total": 5], rows: 2), answer(["total": 6], rows: 2, fingerprint: 1)])
        }
    }

    @Test func `a page that comes again and again ends the refresh`() {
        let same = answer(rows: 10, fingerprint: 99)
        for paging in [Paging(kind: .page(query: "page", first: 1)), Paging(kind: .offset(query: "start"))] {
            #expect(throws: MirrorRefusal(.unexpected, "pages lead in a circle")) {
                try walk(paging, Array(repeating: same, count: 4))
            }
        }
    }

    @Test(arguments: 1...9)
    func `cursors that lead in a circle are noticed, however long the way into it`(length: Int) {
        let paging = Paging(
            kind: .cursor(query: "c", from: .answer(DocumentPath(tokens: ["next"])), more: nil))
        let way = (0..<5).map { "in\($0)" }
        let circle = (0..<length).map { "c\($0)" }
        let cursors = way + (0..<20).flatMap { _ in circle }
        #expect(throws: MirrorRefusal(.unexpected, "pages lead in a circle")) {
            try walk(paging, cursors.map { answer(["next": .string($0)]) })
        }
    }

    @Test func `a cursor is a text of the answer or of the last row, up to one that is empty`() throws {
        let path = DocumentPath(tokens: ["meta", "next"])
        let paging = Paging(kind: .cursor(query: "cursor", from: .answer(path), more: nil))
        let ends: [WireValue] = [["meta": ["next": ""]], ["meta": ["next": .null]], [:]]
        for end in ends { #expect(try walk(paging, [answer(["meta": ["next": "a="]]), answer(end)]) == ["a="]) }
        let last = Paging(
            kind: .cursor(query: "after", from: .lastRow("id"), more: DocumentPath(tokens: ["more"])))
        #expect(
            try walk(last, [answer(["more": true], last: ["id": 7]), answer(["more": false], last: ["id": 8])]) == ["7"]
        )
        #expect(throws: MirrorRefusal.self) { try walk(last, [answer(["more": true], rows: 3)]) }
    }

    @Test(
        arguments: [
            .string(String(repeating: "x", count: Paging.longestCursor + 1)), "a\nb", ["a"], true, 1.5,
        ] as [WireValue])
    func `a cursor that is none ends the refresh`(cursor: WireValue) {
        let paging = Paging(kind: .cursor(query: "c", from: .answer(DocumentPath(tokens: ["n"])), more: nil))
        #expect(throws: MirrorRefusal.self) { try walk(paging, [answer(["n": cursor])]) }
    }

    @Test func `a link leads to an address of the same server`() throws {
        let paging = Paging(kind: .link(nil))
        let links = [
            #"<https://api.example/x,y>; title="a, \"b\"; rel=\"next\""; rel="last", <?page=2>; REL="prev next""#
        ]
        #expect(try walk(paging, [answer(links: links), answer()]) == ["https://api.example/v1/things?page=2"])
        for space in ["\t", " \t ", ""] {
            let link = "<?page=2>;\(space)rel\(space)=\(space)\"prev\(space.isEmpty ? " " : space)next\""
            #expect(try walk(paging, [answer(links: [link]), answer()]).count == 1, "\(link)")
        }
        let field = Paging(kind: .link(DocumentPath(tokens: ["next"])))
        #expect(
            try walk(field, [answer(["next": "/v1/more"]), answer(["next": .null])]) == ["https://api.example/v1/more"])
        for lie in [
            "https://other.example/", "http://api.example/", "//other.example/", "https://api.example:444/",
            "http://a b",
        ] {
            #expect(throws: MirrorRefusal.self) { try walk(paging, [answer(links: ["<\(lie)>; rel=next"])]) }
            #expect(throws: MirrorRefusal.self) { try walk(field, [answer(["next": .string(lie)])]) }
        }
        for nothing in [[], [""], ["<x>; rel"], [#"<x>; rel=next; anchor="/other""#], [" , <x>; rel=prev"]]
            as [[String]]
        {
            #expect(try walk(paging, [answer(links: nothing)]) == [])
        }
    }

    @Test(arguments: [
        "<", "<x", "<?page=2; rel=next", "next", #"<x>; title="a, <y>; rel=next"#, "<x>; rel=prev, ?page=2",
        "<?page=2>; rel next", "<?page=2>; r\u{a0}el=next",
    ])
    func `a malformed field Link is no last page`(field: String) {
        #expect(throws: MirrorRefusal.self) { try walk(Paging(kind: .link(nil)), [answer(links: [field])]) }
    }

    @Test func `pages have a number and a size where the system is asked so`() {
        var paging = Paging(kind: .page(query: "p", first: 0))
        paging.limit = (name: "n", size: 50)
        #expect(paging.query(at: PagePosition()).map { "\($0.name)=\($0.value)" } == ["n=50", "p=0"])
    }

    @Test(arguments: ["", "1", "1\n\n\n\n", "x\n\n\n0\n\n", "1\n\n\nx\n\n"])
    func `a position that is none is not read`(text: String) {
        #expect(PagePosition(text) == nil)
    }
}
