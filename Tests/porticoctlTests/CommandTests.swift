import AdapterKit
import Foundation
import NIOCore
import NIOPosix
import Synchronization
import Testing
import WireFormats

/// Every command, run as a program against a server at the admin socket.
@Suite struct CommandTests {
    /// A command, what it asks for, and what it shows of the answer.
    struct Exchange: Sendable, CustomTestStringConvertible {
        var command: [String]
        var request: AdminRequest
        var answer: WireValue
        var shown: String
        var input = ""

        init(_ command: String, _ request: AdminRequest, _ answer: WireValue, shown: String, input: String = "") {
            self.command = command.split(separator: " ").map(String.init)
            self.request = request
            self.answer = answer
            self.shown = shown
            self.input = input
        }

        var testDescription: String { command.joined(separator: " ") }
    }

    private static let cbor = "application/cbor"

    private static func get(_ path: String) -> AdminRequest { AdminRequest("GET", "/admin/v1/" + path) }
    private static func post(_ path: String, _ body: WireValue) -> AdminRequest {
        AdminRequest("POST", "/admin/v1/" + path, body, type: cbor)
    }
    private static func post(_ path: String) -> AdminRequest { AdminRequest("POST", "/admin/v1/" + path) }

    static let exchanges: [Exchange] = [
        Exchange("status", get("status"), ["ready": true, "version": "1"], shown: "ready: yes\nversion: 1\n"),
        Exchange(
            "adapters list", get("adapters"),
            ["adapters": [["name": "chat", "title": "Chat", "state": "up", "entities": ["a", "b"], "other": 1]]],
            shown: "NAME  TITLE  VERSION  STATE  ACCESS  ENTITIES\nchat  Chat            up             a, b\n"),
        Exchange("adapters show a/b", get("adapters/a%2Fb"), ["name": "a/b"], shown: "name: a/b\n"),
        Exchange(
            "upstreams list", get("upstreams"), ["upstreams": [["name": "crm", "active": 3]]],
            shown: "NAME  STATE  ACTIVE  WAITING  CALLS  CREDENTIALS  URL\ncrm          3\n"),
        Exchange("upstreams show crm", get("upstreams/crm"), ["calls": ["ok": 2]], shown: "calls:\n  ok: 2\n"),
        Exchange(
            "upstreams test crm", post("upstreams/crm/test", [:]), ["answered": true], shown: "answered: yes\n"),
        Exchange(
            "mirrors list", get("mirrors"), ["mirrors": [["name": "employees/people", "state": "fresh"]]],
            shown: "NAME              UPSTREAM  STATE  ASOF  AGE  FAILURES\n"
                + "employees/people            fresh\n"),
        Exchange(
            "mirrors show employees/people", get("mirrors/employees/people"), ["state": "fresh"],
            shown: "state: fresh\n"),
        Exchange(
            "mirrors show employees/people", get("mirrors/employees/people"), ["ageSeconds": 250, "bytes": 2048],
            shown: "age: 4 min 10 s\nbytes: 2.0 KiB\n"),
        Exchange(
            "mirrors refresh employees/a/b", post("mirrors/employees/a%2Fb/refresh", [:]), ["changed": 1],
            shown: "changed: 1\n"),
        Exchange(
            "mirrors release employees/people --yes", post("mirrors/employees/people/release", [:]), ["changed": 2],
            shown: "changed: 2\n"),
        Exchange(
            "writes list", get("writes"), ["writes": [["id": "w1", "state": "refused"]]],
            shown:
                "ID  COLLECTION  RECORD  STATE    REASON  TRIES  ANSWER  AUTHOR  CREATED\nw1                      refused\n"
        ),
        Exchange("writes show w1", get("writes/w1"), ["id": "w1"], shown: "id: w1\n"),
        Exchange("writes retry w1", post("writes/w1/retry", [:]), ["state": "waiting"], shown: "state: waiting\n"),
        Exchange("writes drop w1 --yes", post("writes/w1/drop", [:]), [:], shown: ""),
        Exchange(
            "accounts list", get("accounts"), ["accounts": [["name": "al", "roles": ["member"], "state": "active"]]],
            shown: "NAME  DISPLAYNAME  ROLES   STATE\nal                 member  active\n"),
        Exchange(
            "accounts add al --role a --role b --display-name Al",
            post("accounts", ["name": "al", "roles": ["a", "b"], "password": "secret word", "displayName": "Al"]),
            ["name": "al"], shown: "name: al\n", input: "secret word\nsecond line\n"),
        Exchange(
            "accounts add robot --without-password", post("accounts", ["name": "robot", "roles": []]),
            ["name": "robot"], shown: "name: robot\n"),
        Exchange("accounts disable al", post("accounts/al/disable"), .null, shown: "al is disabled.\n"),
        Exchange("accounts enable al", post("accounts/al/enable"), .null, shown: "al is enabled.\n"),
        Exchange(
            "accounts password al", post("accounts/al/password", ["password": "new"]), .null,
            shown: "The password of al is set.\n", input: "new\n"),
        Exchange(
            "accounts roles al", get("accounts/al"), ["name": "al", "roles": ["a"], "state": "active"],
            shown: "name: al\nroles: a\n"),
        Exchange(
            "accounts roles al a --new-role", post("accounts/al/roles", ["roles": ["a"], "newRole": true]), .null,
            shown: "The roles of al are set.\n"),
        Exchange(
            "accounts roles al a b", post("accounts/al/roles", ["roles": ["a", "b"]]), .null,
            shown: "The roles of al are set.\n"),
        Exchange(
            "roles list", get("accounts"),
            [
                "accounts": [
                    ["name": "al", "roles": ["b", "a"]], ["name": "bo", "roles": ["a"]], ["name": "c"],
                ]
            ], shown: "ROLE  ACCOUNTS\na     al, bo\nb     al\n"),
        Exchange(
            "roles grant al a", post("accounts/al/roles/grant", ["roles": ["a"]]), .null,
            shown: "The roles of al are changed.\n"),
        Exchange(
            "roles revoke al a", post("accounts/al/roles/revoke", ["roles": ["a"]]), .null,
            shown: "The roles of al are changed.\n"),
        Exchange(
            "sessions list al", get("accounts/al/sessions"), ["sessions": [["id": "s1"]]],
            shown: "ID  CREATED  LASTUSED  EXPIRES  ADDRESS  AGENT\ns1\n"),
        Exchange(
            "sessions revoke al", post("accounts/al/sessions/revoke", [:]), .null,
            shown: "The sessions of al have ended.\n"),
        Exchange(
            "sessions revoke al s1", post("accounts/al/sessions/revoke", ["id": "s1"]), .null,
            shown: "The session has ended.\n"),
        Exchange(
            "console sessions al", get("accounts/al/console-sessions"), ["sessions": [["id": "c1", "role": "viewer"]]],
            shown: "ID  ROLE    CREATED  LASTUSED  EXPIRES  ADDRESS  AGENT\nc1  viewer\n"),
        Exchange(
            "console revoke al", post("accounts/al/console-sessions/revoke", [:]), .null,
            shown: "The sign-ins of al at the console have ended.\n"),
        Exchange(
            "console revoke al c1", post("accounts/al/console-sessions/revoke", ["id": "c1"]), .null,
            shown: "The sign-in at the console has ended.\n"),
        Exchange(
            "keys list al", get("accounts/al/keys"), ["keys": [["id": "k1", "readOnly": true]]],
            shown: "ID  TITLE  ROLES  ADAPTERS  READONLY  CREATED  EXPIRES\nk1                          yes\n"),
        Exchange(
            "keys create al --title T", post("accounts/al/keys", ["title": "T", "readOnly": false]), ["key": "pk_1"],
            shown: "key: pk_1\n"),
        Exchange(
            "keys create al --title T --role a --adapter chat --read-only --days 3",
            post(
                "accounts/al/keys",
                ["title": "T", "readOnly": true, "roles": ["a"], "adapters": ["chat"], "days": 3]), ["key": "pk_1"],
            shown: "key: pk_1\n"),
        Exchange(
            "keys revoke al k1", post("accounts/al/keys/revoke", ["id": "k1"]), .null, shown: "The key is revoked.\n"),
        Exchange(
            "keys rotate-signing --distrust-old --yes", post("signing-keys/rotate", ["distrustOld": true]),
            ["keys": [["kid": "1", "alg": "ES256", "use": "sig"]]], shown: "KID  ALG    USE\n1    ES256  sig\n"),
        Exchange(
            "audit list --limit 2 --before 9", post("audit/entries", ["limit": 2, "before": 9]),
            ["entries": [["number": 8, "kind": "login"]]],
            shown: "NUMBER  TIME  KIND   ACTOR  SUBJECT  ADDRESS  DETAIL\n8             login\n"),
        Exchange(
            "audit list", post("audit/entries", ["limit": 100]), ["entries": []],
            shown: "There are none.\n"),
        Exchange("audit verify", post("audit/verify", [:]), ["intact": true], shown: "intact: yes\n"),
        Exchange(
            "audit verify --head h", post("audit/verify", ["head": "h"]), ["intact": true], shown: "intact: yes\n"),
        Exchange(
            "feeds list", post("adapters/feeds/operations/list", [:]), ["feeds": [["name": "sonnets", "version": 2]]],
            shown: "NAME     TITLE  VERSION  PUBLISHED\nsonnets         2\n"),
        Exchange(
            "feeds versions sonnets", post("adapters/feeds/operations/versions", ["name": "sonnets"]),
            ["versions": [["version": 2, "current": true]]],
            shown: "VERSION  PUBLISHED  PUBLISHEDBY  CURRENT\n2                                yes\n"),
        Exchange(
            "feeds rollback sonnets 1",
            post("adapters/feeds/operations/rollback", ["name": "sonnets", "version": 1]), ["version": 3],
            shown: "version: 3\n"),
        Exchange("sync status", get("sync/status"), ["position": 7], shown: "position: 7\n"),
        Exchange(
            "sync changes --after 5 --limit 3", get("sync/changes?limit=3&after=5"), ["changes": [["position": 6]]],
            shown: "POSITION  TIME  KIND  COLLECTION  ID  CHANGED\n6\n"),
        Exchange(
            "sync changes", get("sync/changes?limit=100"), ["changes": []],
            shown: "There are none.\n"),
        Exchange(
            "sync explain al notes/a?b", get("sync/explanations/al/notes/a%3Fb"), ["visible": true],
            shown: "visible: yes\n"),
        Exchange(
            "sync compact --dry-run", post("sync/compaction", ["dryRun": true]), ["removed": 0], shown: "removed: 0\n"),
        Exchange(
            "sync compact --yes", post("sync/compaction", ["dryRun": false]), ["removed": 4], shown: "removed: 4\n"),
        Exchange("sync sweep --yes", post("sync/sweep", [:]), ["attachments": 1], shown: "attachments: 1\n"),
        Exchange(
            "backup /a/b/../c", post("backup", ["directory": "/a/c"]), ["bytes": 5, "attachments": ["count": 0]],
            shown:
                "The backup /a/c is complete and was checked: 5 bytes, 0 attachments of 0 bytes; 0 changes so far, none is kept for devices.\n"
        ),
        Exchange(
            "backup", post("backups", [:]),
            ["name": "20261126T232447Z-5f0c91aa", "begun": "2026-11-26T23:24:47Z", "bytes": 5, "attachments": 1],
            shown:
                "The copy 20261126T232447Z-5f0c91aa of 5 bytes with 1 attachment, begun at 2026-11-26T23:24:47Z, is complete; it was restored and checked.\n"
        ),
        Exchange(
            "backups verify 20261126T232447Z-5f0c91aa",
            post("backups/verification", ["copy": "20261126T232447Z-5f0c91aa"]),
            ["name": "20261126T232447Z-5f0c91aa", "begun": "2026-11-26T23:24:47Z", "bytes": 5, "missingPiece": .null],
            shown:
                "The copy 20261126T232447Z-5f0c91aa of 5 bytes, begun at 2026-11-26T23:24:47Z, was restored and checked, and is good.\n"
        ),
    ]

