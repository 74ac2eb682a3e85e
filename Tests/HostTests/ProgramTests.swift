import AdapterKit
import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import Testing
import WireFormats

@testable import Host

/// The program from its arguments to its status.
@Suite(.timeLimit(.minutes(5))) struct ProgramTests {
    @Test func `a configuration is checked with its warnings and its adapters`() async throws {
        let good = try Program(
            ["check", "--config", "c.yaml"], files: ["c.yaml": "adapters: { chat: { enabled: false } }"])
        #expect(await good.status == 0)
        #expect(good.output.hasPrefix("c.yaml is valid. Adapters: ") && !good.output.contains("chat"))
        let bad = try Program(["check", "--config", "c.yaml"], files: ["c.yaml": "http: { prot: 1 }"])
        #expect(await bad.status == 1)
        #expect(bad.errors.contains("c.yaml:1:") && bad.output.isEmpty)
        let wrong = try Program(["check"])
        #expect(await wrong.status == 2)
        #expect(wrong.errors.contains("--config"))
    }

    @Test(arguments: ["configuration", "metrics", "errors"])
    func `references are the pages of the documentation`(subject: String) async throws {
        let program = try Program(["reference", subject])
        #expect(await program.status == 0)
        let page = URL(filePath: Configured.folder).deletingLastPathComponent().appending(path: "docs/\(subject).md")
        #expect(try program.output == String(contentsOf: page, encoding: .utf8))
    }

    @Test func `documents are converted, and what is wrong with one is said with its place`() async throws {
        let done = try Program(["convert", "--from", "json", "--to", "xml"], input: Array(#"{"a":1,"a":2}"#.utf8))
        #expect(await done.status == 0)
        #expect(done.output.contains("2") && done.errors.contains("1 members gave way"))
        let binary = try Program(["convert", "--from", "json", "--to", "bplist"], input: Array(#"{"a":[1,2,3]}"#.utf8))
        #expect(await binary.status == 0)
        let bytes = try Array(Data(contentsOf: binary.folder.appending(path: "out")))
        let back = try Program(["convert", "--from", "bplist", "--to", "json"], input: bytes)
        #expect(await back.status == 0)
        #expect(back.output.filter { !$0.isWhitespace } == #"{"a":[1,2,3]}"#)
        let wrong = try Program(["convert", "--from", "json"], input: Array("{".utf8))
        #expect(await wrong.status == 1)
        #expect(wrong.errors.hasPrefix("error: "))
        let limit = try Program(["convert", "--from", "json", "--max-depth", "0"])
        #expect(await limit.status == 2)
    }

    @Test func `a connection file is tried, and rows that do not fit are named`() async throws {
        let connection = """
            title: Things
            entities: { things: { file: t.csv, format: csv, key: id, fields: { id: integer, name: string } } }
            """
        let files = ["c.yaml": "{}", "x.yaml": connection, "t.csv": "id,name\n1,Ann\nx,Bob\n"]
        let text = try Program(["try", "--config", "c.yaml", "x.yaml"], files: files)
        _ = await text.status
        #expect(
            text.output.contains("Ann") && text.output.contains("what does not fit:"), "\(text.output)\(text.errors)")
        let json = try Program(["try", "--config", "c.yaml", "x.yaml", "--output", "json"], files: files)
        _ = await json.status
        let report = try JSONFormat().read(Array(json.output.utf8))
        #expect(report.arrayValue?.map { $0["entity"] } == ["things"], "\(json.output)")
        let other = try Program(["try", "--config", "c.yaml", "x.yaml", "--entity", "others"], files: files)
        #expect(await other.status == 1)
        #expect(other.errors.contains("x.yaml has no such entity."))
        let away = try Program(
            ["try", "--config", "c.yaml", "y.yaml"],
            files: [
                "c.yaml": """
                upstreams: { a: { url: "http://127.0.0.1:9/", networks: [127.0.0.1/32], limits: { tries: 1 } } }
                """,
                "y.yaml": """
                title: Things
                upstream: a
                entities: { things: { address: things, key: id, fields: { id: integer, name: string } } }
                """,
            ])
        #expect(await away.status == 1)
        #expect(away.output.contains("things: "), "\(away.output)\(away.errors)")
    }

    @Test func `an error code is explained, and one that is none has its likes`() async throws {
        let known = try Program(["explain", "record.notFound"])
        #expect(await known.status == 0)
        #expect(known.output.hasPrefix("record.notFound (HTTP status 404)\n") && known.output.contains("Operator: "))
        let unknown = try Program(["explain", "record.notfound"])
        #expect(await unknown.status == 1)
        #expect(unknown.errors.contains("record.notFound"))
        let all = try Program(["explain"])
        #expect(await all.status == 0)
        #expect(all.output.split(separator: "\n").count == ErrorCode.allCases.count)
    }

    // MARK: Serving

    private static let settings = """
        http: { port: 0, deadlines: { stop: 100s } }
        admin: { port: 0 }
        adapters: { users: {} }
        identity:
          basic: { enabled: true }
          passwords: { cost: 10 }
          demoAccounts: [{ name: alice, password: portico-demo, roles: [member] }]
        store: { sampleData: true }
        push: { log: true }
        upstreams: { hr: { url: "http://127.0.0.1:9/", networks: [127.0.0.1/32], limits: { tries: 1 } } }
        traces: { upstream: hr, ratio: 1.0 }
        """

    /// Asks with an account of the demonstration.
    private func get(_ address: String, _ client: HTTPClient, method: String = "GET", body: String = "") async throws
        -> (status: Int, text: String)
    {
        var request = HTTPClientRequest(url: address)
        request.method = .RAW(value: method)
        let credentials = Data("alice:portico-demo".utf8).base64EncodedString()
        if address.hasPrefix("http+unix") {
            request.headers.add(name: "Host", value: "localhost")
        } else {
            request.headers.add(name: "Authorization", value: "Basic \(credentials)")
        }
        if !body.isEmpty {
            request.headers.add(name: "Content-Type", value: "application/json")
            request.body = .bytes(ByteBuffer(string: body))
        }
        let answer = try await client.execute(request, timeout: .seconds(120))
        return (Int(answer.status.code), String(buffer: try await answer.body.collect(upTo: 1 << 20)))
    }

    @Test func `a gateway starts, takes up another configuration, and stops in order`() async throws {
        let text = Self.settings
        let gateway = try Program(["serve", "--config", "c.yaml", "--data", "d"], files: ["c.yaml": text])
        let line = try #require(try await gateway.line(with: "listening on http://127.0.0.1:"), "\(gateway.errors)")
        let address = try #require(line.split(separator: " ").last.map(String.init))
        let client = HTTPClient()
        do {
            #expect(try await get("\(address)/health/ready", client).status == 200)
            #expect(try await get("\(address)/v2/list", client).status == 200)
            let socket = gateway.folder.appending(path: "d/admin.sock").path
            func admin(_ path: String) throws -> String {
                try #require(URL(httpURLWithSocketPath: socket, uri: "/admin/v1/\(path)")?.absoluteString)
            }
            for path in ["status", "upstreams", "upstreams/hr", "configuration", "logs/levels", "mirrors", "store"] {
                let answer = try await get(admin(path), client)
                #expect(answer.status == 200, "\(path): \(answer)")
            }
            let test = try await get(admin("upstreams/hr/test"), client, method: "POST", body: "{}")
            #expect(test.status == 200 && test.text.contains("unreachable"), "\(test)")

            try gateway.write("\(text)\nlog: { level: debug }", to: "c.yaml")
            gateway.send(SIGHUP)
            let applied = try await gateway.line(with: "\"configuration applied\"")
            #expect(applied?.contains("\"keys\":\"log.level\"") == true)
            try gateway.write("\(text)\nlog: { level: debug }\nlimits: { adapterStartWait: 9s }", to: "c.yaml")
            gateway.send(SIGHUP)
            #expect(
                try await gateway.line(with: "limits.adapterStartWait: ")?.contains("configuration not applied") == true
            )
            try gateway.write("nothing: 1", to: "c.yaml")
            gateway.send(SIGUSR2)
            #expect(try await gateway.line(with: "\"not restarted\"")?.contains("nothing") == true)
            let changed = text.replacing("limits: { tries: 1 }", with: "limits: { tries: 2 }")
                .replacing("users: {}", with: "users: { access: public }")
            try gateway.write("\(changed)\nlog: { level: debug }", to: "c.yaml")
            gateway.send(SIGHUP)
            #expect(try await gateway.line(with: "adapters.users.access") != nil)
            #expect(try await get("\(address)/v2/list", client).status == 200)
        } catch {
            Issue.record(error)
        }
        try await client.shutdown()
        gateway.send(SIGTERM)
        #expect(await gateway.status == 0)
        #expect(gateway.errors.contains("\"stopping\"") && gateway.errors.contains("\"stopped\""))
    }

    @Test func `a gateway with TLS takes up a renewed certificate`() async throws {
        let files = try SelfSignedFiles()
        let text = """
            http: { port: 0, tls: { certificate: \(files.certificate), key: \(files.key) } }
            adapters: { odata: { enabled: false } }
            """
        let gateway = try Program(["serve", "--config", "c.yaml", "--data", "d"], files: ["c.yaml": text])
        #expect(try await gateway.line(with: "listening on https://127.0.0.1:") != nil, "\(gateway.errors)")
        try files.make(["--force"])
        gateway.send(SIGHUP)
        #expect(try await gateway.line(with: "certificate renewed") != nil)
        gateway.send(SIGINT)
        #expect(await gateway.status == 0)
    }

    @Test func `a gateway that cannot listen ends with the reason`() async throws {
        let gateway = try Program(
            ["serve", "--config", "c.yaml", "--data", "d"], files: ["c.yaml": "http: { host: 192.0.2.1, port: 1 }"])
        #expect(await gateway.status == 1)
        #expect(gateway.errors.contains("192.0.2.1:1 cannot be listened at"))
    }
}
