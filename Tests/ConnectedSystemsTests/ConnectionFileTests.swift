import AdapterKit
import Foundation
import HostConfiguration
import Testing
import WireFormats

@testable import ConnectedSystems

private let sound = """
    title: Issues
    upstream: tracker
    entities:
      issues:
        address: issues
        list: /items
        key: id
        fields:
          id: integer
          title: {type: string, maximumLength: 100, required: true}
          state: {type: choice, values: [open, closed]}
          author: {type: string, from: /user/login}
          changed: date
        indexes: [state, [state, changed]]
        search: [title]
        owner: author
        paging: {kind: page, query: page, limit: size, size: 50}
        changes: {field: changed, query: {since: "{date(changed, unix)}"}}
        record: {address: "issues/{id}"}
        write:
          mode: queued
          update: {method: PATCH, address: "issues/{id}", body: {title: "{title}", n: 1, s: "1"}}
        freshFor: 1m
        guard: {share: 0.25}
    operations:
      find:
        summary: Finds issues.
        input: {text: {type: string, required: true}}
        request: {method: GET, address: search, query: {q: "{text}"}}
        list: /items
        fields: {id: integer, title: string}
    """

private func errors(_ text: String) -> [String] {
    do {
        _ = try Connection(text, file: "c.yaml")
        return []
    } catch { return error.errors.map(\.description) }
}

/// The sound file with one text in place of another.
private func changed(_ old: String, _ new: String) -> String {
    #expect(sound.contains(old))
    return sound.replacing(old, with: new, maxReplacements: 1)
}

@Suite struct ConnectionFileTests {
    @Test func `a file makes the declaration of an adapter`() throws {
        let connection = try Connection(sound, file: "c.yaml")
        let declaration = connection.declaration(named: "tracker")
        let entity = try #require(declaration.entity("issues"))
        #expect(entity.fields.map(\.name.text) == ["id", "title", "state", "author", "changed"])
        #expect(entity.indexes == [Index(["state"]), Index(["state", "changed"])])
        #expect(entity.rows.read == .owner("author"))
        let mirror = try #require(declaration.mirror(of: "issues"))
        #expect(mirror.reading == .increments)
        #expect(mirror.writing == .queued)
        #expect(mirror.changes == [.update, .replace])
        #expect(mirror.upstream == "tracker")
        #expect(mirror.settings.freshFor == .seconds(60))
        #expect(mirror.settings.guard == MirrorSettings.Guard(share: 0.25, from: 20))
        let operation = try #require(declaration.operation("find"))
        #expect(operation.effect == .reads)
        #expect(operation.callThrough?.upstream == "tracker")
        #expect(declaration.mirrorProblems == [])
        #expect(declaration.access == AccessRights() && declaration.readers(of: entity) == .login)
    }