    @Test func `each command asks the gateway for its own, and shows the answer`() async throws {
        for exchange in Self.exchanges {
            let server = AdminServer { _ in (200, exchange.answer) }
            let done = try await AdminServer.serving(server) { data, _ in
                try await Porticoctl(exchange.command + ["--data", data], input: exchange.input)
            }
            #expect(done.status == 0, "\(exchange.testDescription): \(done)")
            #expect(server.requests == [exchange.request], "\(exchange.testDescription)")
            #expect(done.output == exchange.shown, "\(exchange.testDescription)")
        }
    }

    @Test func `JSON is shown as it came, and a command without an answer says that it is done`() async throws {
        let server = AdminServer { _ in (200, ["accounts": [["name": "\u{1B}[2J", "roles": []]]]) }
        let (list, disabled) = try await AdminServer.serving(server) { data, _ in
            let end = ["--output", "json", "--data", data]
            return (
                try await Porticoctl(["accounts", "list"] + end),
                try await Porticoctl(["accounts", "disable", "al"] + end)
            )
        }
        #expect(list.json == ["accounts": [["name": "\u{1B}[2J", "roles": []]]])
        #expect(disabled.json == ["done": true])
    }

    @Test func `nested values are shown as lines`() async throws {
        let server = AdminServer { _ in (200, ["a": [["b": 1, "c": [1, 2]], "d"], "e": .null]) }
        let status = try await AdminServer.serving(server) { data, _ in
            try await Porticoctl(["status", "--data", data])
        }
        #expect(status.output == "a:\n  -\n    b: 1\n    c:\n      - 1\n      - 2\n  - d\ne: -\n")
    }

