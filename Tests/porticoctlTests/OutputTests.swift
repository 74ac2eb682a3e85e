import AdapterKit
import ArgumentParser
import CommandLineSupport
import Testing

@testable import porticoctl

/// What the commands print, and how they read command lines.
@Suite struct OutputTests {
    @Test func `a table has columns as wide as their longest cell, and no spaces at its lines' ends`() {
        let rows: [WireValue] = [
            ["name": "alice", "roles": ["member", "editor"], "disabled": false],
            ["name": "bo", "roles": [], "disabled": true],
            ["name": "c"],
        ]
        #expect(
            Table(columns: ["name", "roles", "disabled"], rows: rows).text == """
                NAME   ROLES           DISABLED
                alice  member, editor  no
                bo                     yes
                c
                """)
    }

    @Test(
        arguments: [
            (.null, "-"), (.bool(true), "yes"), (.bool(false), "no"), (.int64(-3), "-3"),
            (.uint64(.max), "18446744073709551615"),
            (.double(1.5), "1.5"), (.string("a"), "a"), (.date(WireDate(secondsSince1970: 0)), "1970-01-01T00:00:00Z"),
            (.array(["a", "b"]), "a, b"), (.array([]), ""), (.array([1]), nil), (.dictionary(["a": 1]), nil),
            (.data([1]), nil),
        ] as [(WireValue, String?)])
    func `single values are one word, others are none`(value: WireValue, expected: String?) {
        #expect(value.word == expected)
    }

    @Test func `what would move a terminal's cursor or hide text is escaped`() {
        #expect("a\u{1B}[2Jb".visible == "a\\u{1b}[2Jb")
        #expect("x\u{202E}y\u{200B}\u{2028}".visible == "x\\u{202e}y\\u{200b}\\u{2028}")
        #expect("ä\nö".visible == "ä\\u{a}ö")
        #expect("ä\nö\u{7}".visibleLines == "ä\nö\\u{7}")
    }

    @Test func `a text that begins with a dash is no option of odata parse`() {
        #expect(
            ODataParse.separatingText(["odata", "parse", "--rule", "filter", "-1 eq 2"]) == [
                "odata", "parse", "--rule", "filter", "--", "-1 eq 2",
            ])
        for plain in [
            ["odata", "parse", "--help"], ["odata", "parse", "--", "-1"], ["odata", "import", "-x"],
            ["odata", "parse", "1"], [],
        ] {
            #expect(ODataParse.separatingText(plain) == plain)
        }
    }

    @Test(
        arguments: [
            (["statsu"], "Did you mean status?"), (["acounts", "list"], "Did you mean accounts?"),
            (["accounts", "lst"], "Did you mean list?"), (["config", "aply", "--dry-run"], "Did you mean apply?"),
            (["admin", "tokens", "ad", "x"], "Did you mean add?"), (["status"], nil),
            (["accounts", "add", "lst"], nil),
            (["quite-another-word"], nil), ([], nil), (["--help"], nil),
            (["-o", "json", "status"], "Options stand behind the whole command."),
            (["--version"], nil), (["logs", "--since", "5"], nil),
        ] as [([String], String?)])
    func `a mistyped verb gets the one that is most like it`(arguments: [String], hint: String?) {
        #expect(MistypedVerb(arguments, of: PorticoControl.self).hint == hint)
    }

    @Test func `a segment of a path keeps none of the characters that end it`() {
        #expect("a/b?c#d e".asPathSegment == "a%2Fb%3Fc%23d%20e")
        #expect("Az09-._~".asPathSegment == "Az09-._~")
    }

    @Test func `a service is a file where it looks like one, and needs a gateway where it is a name`() {
        func kind(_ service: String, _ gateway: String? = nil) -> String {
            switch ModelSource(service: service, gateway: gateway, user: nil) {
            case .file: "file"
            case .served: "served"
            case nil: "none"
            }
        }
        #expect(["./model", "model.xml", "model.json"].map { kind($0) } == ["file", "file", "file"])
        #expect(kind("sales") == "none" && kind("sales", "http://127.0.0.1") == "served")
    }

    @Test func `commands are read with their options, and wrong ones are refused`() throws {
        let add = try #require(
            try PorticoControl.parseAsRoot(["accounts", "add", "alice", "--role", "a", "--role", "b", "--data", "/d"])
                as? Accounts.Add)
        #expect(
            add.name == "alice" && add.role == ["a", "b"] && add.options.place == .data("/d") && !add.withoutPassword)
        #expect(add.options.output == .text)
        let key = try #require(
            try PorticoControl.parseAsRoot(["accounts", "list", "-o", "json"]) as? Accounts.List)
        #expect(key.options.output == .json && key.options.namedData == nil)
        for wrong in [
            ["accounts", "add"], ["nothing"], ["accounts", "list", "--output", "xml"], ["feeds", "rollback", "x", "y"],
        ] {
            #expect(throws: (any Error).self) { try PorticoControl.parseAsRoot(wrong) }
        }
    }

    @Test func `a command without a running gateway says where it looked`() async throws {
        let list = try #require(
            try PorticoControl.parseAsRoot(["accounts", "list", "--data", "/nowhere/at/all"]) as? Accounts.List)
        let error = await #expect(throws: CommandError.self) { try await list.run() }
        #expect(error?.message.contains("/nowhere/at/all/admin.sock") == true && error?.exitStatus == 1)
    }
}
