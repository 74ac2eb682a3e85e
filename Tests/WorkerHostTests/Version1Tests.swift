import AdapterKit
import AdapterProtocol
import Foundation
import Testing

@testable import WorkerHost

@Suite struct `A program of version 1` {
    private static func declaration(_ more: WireDictionary) throws -> AdapterDeclaration {
        var members: WireDictionary = [
            "name": "old", "title": "Old", "summary": "", "version": "1",
            "entities": [
                [
                    "name": "open", "summary": "", "key": ["field": "id"],
                    "fields": [["name": "id", "shape": ["string": [0, 9]]]],
                ]
            ],
        ]
        for member in more { members[member.key] = member.value }
        return try AdapterDeclaration(message: Version1.declaration(.dictionary(members)))
    }

    @Test(
        arguments: [
            (nil, .login, .login), (.null, .login, .login), ("login", .login, .login), ("public-read", .public, .login),
            ("public", .public, .public), (["roles": ["a"]], .roles(["a"]), .roles(["a"])),
        ] as [(WireValue?, Access, Access)])
    func `is let do what it let be done`(access: WireValue?, read: Access, write: Access) throws {
        var members = WireDictionary()
        members["access"] = access
        let declaration = try Self.declaration(members)
        #expect(declaration.access == AccessRights(read: read, write: write, refresh: write))
        #expect(declaration.entities.map { declaration.writers(of: $0) } == [write])
    }

    @Test func `has entities, operations and mounts with accesses of their own`() throws {
        let declaration = try Self.declaration([
            "entities": [
                [
                    "name": "a", "summary": "", "key": ["field": "id"],
                    "fields": [["name": "id", "shape": ["string": [0, 9]]]],
                    "readers": "public-read", "writers": ["roles": []],
                ],
                [
                    "name": "b", "summary": "", "key": ["field": "id"],
                    "fields": [["name": "id", "shape": ["string": [0, 9]]]],
                    "writers": "public-read", "readers": .null,
                ],
            ],
            "operations": [
                ["name": "read", "summary": "", "effect": "reads", "output": "any", "access": "public-read"],
                ["name": "write", "summary": "", "effect": "writes", "output": "any", "access": "public-read"],
                ["name": "plain", "summary": "", "effect": "writes", "output": "any"],
            ],
            "mounts": [
                ["name": "m", "summary": "", "path": "/m", "methods": ["GET"], "access": "public-read"],
                ["name": "n", "summary": "", "path": "/n", "methods": ["GET"]],
            ],
        ])
        #expect(declaration.entities.map(\.readers) == [.public, nil])
        #expect(declaration.entities.map(\.writers) == [.nobody, .login])
        #expect(declaration.operations.map(\.access) == [.public, .login, nil])
        #expect(declaration.mounts.map(\.access) == [AccessRights(read: .public, write: .login), nil])
        #expect(declaration.callers(of: declaration.operations[2]) == [.login])
    }

    @Test func `reads an access as it knows it`() throws {
        let options = [ConfigurationOption("feeds.*.access", .access, summary: "")]
        let values: WireDictionary = [
            "access": ["read": "public", "write": ["roles": ["a"]]], "other": ["read": "login"],
            "feeds": [
                "x": ["access": ["read": ["roles": ["b"]], "write": "none"]], "y": ["access": "public"],
                "z": ["access": ["write": "login"]],
            ],
        ]
        let configuration = Version1.configuration(AdapterConfiguration(values), options)
        #expect(
            configuration.values == [
                "access": "public-read", "other": ["read": "login"],
                "feeds": ["x": ["access": ["roles": ["b"]]], "y": ["access": "public"], "z": ["access": "login"]],
            ])
    }

    @Test func `is kept as what it means`() throws {
        let path = NSTemporaryDirectory() + "/last-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        var encoder = CBOREncoder()
        try encoder.append(
            [
                "program": "x", "hasRules": false,
                "declaration": [
                    "name": "old", "title": "Old", "summary": "Old things.", "version": "1", "access": "public-read",
                ],
            ] as WireValue)
        try Data(encoder.bytes).write(to: URL(filePath: path))
        let old = try #require(LastDeclaration(path: path))
        #expect(old.declaration.access == AccessRights(read: .public, write: .login, refresh: .login))
        try old.write(to: path)
        #expect(try #require(LastDeclaration(path: path)).declaration == old.declaration)
    }

    @Test func `what is no declaration stays what it is`() {
        for value in [
            1, .null, ["declaration": 1], ["declaration": ["entities": 1, "operations": [1], "mounts": .null]],
        ] as [WireValue] {
            #expect(throws: MessageError.self) { try DeclareResponse(message: Version1.response(value)) }
        }
    }
}