    @Test func `an error's message, its target and its exit status are those of the answer`() async throws {
        for (status, body, expected, message) in [
            (404, ["error": ["message": "There is none.", "target": "name"]], 1, "There is none. (name)"),
            (401, ["error": ["message": "Sign in."]], 4, "Sign in."), (500, .null, 1, "The gateway answered 500."),
        ] as [(Int, WireValue, Int32, String)] {
            let server = AdminServer { _ in (status, body) }
            let done = try await AdminServer.serving(server) { data, _ in
                try await Porticoctl(["status", "--data", data])
            }
            #expect(done.status == expected && done.errors == "porticoctl: \(message)\n" && done.output == "")
        }
    }

    @Test func `what was asked of the gateway and is not so ends with 1`() async throws {
        let server = AdminServer { _ in (200, ["intact": false, "answered": false]) }
        let (audit, upstream) = try await AdminServer.serving(server) { data, _ in
            (
                try await Porticoctl(["audit", "verify", "--data", data]),
                try await Porticoctl(["upstreams", "test", "crm", "--data", data])
            )
        }
        #expect(audit.status == 1 && audit.errors == "porticoctl: The audit log is not intact.\n")
        #expect(upstream.status == 1 && upstream.errors == "porticoctl: The upstream crm does not answer.\n")
        #expect(audit.output.hasPrefix("intact: no"))
    }

