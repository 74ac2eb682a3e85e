import AdapterKit
import CommandLineSupport
import Testing
import ValueTree

@testable import porticoctl

/// What people read: figures, colours, and where the gateway is looked for.
@Suite struct WordsTests {
    @Test(
        arguments: [
            (0, "0"), (7, "7"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567"), (-1_000, "-1,000"),
            (Int64.min, "-9,223,372,036,854,775,808"),
        ] as [(Int64, String)])
    func `numbers have a comma before every three digits`(number: Int64, text: String) {
        #expect(Figures.count(number) == text)
    }

    @Test func `one of a kind is no plural`() {
        #expect(Figures.count(1, "row") == "1 row")
        #expect(Figures.count(0, "row") == "0 rows")
    }

    @Test(
        arguments: [
            (0, "0 bytes"), (1, "1 byte"), (1_023, "1,023 bytes"), (1_024, "1.0 KiB"), (1_536, "1.5 KiB"),
            (48 << 20, "48.0 MiB"),
            (3 << 30, "3.0 GiB"),
        ] as [(Int64, String)])
    func `sizes are in the largest unit that fits`(number: Int64, text: String) {
        #expect(Figures.bytes(number) == text)
    }

    @Test(
        arguments: [
            ("30s", 30), ("15m", 900), ("8h", 28_800), ("2d", 172_800), ("0s", 0), ("15", nil), ("m", nil),
            ("-1m", nil), ("", nil),
            ("1.5h", nil), ("15 m", nil),
        ] as [(String, Double?)])
    func `a time span is a number and its unit`(text: String, seconds: Double?) {
        #expect(Figures.seconds(text) == seconds)
    }

    @Test(
        arguments: [
            (0, "0.0 s"), (0.25, "0.25 s"), (9, "9 s"), (60, "1 min"), (250, "4 min 10 s"), (3_600, "1 h"),
            (97_200, "1 d 3 h"), (86_400_000, "1,000 d"),
        ] as [(Double, String)])
    func `a length of time is in its two largest units`(seconds: Double, text: String) {
        #expect(Figures.duration(seconds) == text)
    }

    @Test func `counts by name stand in one cell of a table`() {
        let rows: [WireValue] = [
            ["id": "d", "outcomes": ["applied": 2, "rejected": 1]], ["id": "e", "outcomes": [:]],
        ]
        let table = Table(
            columns: ["id", "outcomes"], rows: rows, style: TextStyle(isTerminal: false, environment: [:]))
        #expect(table.text == "ID  OUTCOMES\nd   2 applied, 1 rejected\ne")
    }

    @Test func `colours are for terminals that want them`() {
        #expect(TextStyle(isTerminal: true, environment: [:])(.red, "a") == "\u{1B}[31ma\u{1B}[0m")
        #expect(TextStyle(isTerminal: true, environment: ["NO_COLOR": ""])(.bold, "a") == "\u{1B}[1ma\u{1B}[0m")
        for style in [
            TextStyle(isTerminal: false, environment: [:]), TextStyle(isTerminal: true, environment: ["NO_COLOR": "1"]),
            TextStyle(isTerminal: true, environment: ["TERM": "dumb"]),
        ] { #expect(style(.red, "a") == "a") }
        #expect(TextStyle(isTerminal: true, environment: [:])(.red, "").isEmpty)
    }

    @Test func `a table's columns keep their width under colours`() {
        let style = TextStyle(isTerminal: true, environment: [:])
        #expect(Table(columns: ["name"], rows: [["name": "a"]], style: style).text == "\u{1B}[1mNAME\u{1B}[0m\na")
    }

    @Test(
        arguments: [
            (nil, nil, [:], [], .data(".portico")), (nil, nil, [:], ["/var/lib/portico"], .data("/var/lib/portico")),
            (nil, nil, [:], [".portico", "/var/lib/portico"], .data(".portico")),
            (nil, nil, ["PORTICO_DATA": "/srv"], [".portico"], .data("/srv")),
            (nil, nil, ["PORTICO_DATA": ""], [".portico"], .data(".portico")),
            (nil, nil, ["PORTICO_DATA": "/srv", "PORTICO_URL": "https://a"], [], .address("https://a")),
            (nil, "d", ["PORTICO_DATA": "/srv", "PORTICO_URL": "https://a"], [], .data("d")),
            ("https://b", "d", ["PORTICO_URL": "https://a"], [], .address("https://b")),
        ] as [(String?, String?, [String: String], [String], GatewayPlace)])
    func `options come before the environment, and the environment before the usual folders`(
        url: String?, data: String?, environment: [String: String], there: [String], place: GatewayPlace
    ) {
        #expect(GatewayPlace(url: url, data: data, environment: environment) { there.contains($0) } == place)
    }

    @Test func `a store is described in words`() {
        let report = StoreReport([
            "bytes": 1_048_576, "freeBytes": 1_024, "logFileBytes": 0, "position": 12_000, "floor": 2_000,
            "rows": ["a/b": 1_500, "c/d": 1], "attachments": ["count": 1, "bytes": 2_048, "damaged": ["x"]],
        ])
        #expect(
            report.contents == "1.0 MiB, 1,501 rows in 2 collections, 1 attachment of 2.0 KiB; "
                + "12,000 changes so far, those after 2,000 are kept for devices")
        #expect(report.damage.contains("x") && report.text.contains("a/b"))
        #expect(StoreReport(["position": 3, "floor": 3]).contents.hasSuffix("none is kept for devices"))
    }

    @Test func `what a deletion removes is counted by entity`() {
        let value: WireValue = [
            "name": "ada", "sessions": 1, "keys": 2, "devices": 0,
            "rows": [
                ["collection": "notes/notes", "deleted": 1, "kept": 3],
                ["collection": "chat/rooms", "deleted": 0, "kept": 0],
            ],
        ]
        #expect(
            Accounts.Delete.words(value, willBe: false) == """
                ada is deleted, with 1 sign-in, 2 API keys and 0 devices.
                notes/notes: 1 row deleted; 3 that others reach too stay.
                chat/rooms: 0 rows deleted.
                """)
        #expect(Accounts.Delete.words(value, willBe: true).hasPrefix("ada would be deleted, with 1 sign-in"))
    }
}