    @Test(arguments: [
        ("title: Issues\n", "", "1:1: Here title is missing."),
        ("upstream: tracker", "upstreem: tracker", "2:1: There is no key upstreem. Did you mean upstream?"),
        ("upstream: tracker", "upstream: Not A Name", "2:11: This cannot be the name of an upstream."),
        ("upstream: tracker\n", "", "4:14: The connection names no upstream for this address."),
        ("list: /items", "list: items", "6:11: This is no path: it begins with `/`, and `~` is written `~0`."),
        ("list: /items", "list: [a]", "6:11: Here must stand a text."),
        ("key: id", "key: other", "7:10: `key` names no field; the fields are id, title, state, author, changed."),
        ("key: id", "key: changed", "7:10: A key is a string or an integer."),
        ("id: integer", "id: number", "7:10: A key is a string or an integer."),
        ("id: integer", "id: int", "9:11: There is no type int"),
        ("id: integer", "2id: integer", "9:7: A field's name has letters, digits and `_`."),
        ("maximumLength: 100", "maximumLength: 0", "10:44: Here must stand a whole number from 1"),
        ("type: string, maximumLength", "type: date, maximumLength", "10:42: Only the type string has maximumLength."),
        ("id: integer", "id: integer\n      ID: string", "10:7: Another one has this name but for its case."),
        ("values: [open, closed]", "values: []", "11:21: A choice needs values."),
        ("indexes: [state,", "indexes: [nothing,", "14:15: There is no field `nothing`: there are"),
        ("search: [title]", "search: [id]", "15:14: A search covers fields of the type string."),
        ("owner: author", "owner: id", "16:12: The owner is a text field."),
        ("kind: page", "kind: pages", "17:20: Here must stand one of offset, page, cursor, link."),
        ("kind: page,", "kind: cursor,", "17:13: A cursor is at `next` of the answer"),
        ("kind: page,", "kind: link,", "17:26: Paging by link has no query."),
        (", size: 50", "", "17:13: `limit` and `size` stand together."),
        ("field: changed, query", "field: nothing, query", "18:22: There is no field nothing."),
        (
            "{date(changed, unix)}", "{date(changed, minute)}",
            "18:46: `date` knows rfc3339, day, unix, unixMilliseconds."
        ),
        ("{date(changed, unix)}", "now", "18:38: No member of the query has `{changed}`."),
        (
            "record: {address: \"issues/{id}\"}", "record: {address: \"issues/{nr}\"}",
            "19:23: There is no field `nr`: there are id."
        ),
        (
            "address: issues\n", "address: https://other.example/\n",
            "5:14: This is no address relative to the upstream's `url`."
        ),
        (
            "address: issues\n", "address: //other.example/\n",
            "5:14: This is no address relative to the upstream's `url`."
        ),
        ("address: issues\n", "address: issues/{id}\n", "5:14: There is no field `id`: none may stand here."),
        ("body: {title: \"{title}\"", "body: {title: \"{upper(title)}\"", "22:69: There is no function `upper`"),
        ("mode: queued", "mode: sometimes", "21:13: Here must stand one of through, queued."),
        ("method: PATCH", "method: BREW", "22:24: Here must stand one of GET"),
        ("freshFor: 1m", "freshFor: 8d", "23:15: What is fresh cannot be too old"),
        ("share: 0.25", "share: 2", "24:20: A share is from 0 to 1."),
        (
            "text: {type: string, required: true}", "text: {type: string, from: /x}",
            "28:40: An input stands nowhere else."
        ),
        ("  issues:\n", "  issues:\n    address: x\n", "6:5: The key address stands here a second time."),
        ("operations:", "  issues: {}\noperations:", "The key issues stands here a second time."),
        ("title: Issues", "title: &a Issues", "1:8: Anchors and aliases are not supported."),
        ("title: Issues", "title: [", "This is not valid YAML"),
        ("entities:", "headers: {Host: x}\nentities:", "3:11: This is no header field that a request may have."),
        ("entities:", "headers: {X: \"é\"}\nentities:", "3:14: A header field's value is visible ASCII."),
        ("    address: issues\n", "    file: a.csv\n", "17:13: A file has no paging."),
    ])
    func `what is wrong is told with line and column`(old: String, new: String, message: String) {
        let found = errors(changed(old, new))
        #expect(found.contains { $0.contains(message) }, "\(found)")
        #expect(found.allSatisfy { $0.hasPrefix("c.yaml:") })
    }