    @Test func `wrong usage ends with 2, help with 0`() async throws {
        for wrong in [
            ["nothing"], ["accounts", "add"], ["odata", "import", "s", "t", "f.csv", "--from", "0"],
            ["odata", "import", "s", "t", "f.csv", "--from", "2", "--mode", "replace"],
            ["odata", "parse", "--rule", "nothing", "x"],
            ["odata", "parse", "--url", "http://a", "--rule", "filter", "x"],
        ] {
            let done = try await Porticoctl(wrong)
            #expect(done.status == 2 && !done.errors.isEmpty && done.output.isEmpty, "\(wrong): \(done)")
        }
        let help = try await Porticoctl(["--help"])
        #expect(help.status == 0 && help.output.contains("Administers a running Portico."))
    }

    @Test func `an account is not added without a password`() async throws {
        let server = AdminServer { _ in (200, [:]) }
        let done = try await AdminServer.serving(server) { data, _ in
            try await Porticoctl(["accounts", "add", "al", "--data", data], input: "\n")
        }
        #expect(done.status == 2 && done.errors.contains("no password") && server.requests.isEmpty)
    }

    @Test func `a gateway that does not answer any more is reported as such`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "ctl-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try Data().write(to: folder.appending(path: "admin.sock"))
        let done = try await Porticoctl(["status", "--data", folder.path])
        let sentence = "No gateway runs here: \(folder.path)/admin.sock is left of one that has ended."
        #expect(done.status == 1 && done.errors == "porticoctl: \(sentence) Name its data directory with --data.\n")
    }

    @Test func `where nothing listens, the option that names another address is named`() async throws {
        let done = try await Porticoctl(["status", "--url", "http://127.0.0.1:9"])
        #expect(done.status == 1)
        #expect(
            done.errors
                == "porticoctl: Nothing listens at http://127.0.0.1:9. Name a gateway's admin listener with --url.\n")
    }

    @Test func `a file of authorities that holds no certificate is refused before anything is sent`() async throws {
        let done = try await Porticoctl(["status", "--url", "https://127.0.0.1:9", "--authorities", "/dev/null"])
        #expect(done.status == 2 && done.errors.contains("--authorities"))
    }

    @Test func `a connection that ends in the handshake is not tried again, and its address is named`() async throws {
        let accepted = Atomic(0)
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                accepted.add(1, ordering: .relaxed)
                return channel.close()
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let url = "https://127.0.0.1:\(listener.localAddress?.port ?? 0)"
        let done = try await Porticoctl(["status", "--url", url])
        #expect(done.status == 1 && done.errors.contains("The gateway does not answer at \(url)"))
        #expect(accepted.load(ordering: .relaxed) == 1)
        try await listener.close().get()
    }
}