    @Test func `an entity has a limit of fields`() {
        let more = { (count: Int) in (0..<count).map { "      f\($0): string\n" }.joined() }
        #expect(errors(changed("      id: integer\n", "      id: integer\n" + more(495))) == [])
        #expect(
            errors(changed("      id: integer\n", "      id: integer\n" + more(496)))
                == ["c.yaml:509:7: There are more than 500 fields."])
    }

    @Test func `control characters of a file do not reach the terminal`() {
        let found = errors(changed("upstream: tracker", #""up\e[2J\nx\u202e": tracker"#))
        #expect(found.contains { $0.contains(#"There is no key up\u{1b}[2J\u{a}x\u{202e}"#) }, "\(found)")
        #expect(found.allSatisfy { error in error.unicodeScalars.allSatisfy { $0.value >= 0x20 } })
    }

    @Test func `all errors are told, not only the first`() {
        let text = changed("key: id", "key: other").replacing("summary: Finds issues.", with: "summry: x")
        #expect(errors(text).count == 3, "\(errors(text))")
        // In one entity, though its key is none.
        #expect(errors(changed("key: id", "key: other").replacing("share: 0.25", with: "share: 2")).count == 2)
        // A part whose structure is wrong is told once.
        #expect(errors(changed("kind: page", "knd: page")).count == 2)
        #expect(errors("title: x") == ["c.yaml:1:1: There are neither entities nor operations."])
        #expect(errors("") == ["c.yaml:1:1: Here title is missing."])
        #expect(errors("[]") == ["c.yaml:1:1: Here must stand a mapping with the keys of connection."])
    }

    @Test func `a PUT that may lose what the system has is warned of, and fields that nobody can change are told`()
        throws
    {
        func said(_ text: String) throws -> (warnings: [String], remarks: [String]) {
            let connection = try Connection(text, file: "c.yaml")
            return (connection.warnings.map(\.description), connection.remarks.map(\.description))
        }
        let patch = try said(sound)
        #expect(patch.warnings == [])
        #expect(
            patch.remarks == [
                "c.yaml:22:15: Callers cannot change state, author, changed: `update` does not send them."
            ])
        let unowned = sound.replacing("    owner: author\n", with: "")
        #expect(try said(unowned).remarks.contains { $0.contains("This update has no If-Match") })
        let conditional = unowned.replacing("method: PATCH,", with: "method: PATCH, ifMatch: true,")
        #expect(try said(conditional).remarks.count == patch.remarks.count)
        let blindly = conditional.replacing("    record: {address: \"issues/{id}\"}\n", with: "")
        #expect(errors(blindly).contains { $0.hasSuffix("`ifMatch` needs `record`, which reads the ETag.") })
        let put = changed("method: PATCH", "method: PUT")
        #expect(try said(put).warnings == [])
        let blind = try said(put.replacing("    record: {address: \"issues/{id}\"}\n", with: "")).warnings
        #expect(blind.count == 2)
        #expect(blind[0].hasPrefix("c.yaml:20:7: Whose a record is, is known here as of the last refresh."))
        #expect(blind[1].hasPrefix("c.yaml:21:15: This PUT sends the members that stand here and no others"))
        let form = try said(put.replacing("body: {title", with: "as: form, body: {title")).warnings
        #expect(form.count == 1)
        let partial = put.replacing("    record: {address: \"issues/{id}\"}\n", with: "")
            .replacing("method: PUT", with: "method: PUT, changedOnly: true")
        #expect(try said(partial).warnings.count == 1)
        #expect(try said(partial.replacing("    owner: author\n", with: "")).warnings == [])
    }

    @Test func `a file that is a bomb is refused`() {
        var bomb = "a0: &a0 [x, x]\n"
        for level in 1...40 { bomb += "a\(level): &a\(level) [*a\(level - 1), *a\(level - 1)]\n" }
        #expect(errors(bomb).first?.contains("Anchors and aliases are not supported.") == true)
        // In a key it is written out while it is read.
        #expect(errors(bomb + "z: {? *a40 : 1}\n") == ["c.yaml:1:5: Anchors and aliases are not supported."])
        let deep =
            "title: x\nupstream: u\noperations: {o: {summary: s, fields: {}, request: {method: POST, address: a, body: {a: "
        let nested = errors(deep + String(repeating: "[", count: 200) + String(repeating: "]", count: 200) + "}}}}")
        #expect(nested.first?.contains("nests deeper than 32 levels") == true, "\(nested)")
        #expect(errors(String(repeating: "[", count: 100_000)).first?.contains("not valid YAML") == true)
        #expect(
            errors("# " + String(repeating: "x", count: YAMLDocument.maximumBytes)).first?.contains("bytes") == true)
    }

    @Test(arguments: 0..<400)
    func `no damaged file ends the process`(seed: Int) {
        var random = SeededRandom(seed: UInt64(seed))
        var bytes = Array(sound.utf8)
        for _ in 0..<(1 + random.next() % 6) {
            let position = Int(random.next() % UInt64(bytes.count))
            switch random.next() % 4 {
            case 0: bytes[position] = UInt8(truncatingIfNeeded: 32 + random.next() % 95)
            case 1: bytes.remove(at: position)
            case 2: bytes.insert(contentsOf: "{}[]:,\"~/*&\n".utf8, at: position)
            default: bytes.removeSubrange(position..<min(bytes.count, position + 20))
            }
        }
        // Whatever comes of it: a connection or errors with their places.
        #expect(errors(String(decoding: bytes, as: UTF8.self)).allSatisfy { $0.hasPrefix("c.yaml:") })
    }

    @Test func `the schema for editors is the one that the files are checked by`() throws {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "../..")
        let committed = try Data(contentsOf: folder.appending(path: "docs/connect.schema.json"))
        #expect(try JSONFormat().read([UInt8](committed)) == ConnectionFileSchema.value)
    }

    @Test func `the samples are sound and say where their schema is`() throws {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(
            path: "../../Config/connections")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".yaml") }
        #expect(names.count >= 4)
        for name in names {
            let text = try String(contentsOf: folder.appending(path: name), encoding: .utf8)
            #expect(text.hasPrefix("# yaml-language-server: $schema=../../docs/connect.schema.json\n"), "\(name)")
            _ = try Connection(text, file: name)
        }
    }
}
